"""`framedream bench simulated` measures what it says it does; how fast that is, is not for tests to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from framedream.cli import main

QUICK = ("--batches", "1", "3", "--seconds", "0.05", "--device", "cpu")


def test_a_run_is_measured(independent_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["bench", "simulated", "--run", str(independent_run), *QUICK, "--json"])
    measured = json.loads(capsys.readouterr().out)
    (simulator,) = measured["simulators"]
    assert simulator["prediction_independent"] is True
    assert [speed["batch"] for speed in simulator["steps_per_second"]] == [1, 3]
    assert all(speed[kind] > 0 for speed in simulator["steps_per_second"] for kind in ("with_frames", "without_frames"))


def test_without_a_run_both_kinds_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    main(["bench", "simulated", *QUICK])
    shown = capsys.readouterr().out
    assert "prediction-dependent" in shown
    assert "prediction-independent" in shown
    assert "64x64" in shown


def test_senseless_measurements_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "simulated", "--batches", "0"])
    assert "at least one dream" in capsys.readouterr().err
