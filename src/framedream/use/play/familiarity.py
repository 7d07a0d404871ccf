"""How usual a player's actions are to a simulator, which knows only what its training data did.

Two numbers are taken of the last `WINDOW` actions: their mean surprise under a trigram model of the training actions,
and how far the shares of the actions are from those in training. The first notices actions in an order that never
came up, the second those that came up, but never so often: holding one key is as likely as anything else step by
step where actions were random, and yet was never done for two seconds. Each number is compared with the same number of
the training data's own windows: what counts is how few of those are as strange.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

WINDOW = 30
STRANGE = 0.999
"""A window is strange when fewer than one in a thousand windows of the training data are stranger."""
RECENT = WINDOW + 2
"""Actions that are looked at: a window, and the two before it that a trigram needs."""
MOST_WINDOWS = 20_000


class Familiarity:
    """The habits of the training data."""

    def __init__(self, episodes: Iterable[ArrayLike], actions: int) -> None:
        self._actions = actions
        self._counts = [np.zeros((actions,) * order) for order in (1, 2, 3)]
        sequences = [np.asarray(episode, np.int64) for episode in episodes]
        for sequence in sequences:
            for order, counts in enumerate(self._counts, start=1):
                if len(sequence) >= order:
                    grams = tuple(sequence[place : len(sequence) - order + 1 + place] for place in range(order))
                    np.add.at(counts, grams, 1)
        self._probability = self._smoothed()
        shares = self._counts[0] + 1 / actions
        self._shares = shares / shares.sum()
        self._known = self._windows_of(sequences)

    @property
    def available(self) -> bool:
        """Whether the training data have a single window to compare with."""
        return bool(len(self._known))

    def strangeness(self, actions: Sequence[int]) -> float | None:
        """The share of training windows that are less strange than the last WINDOW actions; None before there are."""
        if len(actions) < RECENT or not self.available:
            return None
        numbers = self._numbers(np.asarray(actions[-RECENT:], np.int64)[None])[0]
        return max(
            float(np.searchsorted(known, number, side="left")) / len(known)
            for known, number in zip(self._known.T, numbers, strict=True)
        )

    def _smoothed(self) -> NDArray[np.float64]:
        """p(a | the two actions before), by Witten and Bell: the more kinds have followed, the more weight to less."""
        probability = np.full(self._actions, 1 / self._actions)
        for counts in self._counts:
            kinds = (counts > 0).sum(axis=-1, keepdims=True)
            total = counts.sum(axis=-1, keepdims=True) + kinds
            shorter = np.broadcast_to(probability, counts.shape)
            probability = np.where(total > 0, (counts + kinds * shorter) / np.maximum(total, 1), shorter)
        return probability

    def _numbers(self, windows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Mean surprise and distance of shares, in bits, of windows (N, WINDOW + 2) whose first two are context."""
        surprise = -np.log2(self._probability[windows[:, :-2], windows[:, 1:-1], windows[:, 2:]]).mean(axis=1)
        shares = np.stack([(windows[:, 2:] == action).mean(axis=1) for action in range(self._actions)], axis=1)
        distance = (shares * np.log2(np.maximum(shares, 1e-12) / self._shares)).sum(axis=1)
        # Rounded, so that equal windows are equal numbers however they were added up.
        return np.round(np.stack([surprise, distance], axis=1), 9)

    def _windows_of(self, sequences: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """The two numbers of training windows, each column sorted; at most MOST_WINDOWS of them, evenly taken."""
        places = [(number, start) for number, one in enumerate(sequences) for start in range(len(one) - RECENT + 1)]
        if not places:
            return np.zeros((0, 2))
        chosen = np.unique(np.linspace(0, len(places) - 1, MOST_WINDOWS).astype(int))
        windows = np.stack([sequences[number][start : start + RECENT] for number, start in (places[i] for i in chosen)])
        return np.sort(self._numbers(windows), axis=0)
