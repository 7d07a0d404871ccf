"""TORCS through the commands: recorded by several workers, measured by the benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from framedream.benchmarks import torcs
from framedream.cli.bench import main
from framedream.data.dataset import open_data_set
from framedream.data.plan import Amount
from framedream.data.recorder import record

pytestmark = pytest.mark.slow


def test_the_data_do_not_depend_on_the_workers(tmp_path: Path) -> None:
    identities = set()
    for workers in (1, 3):
        folder = tmp_path / f"workers-{workers}"
        options = dict(height=48, width=64, time_limit=3.0)
        record("torcs", folder, Amount(episodes=6), policy="epsilon:0-0.5:scripted", options=options, workers=workers)
        data = open_data_set(folder)
        identities.add(data.identity)
        assert data.recording.state_shape == (22,)
    assert len(identities) == 1


def test_the_benchmark_prints_every_figure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(torcs, "RESETS", 2)
    main(["torcs", "--frames", "15", "--json"])
    measured = json.loads(capsys.readouterr().out)
    assert set(measured["frames_per_second"]) == set(torcs.VIEWS)
    assert min(measured["frames_per_second"].values()) > 0
    assert measured["reset_seconds"] > 0 and measured["start_seconds"] > 0
    assert measured["host_megabytes"] > 20
    main(["torcs", "--frames", "15"])
    shown = capsys.readouterr().out
    assert "frames a second, road" in shown and "llvmpipe" in shown and "≥ 80" in shown
