"""What travels from a data set to a model: Episode → Segment → Batch, bytes all the way.

Row i of a segment is frame x_i and the transition out of it: `actions[i]`, `rewards[i]` and the flags belong to
x_i → x_{i+1}. A segment of length L therefore holds L frames and L − 1 whole transitions; its last action may be −1
(the end of an episode), which no transition of the segment uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SegmentId:
    """Which frames: `length` of them, from frame `start` of episode `episode` of a split."""

    episode: int
    start: int
    length: int


@dataclass(frozen=True)
class Segment:
    """Consecutive frames (L,H,W) of palette indices or (L,H,W,3) of colours, and what happened between them."""

    frames: NDArray[np.uint8]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    states: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.frames)


@dataclass(frozen=True)
class Batch:
    """Segments of one length, stacked: frames (B,L,H,W[,3]), the rest (B,L)."""

    frames: NDArray[np.uint8]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    states: NDArray[Any] | None
    ids: tuple[SegmentId, ...]

    def __len__(self) -> int:
        return len(self.frames)
