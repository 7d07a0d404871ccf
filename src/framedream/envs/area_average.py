"""Shrinking frames: each new pixel is the mean of the area it covers, exactly rounded on every machine."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framedream.envs.frame_environment import Frame


def area_average(frame: Frame, height: int, width: int) -> Frame:
    """`frame` (H×W or H×W×C) at another size. Growing repeats pixels."""
    rows, columns, area = weights(frame.shape[0], frame.shape[1], height, width)
    planes: NDArray[Any] = np.moveaxis(np.atleast_3d(frame), 2, 0).astype(rows.dtype)
    sums = rows @ planes @ columns
    # In double precision no quotient of this size is rounded up to a whole number that it does not reach.
    small = ((sums.astype(np.float64) + area / 2) / area).astype(np.uint8)
    return small[0] if frame.ndim == 2 else np.ascontiguousarray(np.moveaxis(small, 0, 2))


@lru_cache(maxsize=16)
def weights(old_height: int, old_width: int, height: int, width: int) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Matrices to sum rows and columns with, and the area of a new pixel in their units."""
    rows, columns = overlaps(old_height, height), overlaps(old_width, width).T
    area = int(rows[0].sum() * columns[:, 0].sum())
    # Whole numbers small enough to be exact in floating point, whatever order the matrix product adds them in.
    exact = np.float32 if 255 * area < 2**24 else np.float64
    return rows.astype(exact), columns.astype(exact), area


def overlaps(old: int, new: int) -> NDArray[np.int64]:
    """How much of each old pixel lies in each new one, (new, old), in units that make every entry whole."""
    shared = gcd(old, new)
    old_width, new_width = new // shared, old // shared
    old_start, new_start = np.arange(old) * old_width, np.arange(new)[:, None] * new_width
    end = np.minimum(old_start + old_width, new_start + new_width)
    overlap: NDArray[np.int64] = np.maximum(end - np.maximum(old_start, new_start), 0)
    return overlap
