"""Intervals, of 95% unless said otherwise, by resampling whole episodes.

Sequences of one episode overlap or follow each other, so they err together: resampling sequences would count the same
luck many times and claim too much. Episodes are independent, so they are what is drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
RESAMPLES = 1000
INSIDE = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval, one number per step; NaN where nothing was measured."""

    mean: Floats
    low: Floats
    high: Floats


class EpisodeBootstrap:
    """Intervals of means over sequences, which belong to episodes."""

    def __init__(self, episodes: ArrayLike, resamples: int = RESAMPLES, seed: int = 0, inside: float = INSIDE) -> None:
        names, self._episode_of = np.unique(np.asarray(episodes), return_inverse=True)
        self.episodes = len(names)
        self._edges = ((1 - inside) / 2, (1 + inside) / 2)
        evenly = np.full(self.episodes, 1 / self.episodes)
        draws = np.random.default_rng(seed).multinomial(self.episodes, evenly, size=resamples)
        self._times_drawn: Floats = draws.astype(np.float64)

    def mean(self, values: ArrayLike) -> Interval:
        """The mean over sequences of `values` (sequences, steps)."""
        return self.ratio(values, np.ones(np.shape(values)))

    def ratio(self, values: ArrayLike, counted: ArrayLike) -> Interval:
        """Σ values / Σ counted over sequences: the mean over those cases that count."""
        above, below = self._per_episode(values), self._per_episode(counted)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = above.sum(0) / below.sum(0)
            drawn = (self._times_drawn @ above) / (self._times_drawn @ below)
        if self.episodes < 2:
            unknown = np.full_like(mean, np.nan)
            return Interval(mean, unknown, unknown)
        low, high = _percentiles(drawn, self._edges)
        return Interval(mean, low, high)

    def _per_episode(self, values: ArrayLike) -> Floats:
        rows = np.asarray(values, np.float64)
        sums = np.zeros((self.episodes, rows.shape[1]))
        np.add.at(sums, self._episode_of, rows)
        return sums


def _percentiles(drawn: Floats, shares: tuple[float, float]) -> tuple[Floats, Floats]:
    """Two percentiles of every column, leaving out resamples in which nothing counted."""
    columns = drawn.T
    if not np.isnan(columns).any():
        low, high = np.quantile(columns, shares, axis=1)
        return low, high
    kept = [column[~np.isnan(column)] for column in columns]
    pairs = np.array([np.quantile(column, shares) if len(column) else (np.nan, np.nan) for column in kept])
    return pairs[:, 0], pairs[:, 1]
