"""Heads of a run, through the real commands: on the console, in the results and in the report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from framedream.checkpoint.run_folder import find_checkpoint
from framedream.cli import main
from framedream.evaluation.results import Evaluation, read_results
from framedream.evaluation.store import results_folder


def test_heads_are_evaluated_and_reported(
    run_with_heads: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(run_with_heads, tmp_path / "run")
    main(["evaluate", str(run), "--horizon", "12", "--sequences", "20", "--warm-up", "4", "--device", "cpu"])
    shown = capsys.readouterr().out
    assert "Predicted rewards" in shown
    assert "Predicted ends" in shown
    evaluation = read_results(results_folder(find_checkpoint(run)))
    scores = evaluation.measurements[0].heads
    assert scores is not None
    assert [(score.first, score.last) for score in scores.rewards] == [(1, 10), (1, 12)]
    # The counting environment's rewards are its steps: never 0, and far above what these heads can say.
    assert scores.rewards[-1].events == 20 * 12
    assert scores.rewards[-1].error == pytest.approx(scores.rewards[-1].error_of_zero, abs=3)
    assert Evaluation.from_json(evaluation.as_json()) == evaluation
    main(["report", str(run), "--out", str(tmp_path / "report.html")])
    page = (tmp_path / "report.html").read_text()
    assert "Rewards and ends" in page
    assert "Predicted rewards of run" in page


def test_reports_of_runs_without_heads_say_nothing_of_them(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    main(["evaluate", str(copy), "--horizon", "8", "--sequences", "10", "--warm-up", "4", "--device", "cpu"])
    main(["report", str(copy), "--out", str(tmp_path / "report.html")])
    assert "Rewards and ends" not in (tmp_path / "report.html").read_text()
