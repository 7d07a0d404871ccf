"""`framedream bench rollout` measures what it says, and would notice a fast wrong thing."""

from __future__ import annotations

import json

import pytest
import torch

from framedream.benchmarks import rollout as bench
from framedream.benchmarks.rollout import RolloutSizes, bench_rollout, measure_rollout
from framedream.benchmarks.wanted import wanted_of_rollouts
from framedream.cli.bench import main
from framedream.errors import UserError
from framedream.fast.doubles import faster
from framedream.model.simulator import Simulator

CPU = torch.device("cpu")
QUICK = ("--device", "cpu", "--filters", "0.05", "--batches", "1", "2", "--seconds", "0.01")


@pytest.fixture(autouse=True)
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(bench, "HEIGHT", 48)
    monkeypatch.setattr(bench, "WIDTH", 48)


def test_every_figure_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rollout", *QUICK, "--json"])
    measured = json.loads(capsys.readouterr().out)
    rows = measured["rollouts"]
    cases = list(dict.fromkeys((row["variant"], row["batch"]) for row in rows))
    assert cases == [(name, batch) for name in ("base", "pi-h", "pi-zero") for batch in (1, 2)]
    for row in rows:
        assert "failure" not in row
        assert row["steps_per_second"] > 0 and row["share_of_limit"] > 0
        if row["way"] == "fast":
            assert row["faster"] > 0
            assert row["wanted"] == ({"faster": bench_wanted(row["precision"])} if row["variant"] == "base" else {})
            assert row["largest_value"] > 10, "something is drawn"
            assert row["largest_difference"] < row["largest_value"] * (0.2 if row["precision"] == "bfloat16" else 1e-4)
    assert measured["machine"]["device"] == "CPU"

    main(["rollout", *QUICK, "--variants", "base"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "straightforward" in shown and "fast float32" in shown


def bench_wanted(precision: str) -> float:
    return {"float32": 1.3, "bfloat16": 2.0}[precision]


def test_a_wrong_double_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(simulator: Simulator, kind: torch.dtype) -> Simulator:
        double = faster(simulator, kind)
        double.cell.bias.data += 0.5
        return double

    monkeypatch.setattr(bench, "faster", wrong)
    for name in ("base", "pi-h"):
        _, fast = measure_rollout(name, 1, 0.05, ("float32",), 0.001, CPU)
        assert fast["largest_difference"] > 1


def test_what_fails_says_so_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench.STEPS, "cpu", 0)
    measured = bench_rollout(CPU, RolloutSizes(("base", "pi-h"), (1,), 0.001, 0.05))
    by_variant = {row["variant"]: row for row in measured["rollouts"] if row["way"] == "fast"}
    assert "failure" in by_variant["pi-h"], "a jump without actions leads nowhere"
    assert "failure" not in by_variant["base"]


def test_wanted_figures() -> None:
    row = {"way": "fast", "variant": "base", "batch": 1024, "precision": "bfloat16"}
    assert wanted_of_rollouts(row, "NVIDIA H200") == {"steps_per_second": 200_000}
    assert wanted_of_rollouts(row | {"variant": "pi-zero", "batch": 4096}, "NVIDIA H200") == {"steps_per_second": 20e6}
    assert wanted_of_rollouts(row | {"batch": 2}, "NVIDIA H200") == {}


def test_usual_sizes_suit_device_and_variant() -> None:
    sizes = RolloutSizes(("base", "pi-h"))
    assert list(sizes.cases(CPU)) == [("base", 1), ("base", 8), ("pi-h", 1), ("pi-h", 100), ("pi-h", 1000)]
    on_gpu = list(sizes.cases(torch.device("cuda")))
    assert on_gpu[:3] == [("base", 1), ("base", 100), ("base", 1024)] and on_gpu[-1] == ("pi-h", 4096)


def test_senseless_measurements_are_refused() -> None:
    for words in (["--batches", "0"], ["--seconds", "0"], ["--variants", "bse"]):
        with pytest.raises(UserError):
            main(["rollout", "--device", "cpu", *words])
