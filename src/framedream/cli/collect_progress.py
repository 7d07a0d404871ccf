"""The progress bars of `framedream collect`."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from framedream.data.recorder import Progress as RecordingProgress


class RecordingBars:
    """A bar for each split, with frames per second and bytes per frame."""

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
