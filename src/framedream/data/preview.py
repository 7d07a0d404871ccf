"""Pictures of a data set: a sheet of frames drawn at random, and a film of how some episodes begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from framedream.data.dataset import DataSet, Split
from framedream.data.reader import SegmentReader
from framedream.data.segment import SegmentId
from framedream.errors import UserError
from framedream.pictures.layout import Picture, captioned, enlarge, factor_for, grid, save_picture, titled

COLUMNS = ROWS = 6
SHEET_WIDTH, FILM_WIDTH = 160, 320  # of one frame, where frames are smaller
FILM_EPISODES, FILM_COLUMNS = 4, 2
FILM_FRAMES = 300
FRAMES_PER_SECOND = 15


def draw_preview(
    data_set: DataSet, folder: Path, split: str = "train", seed: int = 0, on_frame: Callable[[], None] = lambda: None
) -> list[Path]:
    """Write `frames.png` and `beginnings.mp4`; `on_frame` is called for every frame of the film."""
    from framedream.pictures.video import VideoWriter

    if seed < 0:
        raise UserError(f"The seed must be 0 or more, not {seed}.")
    chosen = data_set.split(split)
    generator = np.random.default_rng(seed)
    sheet, film = folder / "frames.png", folder / "beginnings.mp4"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with SegmentReader(chosen, states=False) as reader:
            painter = _Painter(data_set, chosen, reader)
            save_picture(sheet, painter.sheet(_random_frames(chosen, generator)))
            episodes = sorted(generator.permutation(len(chosen.episodes))[:FILM_EPISODES].tolist())
            with VideoWriter(film, FRAMES_PER_SECOND) as writer:
                for step in range(film_length(chosen)):
                    writer.add(painter.film_frame(chosen, episodes, step))
                    on_frame()
    except OSError as error:
        raise UserError(f"Cannot write in {folder} ({error.strerror}); choose another folder with --out.") from error
    return [sheet, film]


def film_length(split: Split) -> int:
    """How many frames the film of a split has."""
    return min(FILM_FRAMES, int(split.episodes.length.max()))


def _random_frames(split: Split, generator: np.random.Generator) -> list[SegmentId]:
    """Frames of random episodes: each episode once before any comes twice."""
    episodes: list[int] = []
    while len(episodes) < COLUMNS * ROWS:
        episodes += generator.permutation(len(split.episodes)).tolist()
    return [
        SegmentId(episode, start, 1)
        for episode, count in sorted(Counter(episodes[: COLUMNS * ROWS]).items())
        for start in _different_starts(int(split.episodes.length[episode]), count, generator)
    ]


def _different_starts(frames: int, count: int, generator: np.random.Generator) -> list[int]:
    return sorted(generator.choice(frames, min(count, frames), replace=False).tolist())


class _Painter:
    """Turns stored frames into captioned pictures."""

    def __init__(self, data_set: DataSet, split: Split, reader: SegmentReader) -> None:
        self._title = f"{data_set.recording.environment}, {split.name}"
        self._palette = data_set.palette
        self._actions = data_set.recording.action_meanings
        self._reader = reader
        self._width = reader.frame_shape[1]

    def sheet(self, ids: list[SegmentId]) -> Picture:
        batch = self._reader.read_batch(ids)
        factor = factor_for(self._width, SHEET_WIDTH)
        pictures = [
            captioned(
                self._picture(frames[0], factor), f"{one.episode} · {one.start} · {self._action(int(actions[0]))}"
            )
            for one, frames, actions in zip(batch.ids, batch.frames, batch.actions, strict=True)
        ]
        return titled(grid(pictures, COLUMNS), f"{self._title}: episode · frame · action taken on it")

    def film_frame(self, split: Split, episodes: list[int], step: int) -> Picture:
        """Frame `step` of every episode; an episode that is over stays on its last frame."""
        factor = factor_for(self._width, FILM_WIDTH)
        pictures = []
        for episode in episodes:
            place = min(step, int(split.episodes.length[episode]) - 1)
            one = self._reader.read(SegmentId(episode, place, 1))
            text = f"episode {episode}, frame {place}: {self._action(int(one.actions[0]))}"
            pictures.append(captioned(self._picture(one.frames[0], factor), text))
        return grid(pictures, FILM_COLUMNS)

    def _picture(self, frame: Picture, factor: int) -> Picture:
        return enlarge(frame if self._palette is None else self._palette[frame], factor)

    def _action(self, action: int) -> str:
        return "end" if action < 0 else self._actions[action]
