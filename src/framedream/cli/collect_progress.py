"""The progress bars of `framedream collect`."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from framedream.data.recorder import Progress as RecordingProgress

SECONDS_BEFORE_ESTIMATE = 10.0
SECONDS_WORTH_SAYING = 3600.0


class RecordingBars:
    """A bar for each split, with frames per second and bytes per frame; and, once, a word if it will take long."""

    def __init__(self) -> None:
        self._bars = Progress(
            TextColumn("{task.description:5}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._tasks: dict[str, TaskID] = {}
        self._frames_at_first: dict[str, int] = {}
        self._began: dict[str, float] = {}
        self._first_frames: tuple[float, int] | None = None
        self._said = False

    def show(self, progress: RecordingProgress) -> None:
        """Draw how far the recording is. Nothing is drawn before this is first called, so that errors stand alone."""
        self._bars.start()
        per_frame = f", {progress.new_bytes / progress.new_frames:,.1f} bytes/frame" if progress.new_frames else ""
        for split, amount in progress.asked.items():
            frames, episodes = progress.frames[split], progress.episodes[split]
            if split not in self._tasks:
                total = amount.episodes if amount.frames is None else amount.frames
                self._tasks[split] = self._bars.add_task(split, total=total, count="", speed="", visible=bool(total))
                self._frames_at_first[split] = frames
            new = frames - self._frames_at_first[split]
            if new and split not in self._began:
                self._began[split] = time.monotonic()
            seconds = time.monotonic() - self._began.get(split, time.monotonic())
            self._bars.update(
                self._tasks[split],
                completed=episodes if amount.frames is None else frames,
                count=f"{frames:,} frames in {episodes:,} episodes",
                speed=f"{new / seconds:,.0f} frames/s{per_frame}" if seconds > 0 else "",
            )

        self._say_if_long(progress)

    def _say_if_long(self, progress: RecordingProgress) -> None:
        now, frames = time.monotonic(), sum(progress.frames.values())
        if self._first_frames is None and frames > sum(self._frames_at_first.values()):
            self._first_frames = now, frames
        if self._said or self._first_frames is None or now - self._first_frames[0] < SECONDS_BEFORE_ESTIMATE:
            return
        self._said = True
        speed = (frames - self._first_frames[1]) / (now - self._first_frames[0])
        remaining = remaining_seconds(progress, speed)
        if remaining is not None and remaining > SECONDS_WORTH_SAYING:
            self._bars.console.print(
                f"At {speed:,.0f} frames/s this will take about {in_words(remaining)}. Ctrl-C keeps the finished "
                "episodes, and the same command goes on."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()


def remaining_seconds(progress: RecordingProgress, frames_per_second: float) -> float | None:
    """How long the rest will take; None as long as no episode has ended to tell how long they are."""
    finished = sum(progress.episodes.values())
    frames = 0.0
    for split, amount in progress.asked.items():
        if amount.frames is not None:
            frames += max(0, amount.frames - progress.frames[split])
        elif missing := max(0, (amount.episodes or 0) - progress.episodes[split]):
            if not finished:
                return None
            frames += missing * sum(progress.frames.values()) / finished
    return frames / frames_per_second if frames_per_second > 0 else None


def in_words(seconds: float) -> str:
    """`90 minutes`, `7 hours`, `3.2 days`."""
    hours = seconds / 3600
    if hours < 2:
        return f"{60 * hours:.0f} minutes"
    return f"{hours:.0f} hours" if hours < 36 else f"{hours / 24:.1f} days"
