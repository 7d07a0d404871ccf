"""Random choices that do not change between versions: one stream of uniform numbers, used one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Dice:
    """Choices drawn from a seed. Only the generator's plain uniform numbers are used, which numpy keeps stable."""

    def __init__(self, *seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._waiting: list[float] = []

    def number(self, low: float = 0.0, high: float = 1.0) -> float:
        """Uniform in [low, high)."""
        if not self._waiting:
            self._waiting = self._generator.random(256).tolist()
        return low + (high - low) * self._waiting.pop()

    def numbers(self, *shape: int) -> NDArray[np.float64]:
        """An array of uniform numbers in [0, 1)."""
        return self._generator.random(shape)

    def below(self, count: int) -> int:
        """One of 0 … count−1."""
        return int(self.number() * count)

    def choice(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All options in random order."""
        deck = list(options)
        for last in range(len(deck) - 1, 0, -1):
            other = self.below(last + 1)
            deck[last], deck[other] = deck[other], deck[last]
        return deck
