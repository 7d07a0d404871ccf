"""Episodes as films with a CSV of actions beside them: `walk.mp4` and `walk.csv`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from framedream.data.conversion.incoming import IncomingEpisode, naming
from framedream.data.episode import Frames, Rows
from framedream.errors import UserError

FILM_SUFFIXES = (".mp4", ".mkv", ".webm", ".mov", ".avi")
FRAMES_PER_BLOCK = 64
FRAMES_PER_SECOND = 15


def write_film(path: Path, blocks: Iterable[Rows], palette: Frames | None) -> None:
    """One episode: its colours without loss as an MP4, its actions and rewards as a CSV of the same name."""
    from framedream.pictures.video import VideoWriter

    with (
        VideoWriter(path, FRAMES_PER_SECOND, lossless=True) as film,
        path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as table,
    ):
        lines = csv.writer(table)
        lines.writerow(["action", "reward"])
        for rows in blocks:
            for frame in rows.frames:
                film.add(frame if palette is None else palette[frame])
            lines.writerows(
                (action, reward)
                for action, reward in zip(rows.actions.tolist(), rows.rewards.tolist(), strict=True)
                if action >= 0  # the last frame's row has none
            )


def read_film(path: Path) -> IncomingEpisode:
    """The episode of a film and its CSV."""

    def blocks() -> Iterator[Frames]:
        from framedream.pictures.video import read_video

        frames = read_video(path)
        while some := list(islice(frames, FRAMES_PER_BLOCK)):
            if len({frame.shape for frame in some}) > 1:
                raise UserError("the frames change their size in the middle of the film.")
            yield np.stack(some)

    table = path.with_suffix(".csv")
    if not table.exists():
        raise UserError(
            f"{path.name}: there is no {table.name} beside it; write one with the header `action` and one line per "
            "transition between two frames."
        )
    actions, rewards = _read_table(table)
    return IncomingEpisode(path.name, blocks, np.array(actions, np.int64), np.array(rewards, np.float32))


def _read_table(path: Path) -> tuple[list[int], list[float]]:
    actions, rewards = [], []
    with naming(path.name), path.open(newline="", encoding="utf-8-sig") as file:
        try:
            lines = csv.DictReader(file, strict=True, skipinitialspace=True)
            if "action" not in (lines.fieldnames or ()):
                raise UserError("its first line must be `action` or `action,reward`.")
            for line in lines:
                try:
                    actions.append(int(line["action"]))
                    rewards.append(float(line.get("reward") or 0))
                except (TypeError, ValueError):
                    raise UserError(
                        f"line {lines.line_num} must be a whole number (the action), and after a comma the reward "
                        "where there is one."
                    ) from None
        except (csv.Error, UnicodeDecodeError) as error:
            raise UserError(f"it cannot be read as CSV ({error}).") from None
    return actions, rewards
