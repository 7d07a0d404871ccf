"""`framedream bench train` measures what it says; how fast that is, is not for tests to say."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from framedream.benchmarks.coverage import Coverage, special_case
from framedream.benchmarks.device import precisions_of
from framedream.benchmarks.train import Covered, TrainSizes, bench_train
from framedream.benchmarks.updates import SYNTHETIC, Kind, measure_updates
from framedream.benchmarks.wanted import wanted_of_updates
from framedream.cli.bench import main
from framedream.cli.bench_train import _show
from framedream.errors import UserError
from framedream.experiments.presets import preset
from framedream.training.scheme import SCHEMES
from framedream.training.specification import RunSpec

CPU = torch.device("cpu")
RUN = RunSpec(scheme="pdt-100", hidden=16, fused=24, filters=0.1, batch_size=2, warm_up=2, prediction_length=2)
TINY = TrainSizes(
    batches=(2,),
    modern_batch=1,
    coverage_batch=1,
    warm_up=2,
    prediction_length=2,
    seconds=0.01,
    filters=0.1,
    recorded_frames=60,
)


def test_every_figure_is_in_the_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ale_py")
    monkeypatch.setenv("COLUMNS", "200")
    measured = bench_train(
        CPU, TINY, RUN, replace(preset("modern").run, hidden=16, fused=24), Covered(variants=("action-planes",))
    )
    measured = json.loads(json.dumps(measured))
    assert measured["real_data"]["frames"] >= 60
    assert measured["start"]["first_start_seconds"] > 0 and measured["start"]["later_start_seconds"] > 0
    assert measured["machine"]["device"] == "CPU" and "torch" in measured["machine"]["versions"]
    assert measured["operations_per_second"]["float32"] > 0
    rows = measured["updates"]
    assert not [row["failure"] for row in rows if "failure" in row]
    kinds = [(row["variant"], row["optimiser"], row["batch"], row["warm_up"]) for row in rows]
    assert list(dict.fromkeys(kinds)) == [
        ("base", "rmsprop", 2, 2),
        ("base", "adamw", 1, 2),
        ("h-iz2816-2conv-a", "adamw", 1, 2),
    ]
    ways = {(row["way"], row["data"]) for row in rows}
    assert ways == {("straightforward", "synthetic")} | {
        ("fast", data) for data in ("synthetic", "resident", "streamed")
    }
    for row in rows:
        assert row["frames_per_second"] > 0 and row["share_of_limit"] > 0 and row["start_up_seconds"] > 0
        assert row["frames_per_second"] * row["milliseconds_per_update"] == pytest.approx(
            1000 * row["batch"] * (row["warm_up"] + len(row["feed"]))
        )
        assert ("faster" in row) == (row["way"] == "fast" and row["data"] != "streamed")
        assert ("of_synthetic" in row) == (row["data"] != "synthetic")
    assert [row["name"] for row in measured["variants"]] == ["action-planes"]
    assert measured["variants"][0]["frames_per_second"] > 0
    assert measured["schemes"] == measured["frame_sizes"] == []

    _show(measured)
    shown = capsys.readouterr().out
    assert "6 action planes" in shown
    assert "float32" in shown and "TFLOP/s" in shown


def test_both_ways_learn_from_the_same_loss() -> None:
    kind = Kind.for_any_frames(RUN, 48, 48, 3)
    straightforward, *fast = measure_updates(kind, {SYNTHETIC: kind.noise(CPU)}, precisions_of(CPU), 0.01, CPU)
    for row in fast:
        assert row["first_loss"] == pytest.approx(straightforward["first_loss"], rel=0.02), (
            "slopes differ, nothing else"
        )


def test_what_fails_says_so_and_the_others_go_on() -> None:
    kind = Kind.for_any_frames(RUN, 48, 48, 3)

    def none() -> tuple[Tensor, Tensor]:
        raise UserError("The disk is gone.")

    supplies = {SYNTHETIC: kind.noise(CPU), "streamed": none}
    rows = {(row["way"], row["data"]): row for row in measure_updates(kind, supplies, ("float32",), 0.01, CPU)}
    assert rows["fast", "streamed"]["failure"] == "The disk is gone."
    assert rows["fast", "synthetic"]["frames_per_second"] > 0
    assert rows["straightforward", "synthetic"]["frames_per_second"] > 0


def test_a_table_survives_what_cannot_be_made() -> None:
    fine, broken = Coverage(RUN, (16, 16), 0.01, CPU, lambda text: None).variants(["base", "nonsense"])
    assert fine["frames_per_second"] > 0 and fine["note"] == ""
    assert broken["name"] == "nonsense" and broken["failure"].startswith("There is no variant")


def test_all_schemes_and_sizes_have_a_row() -> None:
    coverage = Coverage(RUN, (16, 16), 0.001, CPU, lambda text: None)
    rows = coverage.schemes()
    assert {row["scheme"] for row in rows} == set(SCHEMES)
    assert len(rows) == sum(len(scheme.phases) for scheme in SCHEMES.values())
    assert all(row["frames_per_second"] > 0 for row in rows)
    even, odd = coverage.frame_sizes([(16, 16), (17, 18)])
    assert even["note"] == "" and odd["note"].startswith("odd sizes")


def test_special_cases_are_named() -> None:
    for name, words in (("action-planes", "action planes"), ("oh2015", "decoder"), ("pi-h", "no frames"), ("conv", "")):
        note = special_case(Kind.for_any_frames(RunSpec(variant=name), 210, 160, 6).spec)
        assert words in note and (words != "" or note == "")


def test_wanted_figures() -> None:
    row = {"way": "fast", "variant": "base", "optimiser": "rmsprop", "batch": 64, "data": "synthetic"}
    assert wanted_of_updates(row, "NVIDIA H200") == {"frames_per_second": 50_000}
    assert wanted_of_updates(row | {"data": "resident"}, "NVIDIA H200") == {"of_synthetic": 0.97}
    adamw = {"optimiser": "adamw", "batch": 32, "data": "resident"}
    assert wanted_of_updates(row | adamw, "NVIDIA H200") == {"frames_per_second": 45_000}
    assert wanted_of_updates(row, "NVIDIA A100") == {}
    assert wanted_of_updates(row | {"precision": "bfloat16"}, "CPU") == {"faster": 2.0}
    assert wanted_of_updates(row | {"way": "straightforward"}, "NVIDIA H200") == {}


def test_senseless_measurements_are_refused() -> None:
    for words in (["--batches", "0"], ["--seconds", "0"], ["--variants", "bse"]):
        with pytest.raises(UserError):
            main(["train", "--device", "cpu", *words])


def test_on_a_cpu_no_kernels_are_imported() -> None:
    """Only their module asks for Triton, which is there on machines with a GPU and hardly anywhere else."""
    code = (
        "import sys, torch; from framedream.benchmarks import rollout, train; "
        "from framedream.benchmarks.updates import Kind, RunSpec, fast_learner; "
        "kind = Kind.for_any_frames(RunSpec(filters=0.1, hidden=4, fused=4, warm_up=2, batch_size=1), 16, 16, 2); "
        "fast_learner(kind, 'float32', torch.device('cpu'))(*kind.noise(torch.device('cpu'))()); "
        "assert 'framedream.fast.kernels' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
