"""The estimate of `framedream collect`: how long the rest will take, said once, and only when it is long."""

from __future__ import annotations

import pytest

from framedream.cli import collect_progress
from framedream.cli.collect_progress import RecordingBars, in_words, remaining_seconds
from framedream.data.plan import Amount
from framedream.data.recorder import Progress


def progress(train: Amount, test: Amount, frames: tuple[int, int], episodes: tuple[int, int]) -> Progress:
    splits = ("train", "test")
    return Progress(
        dict(zip(splits, (train, test), strict=True)),
        dict(zip(splits, frames, strict=True)),
        dict(zip(splits, episodes, strict=True)),
    )


def test_remaining_time() -> None:
    frames = progress(Amount(frames=10_000_000), Amount(frames=1_000_000), (1_000, 0), (1, 0))
    assert remaining_seconds(frames, 100) == pytest.approx(109_990)
    episodes = progress(Amount(episodes=50), Amount(episodes=0), (3_000, 0), (10, 0))
    assert remaining_seconds(episodes, 10) == pytest.approx(40 * 300 / 10)
    assert remaining_seconds(progress(Amount(episodes=50), Amount(episodes=10), (100, 0), (0, 0)), 10) is None
    assert remaining_seconds(progress(Amount(frames=10), Amount(episodes=0), (30, 0), (1, 0)), 10) == 0


def test_times_in_words() -> None:
    assert [in_words(3600 * hours) for hours in (1.5, 7.2, 30.6, 80)] == [
        "90 minutes",
        "7 hours",
        "31 hours",
        "3.3 days",
    ]


@pytest.mark.parametrize(("asked", "says_so"), [(10_000_000, True), (2_000, False)])
def test_a_long_recording_is_announced_once(
    asked: int, says_so: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr(collect_progress.time, "monotonic", lambda: clock[0])
    with RecordingBars() as bars:
        for second in range(30):
            clock[0] = float(second)
            bars.show(progress(Amount(frames=asked), Amount(frames=0), (100 * second, 0), (0, 0)))
            if second < 10:
                assert "this will take" not in capsys.readouterr().err
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("At 100 frames/s this will take about 28 hours") == (1 if says_so else 0)
