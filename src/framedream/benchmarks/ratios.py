"""Comparing two ways on a machine that others use too."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def median_ratio(slow: Sequence[float], fast: Sequence[float]) -> float:
    """How many times as long one takes, of each repetition by itself.

    A neighbour who takes a core for a second spoils one repetition, not the result.
    """
    return median(s / f for s, f in zip(slow, fast, strict=True))
