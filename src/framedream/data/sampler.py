"""Which segments make up a batch: a function of (seed, step, rank), so that any batch can be drawn again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from framedream.data.segment import SegmentId
from framedream.errors import UserError

if TYPE_CHECKING:
    from framedream.data.dataset import Split


class AdmissibleStarts:
    """All places of a split where a segment of one length may begin, numbered 0, 1, … in the order of the episodes."""

    def __init__(self, lengths: ArrayLike, segment_length: int, cross_episodes: bool = False) -> None:
        frames: NDArray[np.int64] = np.asarray(lengths, np.int64)
        self.segment_length = segment_length
        if cross_episodes:
            # Every frame may start a segment but the last few of the split, wherever its episodes end.
            after = np.cumsum(frames[::-1])[::-1] - frames  # frames in later episodes
            starts = np.clip(frames + after - segment_length + 1, 0, frames)
            longest, kind = int(frames.sum()), "frames altogether"
        else:
            starts = np.maximum(frames - segment_length + 1, 0)
            longest, kind = int(frames.max(initial=0)), "frames in the longest episode"
        self._ends = np.cumsum(starts)
        self._starts_before = self._ends - starts
        self._frames_before = np.cumsum(frames) - frames
        self.count = int(starts.sum())
        if segment_length < 1 or self.count == 0:
            raise UserError(
                f"Segments of {segment_length} frames do not fit: this split has {longest} {kind}; "
                f"ask for segments of 1 to {longest} frames or record longer episodes."
            )

    def segments(self, numbers: NDArray[np.int64]) -> list[SegmentId]:
        """The segments that begin at these starts."""
        episodes, frames = self._places(numbers)
        return [
            SegmentId(episode, frame, self.segment_length)
            for episode, frame in zip(episodes.tolist(), frames.tolist(), strict=True)
        ]

    def first_frames(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same as the number of each segment's first frame, counted through all episodes of the split."""
        episodes, frames = self._places(numbers)
        return self._frames_before[episodes] + frames

    def _places(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The episodes of these starts and the frames there."""
        episodes = np.searchsorted(self._ends, numbers, side="right")
        return episodes, numbers - self._starts_before[episodes]


class SegmentSampler:
    """Batches of segments, every admissible start equally likely.

    A step's draws are one stream shared by all ranks, of which each takes its own stretch: two ranks with batches of
    8 read exactly what one rank with a batch of 16 reads.
    """

    def __init__(
        self,
        lengths: ArrayLike,
        segment_length: int,
        batch_size: int,
        seed: int,
        rank: int = 0,
        ranks: int = 1,
        cross_episodes: bool = False,
    ) -> None:
        if batch_size < 1 or not 0 <= rank < ranks:
            raise ValueError(f"a batch of {batch_size} for rank {rank} of {ranks} cannot be drawn")
        self.starts = AdmissibleStarts(lengths, segment_length, cross_episodes)
        self.batch_size = batch_size
        self.seed = seed
        self.rank = rank
        self.ranks = ranks

    def batch(self, step: int) -> list[SegmentId]:
        """This rank's batch at `step`."""
        return self.starts.segments(self._drawn(step))

    def first_frames(self, step: int) -> NDArray[np.int64]:
        """The same batch as the numbers of the segments' first frames, counted through all episodes of the split."""
        return self.starts.first_frames(self._drawn(step))

    def _drawn(self, step: int) -> NDArray[np.int64]:
        drawn = _generator(self.seed, step).integers(self.starts.count, size=self.batch_size * self.ranks)
        return drawn[self.rank * self.batch_size : (self.rank + 1) * self.batch_size]


def evaluation_index(split: Split, sequences: int, length: int, seed: int = 0) -> list[SegmentId]:
    """`sequences` fixed segments to measure errors on: the same for every run on the same data, in data set order.

    The admissible starts are cut into as many equal stretches as there are sequences and one start is drawn in each,
    so that all episodes are represented by their length and none is drawn twice. A split with fewer admissible
    starts than `sequences` gives them all.
    """
    starts = AdmissibleStarts(split.episodes.length, length)
    sequences = min(sequences, starts.count)
    edges = np.arange(sequences + 1, dtype=np.int64) * starts.count // sequences
    return starts.segments(_generator(seed, 0).integers(edges[:-1], edges[1:]))


def _generator(*key: Any) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(key))
