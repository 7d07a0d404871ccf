"""Where balls and paddles are, found by their colour in real and predicted frames alike.

The prediction error hardly notices a missing ball: eight pixels of 33,600. Whether it is there, and where, is what a
player sees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

NEAR = 4.0
"""Pixels in each direction within which a predicted object counts as being in its place."""
SEEN = 0.3
SCREEN = (210, 160)


@dataclass(frozen=True)
class RamCoordinate:
    """A byte of the console's memory that holds a coordinate: centre in pixels = byte + offset."""

    address: int
    offset: float


@dataclass(frozen=True)
class GameObject:
    """A rectangle of one colour that moves within a field of another colour."""

    name: str
    colour: tuple[int, int, int]
    background: tuple[int, int, int]
    size: tuple[int, int]
    field: tuple[int, int, int, int]
    """First row, end row, first column, end column: where nothing else has its colour."""
    ram: tuple[RamCoordinate | None, RamCoordinate | None]
    """Its row and column in memory, where known."""


_PONG = (144, 72, 17)
_BLACK = (0, 0, 0)
_RED = (200, 72, 72)
OBJECTS = {
    "atari/pong": (
        GameObject(
            "ball",
            (236, 236, 236),
            _PONG,
            (4, 2),
            (34, 194, 0, 160),
            (RamCoordinate(54, -12.5), RamCoordinate(49, -48.5)),
        ),
        GameObject("player", (92, 186, 92), _PONG, (16, 4), (34, 194, 130, 160), (RamCoordinate(51, -5.5), None)),
        GameObject("opponent", (213, 130, 74), _PONG, (16, 4), (34, 194, 0, 30), (RamCoordinate(50, -7.5), None)),
    ),
    "atari/breakout": (
        # Among the bricks (rows 57 to 92) the ball cannot be told by its colour.
        GameObject(
            "ball", _RED, _BLACK, (4, 2), (93, 189, 8, 152), (RamCoordinate(101, 10.5), RamCoordinate(99, -48.5))
        ),
        GameObject("paddle", _RED, _BLACK, (4, 16), (189, 193, 8, 152), (None, RamCoordinate(72, -39.5))),
    ),
}


def objects_of(environment: str, frame_shape: tuple[int, ...]) -> tuple[GameObject, ...]:
    """The objects that can be found in frames of an environment: none where nothing is known of it or its scale."""
    return OBJECTS.get(environment, ()) if tuple(frame_shape[:2]) == SCREEN else ()


@dataclass(frozen=True)
class Places:
    """Where an object is in each frame of a batch, in pixels; meaningless where not `seen`."""

    seen: Tensor
    row: Tensor
    column: Tensor

    def distance(self, other: Places) -> Tensor:
        """The larger of the distances along rows and columns."""
        return torch.maximum((self.row - other.row).abs(), (self.column - other.column).abs())


def locate(frames: Tensor, thing: GameObject) -> Places:
    """Find the object in frames (B, 3, H, W) of numbers 0…1, even blurred or half as bright as it should be.

    A pixel scores 1 in the object's colour and 0 from two thirds of the way to the background on; the place is where
    a box of the object's size scores most, and there the centre of gravity of what scored.
    """
    top, bottom, left, right = thing.field
    field = frames[:, :, top:bottom, left:right]
    colour, background = (frames.new_tensor(rgb) / 255 for rgb in (thing.colour, thing.background))
    away = (field - colour[:, None, None]).square().sum(1) / (colour - background).square().sum()
    score = (1 - 2 * away).clamp(0, 1)
    height, width = thing.size
    boxes = functional.avg_pool2d(score[:, None], (height, width), stride=1)[:, 0]
    best, place = boxes.flatten(1).max(1)
    middle_row = (place // boxes.shape[2]).float() + (height - 1) / 2
    middle_column = (place % boxes.shape[2]).float() + (width - 1) / 2
    rows = torch.arange(field.shape[2], device=frames.device, dtype=torch.float32)
    columns = torch.arange(field.shape[3], device=frames.device, dtype=torch.float32)
    near_rows = ((rows - middle_row[:, None]).abs() <= height).float()
    near_columns = ((columns - middle_column[:, None]).abs() <= width).float()
    weights = score * near_rows[:, :, None] * near_columns[:, None, :]
    total = weights.sum((1, 2)).clamp_min(1e-6)
    row = (weights.sum(2) * rows).sum(1) / total
    column = (weights.sum(1) * columns).sum(1) / total
    return Places(best >= SEEN, row + top, column + left)


def ram_places(states: NDArray[np.uint8], thing: GameObject) -> tuple[NDArray[np.float64] | None, ...]:
    """(rows, columns) that the console's memory (B, 128) gives for the object's centre; None where unknown."""
    return tuple(
        None if known is None else states[:, known.address].astype(np.float64) + known.offset for known in thing.ram
    )
