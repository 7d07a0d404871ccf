"""Memory for the pictures that an update passes through."""

from __future__ import annotations

import torch
from torch import Tensor


class Pictures:
    """Room for the pictures of one kind that an update keeps: those of successive calls lie one after the other.

    The first update finds out how many there are; from the second on they share one piece of memory, so that what is
    noted about them is worked off at once. Borders stay the zeros they began as: kernels write within them.
    """

    def __init__(self, *shape: int) -> None:
        self._shape = shape
        self._memory: Tensor | None = None
        self._like: Tensor | None = None
        self._first = self._needed = 0
        self._spare: Tensor | None = None
        self.moves = 0
        """How often memory was asked for: graphs that were captured before know old places."""

    def begin(self) -> None:
        """A new update: all memory is free again."""
        if self._needed > (0 if self._memory is None else len(self._memory)) and self._like is not None:
            self._memory = None  # freed before more is asked for
            self._memory = self._zeros(self._needed, self._like)
        self._first = 0

    def take(self, count: int, like: Tensor) -> tuple[Tensor, int]:
        """Room for so many, and the number of the first of them in this update."""
        first = self._first
        self._first += count
        return self.at(first, count, like), first

    def at(self, first: int, count: int, like: Tensor) -> Tensor:
        """Room for so many that belong to those of this number: gradients lie in the order of what they belong to."""
        self._needed = max(self._needed, first + count)
        if self._memory is not None and first + count <= len(self._memory):
            return _alias(self._memory, first, count)
        return self._zeros(count, like)

    def borrow(self, count: int, like: Tensor) -> Tensor:
        """Room for so many that no backward pass will ask for; the next to borrow writes over it."""
        if self._spare is None or len(self._spare) < count:
            self._spare = self._zeros(count, like)
        return self._spare[:count]

    def _zeros(self, count: int, like: Tensor) -> Tensor:
        self.moves += 1
        self._like = like.new_empty(0)
        return torch.zeros(count, *self._shape, dtype=like.dtype, device=like.device)


def _alias(memory: Tensor, start: int, count: int) -> Tensor:
    """A part of some memory that is no view of it: autograd refuses views of what is written to elsewhere."""
    offset = memory.storage_offset() + start * memory.stride(0)
    shape = (count, *memory.shape[1:])
    return memory.new_empty(0).set_(memory.untyped_storage(), offset, shape, memory.stride())
