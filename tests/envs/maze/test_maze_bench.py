"""`bench maze` runs and prints every figure."""

from __future__ import annotations

import json

import pytest

from framedream.benchmarks import maze
from framedream.cli.bench import main
from framedream.errors import UserError


def test_the_command_prints_every_figure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, number in (("AGENTS", 4), ("REPLAYED_EPISODES", 2), ("REPLAYED_SEGMENTS", 3)):
        monkeypatch.setattr(maze, name, number)
    monkeypatch.setattr(maze, "_measure_start", lambda: (3.0, 1.0))  # has a test of its own, which takes longer
    main(["maze", "--repetitions", "1", "--episodes", "1", "--json"])
    measured = json.loads(capsys.readouterr().out)
    figures = {name: value for name, value in measured.items() if name not in ("machine", "targets")}
    assert all(value > 0 for value in figures.values())
    assert {"numba", "numpy", "python"} <= set(measured["machine"]["versions"])

    monkeypatch.setattr(maze, "bench_maze", lambda *told: measured)
    main(["maze"])
    shown = capsys.readouterr().out
    assert "two processes against one" in shown and "≥ 6,500" in shown and "≤ 25 s" in shown
    assert measured["machine"]["processor"] in shown


@pytest.mark.slow
def test_a_start_with_nothing_compiled_takes_longer() -> None:
    first, later = maze._measure_start()
    assert first > later > 0


def test_no_repetitions_are_refused() -> None:
    with pytest.raises(UserError, match="at least 1 episode and 1 repetition, not 4 and 0"):
        main(["maze", "--repetitions", "0"])
