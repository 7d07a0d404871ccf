"""Random slopes of RReLU on a CPU, where drawing a number takes longer than computing the one it is meant for.

They come out of a pool that is drawn once: what a picture takes is a window of it, at a place of its own. Within a
picture no two numbers share a slope; between pictures the same ones return elsewhere.
"""

from __future__ import annotations

import torch
from torch import Tensor

from framedream.fast.slopes import slope_seed
from framedream.model.activation import HIGHEST, LOWEST

PLACES = 2**20
"""At which a window may begin."""
BETWEEN_FRAMES = 7919
"""From where one frame's window begins to where the next one's does."""


class SlopePool:
    """Slopes as a function of an update's seed and of how many pictures came before in that update."""

    def __init__(self, seed: Tensor) -> None:
        self._seed = seed
        self._drawn = 0
        self._pool = torch.empty(0)

    def begin(self) -> None:
        """A new update."""
        self._drawn = 0

    def draw(self, like: Tensor) -> Tensor:
        """Slopes for a picture (N, H, W, C), one for each of its numbers, not to be written to."""
        count, numbers = len(like), like[0].numel()
        self._drawn += 1
        place = slope_seed(int(self._seed) + 1009 * self._drawn) % PLACES
        self._provide(PLACES + (count - 1) * BETWEEN_FRAMES + numbers, like.dtype)
        _, _, width, channels = like.shape
        return self._pool.as_strided(like.shape, (BETWEEN_FRAMES, width * channels, channels, 1), place)

    def _provide(self, size: int, kind: torch.dtype) -> None:
        if len(self._pool) < size or self._pool.dtype != kind:
            # The same numbers come first, however many there are.
            generator = torch.Generator().manual_seed(0)
            self._pool = torch.empty(size).uniform_(LOWEST, HIGHEST, generator=generator).to(kind)
