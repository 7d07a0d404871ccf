"""`framedream demo` in earnest, with a smaller demonstration: its numbers, its honesty, and going on."""

from __future__ import annotations

import contextlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from framedream.checkpoint import shipped
from framedream.cli import demo, main
from framedream.evaluation.measure import OVER_BLEND, OVER_OWN_ACTIONS
from framedream.evaluation.results import Band, Measurement, read_results
from framedream.experiments.demo import Demonstration

STEP = 10
SMALL = Demonstration(
    name="counted",
    environment="counting",
    collect=("--frames", "300", "--test-frames", "150", "--workers", "1", "--set", "height=16"),
    train=("--preset", "tiny", "--updates", "20", "--device", "cpu"),
    evaluate=("--horizon", "12", "--sequences", "8", "--device", "cpu"),
)
LEARNT, NOT_LEARNT = "beats the blend", "did NOT learn"
NUMBER = re.compile(r"^ +(\d+\.\d\d)  (\S.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder, and what is said: when training is cut short, when it is asked to go on, and when all is done."""
    out = tmp_path_factory.mktemp("demo") / "with a space"
    (out.parent / "simulators" / "pong").mkdir(parents=True)
    said = []
    for updates, simulators in (("10", "nowhere"), ("20", "simulators"), ("20", "simulators")):
        words = tuple(updates if word == "20" else word for word in SMALL.train)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(demo, "DEMO", replace(SMALL, train=words))
            patch.setattr(shipped, "SIMULATORS", out.parent / simulators)
            said.append(_said_by(out))
    return out, said


def _said_by(out: Path) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        main(["demo", "--out", str(out)])
    return output.getvalue()


def _measured(out: Path) -> Measurement:
    return read_results(out / "counted" / "evaluation" / "step-20").measurements[0]


def test_the_five_numbers_are_those_of_the_results(shown: tuple[Path, list[str]]) -> None:
    out, said = shown
    results = out / "counted" / "evaluation" / "step-20" / "results.json"
    (measurement,) = json.loads(results.read_text())["measurements"]
    assert measurement["data"] == "test" and measurement["horizon"] >= STEP
    expected = {curve["name"]: f"{curve['moving']['mean'][STEP - 1]:.2f}" for curve in measurement["curves"]}
    printed = {words: number for number, words in NUMBER.findall(said[1])}
    assert printed == {words: expected[name] for name, words in demo.SHOWN.items()}
    assert set(demo.SHOWN) == {"model", "shuffled actions", "last frame", "mean frame", "blend"}
    assert f"{STEP} steps ahead" in said[1]


def test_it_shows_its_commands_and_names_the_report(shown: tuple[Path, list[str]]) -> None:
    out, said = shown
    for command in ("collect counting", "train", "evaluate", "report"):
        assert f"$ framedream {command} " in said[0]
    assert str(out / "report.html") in said[0]
    assert f"framedream play '{out / 'counted'}'" in said[0]
    assert "data:video/mp4" in (out / "report.html").read_text()


def test_it_offers_what_learnt_for_longer_where_that_ships(shown: tuple[Path, list[str]]) -> None:
    _, said = shown
    assert "sim:pong" not in said[0]
    assert said[1].rstrip().endswith("framedream play sim:pong")


def test_it_goes_on_where_it_was_and_repeats_nothing(shown: tuple[Path, list[str]]) -> None:
    out, said = shown
    assert {path.name for path in (out / "counted").glob("step-*")} >= {"step-10", "step-20"}
    rows = [json.loads(line) for line in (out / "counted" / "metrics.jsonl").read_text().splitlines()]
    assert [row["updates"] for row in rows if row["kind"] == "training"] == [5, 10, 15, 20]
    assert NUMBER.findall(said[1]) == NUMBER.findall(said[2]) != NUMBER.findall(said[0])


def test_a_simulator_that_learnt_nothing_is_called_that(shown: tuple[Path, list[str]]) -> None:
    # Twenty updates are too few for anything: only an unlucky accident could lie below all three.
    out, said = shown
    assert NOT_LEARNT in said[1] and LEARNT not in said[1]
    assert "not below that of" in demo.conclusion(_measured(out))


def _with_moving(measurement: Measurement, name: str, error: float) -> Measurement:
    """The measurement, had the curve or difference of that name this moving-pixel error at every step."""
    flat = (error,) * measurement.horizon

    def replaced(many: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(one, moving=Band(flat, flat, flat)) if one.name == name else one for one in many)

    return replace(measurement, curves=replaced(measurement.curves), differences=replaced(measurement.differences))


@pytest.mark.parametrize(
    ("changed", "lacking"),
    [
        ({}, None),
        ({"last frame": 0.5}, "not below that of the last frame"),
        ({"mean frame": 0.5}, "not below that of the mean frame"),
        ({"blend": 0.5}, "not below that of the blend"),
        ({OVER_OWN_ACTIONS: -0.1}, "no clear difference"),
    ],
)
def test_learning_is_claimed_only_if_all_of_it_is_there(
    changed: dict[str, float], lacking: str | None, shown: tuple[Path, list[str]]
) -> None:
    measurement = _measured(shown[0])
    learnt = {"model": 1.0, "shuffled actions": 2.0, "last frame": 4.0, "mean frame": 3.0, "blend": 2.5}
    learnt |= {OVER_BLEND: -1.5, OVER_OWN_ACTIONS: 1.0}
    for name, error in (learnt | changed).items():
        measurement = _with_moving(measurement, name, error)
    said = demo.conclusion(measurement)
    assert (NOT_LEARNT in said) == (lacking is not None)
    assert lacking is None or lacking in said
    assert (LEARNT in said) == (lacking is None)
