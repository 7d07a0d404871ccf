"""Which sequences are measured: the same ones for every run on a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from framedream.data.dataset import Split
from framedream.data.reader import SegmentReader
from framedream.data.sampler import evaluation_index
from framedream.data.segment import Batch, SegmentId
from framedream.errors import UserError

LARGEST_BATCH = 32
LARGEST_BATCH_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Sequences:
    """Segments of `warm_up + horizon` frames of one split, and what a reader should know about their choice."""

    split: Split
    ids: tuple[SegmentId, ...]
    warm_up: int
    horizon: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def episodes(self) -> list[int]:
        """The episode of every sequence."""
        return [segment.episode for segment in self.ids]

    def batches(self, reader: SegmentReader) -> Iterator[tuple[slice, Batch]]:
        """All sequences, a bounded number at a time, with their places among `ids`."""
        sequence_bytes = (self.warm_up + self.horizon) * int(np.prod(reader.frame_shape))
        at_most = max(4, min(LARGEST_BATCH, LARGEST_BATCH_BYTES // sequence_bytes))
        for place in balanced(len(self), at_most):
            yield place, reader.read_batch(self.ids[place])


def balanced(count: int, at_most: int) -> list[slice]:
    """0 … count − 1 in stretches of at most `at_most` that differ by one at most: none is left alone at the end,
    because shuffling actions between sequences needs two."""
    pieces = -(-count // at_most)
    edges = [count * piece // pieces for piece in range(pieces + 1)]
    return [slice(start, end) for start, end in pairwise(edges)]


def choose_horizon(splits: Sequence[Split], warm_up: int, asked: int) -> tuple[int, tuple[str, ...]]:
    """The horizon that fits every split, with a note where it is shorter than what was asked for.

    It must fit a quarter of a split's episodes, and two: the longest episode alone would say little about the others.
    """
    horizon = asked
    notes: tuple[str, ...] = ()
    for split in splits:
        lengths = np.sort(split.episodes.length)[::-1]
        needed = min(len(lengths), max(2, -(-len(lengths) // 4)))
        fitting = int(lengths[needed - 1]) - warm_up
        if fitting < 1:
            raise UserError(
                f"Only {int((lengths > warm_up).sum())} of {len(lengths)} {split.name} episodes have the "
                f"{warm_up + 1} frames that a warm-up of {warm_up} and one prediction need: record longer episodes, "
                "or make --warm-up shorter."
            )
        if fitting < horizon:
            horizon = fitting
            notes = (
                f"The horizon is {horizon} instead of {asked} steps: {warm_up} frames of warm-up and {horizon} "
                f"predictions are what {needed} of the {len(lengths)} {split.name} episodes are long enough for.",
            )
    return horizon, notes


def choose_sequences(split: Split, asked: int, warm_up: int, horizon: int, notes: tuple[str, ...] = ()) -> Sequences:
    """The fixed sequences of a split, in an order that mixes its episodes (neighbours swap actions)."""
    length = warm_up + horizon
    index = evaluation_index(split, asked, length)
    order = np.random.default_rng(0).permutation(len(index))
    if len(index) < asked:
        notes += (f"Only {len(index)} sequences of {length} frames exist in the {split.name} split: all are used.",)
    too_short = int((split.episodes.length < length).sum())
    if too_short:
        notes += (f"{too_short} of {len(split.episodes)} {split.name} episodes are shorter than {length} frames.",)
    return Sequences(split, tuple(index[place] for place in order), warm_up, horizon, notes)
