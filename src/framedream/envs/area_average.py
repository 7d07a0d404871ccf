"""Shrinking frames: each new pixel is the mean of the area it covers, exactly rounded on every machine."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from framedream.envs.frame_environment import Frame

Taps = list[tuple[NDArray[np.intp], NDArray[np.int64]]]


def area_average(frame: Frame, height: int, width: int) -> Frame:
    """`frame` (H×W or H×W×C) at another size. Growing repeats pixels."""
    rows, row_length = taps(frame.shape[0], height)
    columns, column_length = taps(frame.shape[1], width)
    # Whole numbers throughout. Not a matrix product: its library starts threads, which in recording workers cost a
    # hundred times what they earn.
    sums = weighted_sum(frame, rows, axis=0)
    sums = weighted_sum(sums, columns, axis=1)
    area = row_length * column_length
    small: Frame = ((2 * sums + area) // (2 * area)).astype(np.uint8)
    return small


def weighted_sum(values: NDArray[np.uint8] | NDArray[np.int64], along: Taps, axis: int) -> NDArray[np.int64]:
    """Every new row (or column) from the old ones that it covers."""
    shape = [1] * values.ndim
    shape[axis] = -1
    terms = (values.take(index, axis) * weight.reshape(shape) for index, weight in along)
    total: NDArray[np.int64] = sum(terms, start=np.zeros((), np.int64))
    return total


@lru_cache(maxsize=16)
def taps(old: int, new: int) -> tuple[Taps, int]:
    """For the first, second, … old pixel under each new one: which it is, and how much of it lies there.

    Amounts are in units that make all of them whole; also returns the length of a new pixel in these units.
    """
    shared = gcd(old, new)
    old_length, new_length = new // shared, old // shared
    start = np.arange(new) * new_length
    end = start + new_length
    first = start // old_length
    most = int((-(-end // old_length) - first).max())
    along: Taps = []
    for number in range(most):
        index = first + number
        covered = np.minimum(end, (index + 1) * old_length) - np.maximum(start, index * old_length)
        along.append((np.minimum(index, old - 1), np.maximum(covered, 0)))
    return along, new_length
