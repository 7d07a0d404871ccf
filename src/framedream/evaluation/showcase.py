"""Predicted beside real, to look at: the paper's side-by-side film and sheets of salient frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.data.segment import SegmentId
from framedream.evaluation.frames import Colours
from framedream.evaluation.rollout import evaluating, open_loop
from framedream.evaluation.sequences import Sequences
from framedream.fast.doubles import faster
from framedream.model.simulator import Simulator
from framedream.pictures.layout import enlarge, factor_for, grid, save_picture, side_by_side
from framedream.pictures.video import VideoWriter

Picture = NDArray[np.uint8]
FILM_FILE = "film.mp4"
FILM_SEQUENCES = 5
FRAMES_PER_SECOND = 15
BLACK_FRAMES = 8
FILM_WIDTH = 320
BLACK = 0
SHEET_STEPS = (1, 10, 30, 60, 100, 200)
SHEETS = 3
SHEET_CANDIDATES = 64


@dataclass(frozen=True)
class Sheet:
    """A picture file with the real frames above the predicted ones, a column for each of `steps`."""

    file: str
    episode: int
    start: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Showcase:
    """What there is to look at of one evaluation."""

    film: str
    film_sequences: tuple[SegmentId, ...]
    sheets: tuple[Sheet, ...]


def make_showcase(simulator: Simulator, data_set: DataSet, sequences: Sequences, folder: Path) -> Showcase:
    """Write the film and the sheets into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    simulator = faster(simulator)
    shown = _of_different_episodes(sequences.ids, FILM_SEQUENCES)
    with evaluating(simulator), SegmentReader(sequences.split, threads=2, states=False) as reader:
        stage = _Stage(simulator, data_set, sequences, reader)
        stage.film(shown, folder / FILM_FILE)
        salient = _of_different_episodes(stage.by_change(), SHEETS)
        sheets = tuple(stage.sheet(segment, folder, number) for number, segment in enumerate(salient, 1))
    return Showcase(FILM_FILE, tuple(shown), sheets)


class _Stage:
    """What shows single sequences."""

    def __init__(self, simulator: Simulator, data_set: DataSet, sequences: Sequences, reader: SegmentReader) -> None:
        self.simulator, self.sequences, self.reader = simulator, sequences, reader
        self.device = simulator.background.device
        self.colours = Colours.of(data_set.palette, self.device)

    def pairs(self, segment: SegmentId) -> Iterator[tuple[Picture, Picture]]:
        """(predicted, real) at every step."""
        warm_up, horizon = self.sequences.warm_up, self.sequences.horizon
        batch = self.reader.read_batch([segment])
        frames = self.colours(torch.from_numpy(batch.frames).to(self.device))
        actions = torch.from_numpy(batch.actions).to(self.device)
        state = self.simulator.warm_up(self.simulator.normalise(frames[:, :warm_up]), actions[:, : warm_up - 1])
        rollout = open_loop(self.simulator, state, actions[:, warm_up - 1 : warm_up - 1 + horizon])
        for step, predicted in enumerate(rollout):
            assert predicted.frame is not None
            yield self.simulator.to_bytes(predicted.frame)[0].cpu().numpy(), frames[0, warm_up + step].cpu().numpy()

    def film(self, segments: list[SegmentId], path: Path) -> None:
        """Predicted left, real right, 15 frames a second, sequences separated by black frames (the paper's videos)."""
        with VideoWriter(path, FRAMES_PER_SECOND) as video:
            for number, segment in enumerate(segments):
                for predicted, real in self.pairs(segment):
                    factor = max(2, factor_for(real.shape[1], FILM_WIDTH))
                    picture = side_by_side([enlarge(predicted, factor), enlarge(real, factor)], paper=BLACK)
                    video.add(picture)
                if number + 1 < len(segments):
                    for _ in range(BLACK_FRAMES):
                        video.add(np.zeros_like(picture))

    def by_change(self) -> list[SegmentId]:
        """Some sequences, those first in which most pixels change after the last observed frame."""
        candidates = self.sequences.ids[:SHEET_CANDIDATES]
        after = [self.sequences.warm_up + step - 1 for step in self._sheet_steps]
        changes = []
        for segment in candidates:
            frames = self.reader.read(segment).frames
            changed = frames[after] != frames[self.sequences.warm_up - 1]
            changes.append(float(np.mean(changed)))
        return [candidates[place] for place in np.argsort(changes, kind="stable")[::-1]]

    def sheet(self, segment: SegmentId, folder: Path, number: int) -> Sheet:
        """The sequence at a few steps: real frames above, predicted ones below, pixel for pixel."""
        steps = self._sheet_steps
        pairs = [pair for step, pair in enumerate(self.pairs(segment), 1) if step in steps]
        pictures = [real for _, real in pairs] + [predicted for predicted, _ in pairs]
        file = f"salient-{number}.png"
        save_picture(folder / file, grid(pictures, columns=len(steps), gap=0))
        return Sheet(file, segment.episode, segment.start, steps)

    @property
    def _sheet_steps(self) -> tuple[int, ...]:
        horizon = self.sequences.horizon
        return (*(step for step in SHEET_STEPS if step < horizon), horizon)


def _of_different_episodes(ids: tuple[SegmentId, ...] | list[SegmentId], count: int) -> list[SegmentId]:
    """The first few, no two of one episode as long as there are others."""
    firsts = {segment.episode: segment for segment in reversed(ids)}
    ordered = [firsts[episode] for episode in dict.fromkeys(segment.episode for segment in ids)]
    return [*ordered, *(segment for segment in ids if segment not in ordered)][:count]
