"""A part of every frame, at another size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from framedream.envs.area_average import area_average
from framedream.envs.frame_environment import Frame
from framedream.errors import UserError

LARGEST = 4096


class Cut:
    """Crops frames of one shape (`top, left, height, width`), then resizes them (`height, width`)."""

    def __init__(
        self, crop: Sequence[int] | None, resize: Sequence[int] | None, shape: tuple[int, ...], name: str
    ) -> None:
        if crop is not None and not _fits(crop, shape):
            raise UserError(
                f"crop={list(crop)} does not fit the {shape[0]}×{shape[1]} frames of {name}; "
                "give top, left, height, width."
            )
        if resize is not None and (len(resize) != 2 or min(resize) < 1 or max(resize) > LARGEST):
            raise UserError(f"resize={list(resize)} of {name} is not a size; give height, width, each 1 to {LARGEST}.")
        top, left, height, width = crop or (0, 0, *shape[:2])
        self._rows, self._columns = slice(top, top + height), slice(left, left + width)
        self._cropped = crop is not None
        self._size = None if resize is None else (resize[0], resize[1])
        self.shape = (*(self._size or (height, width)), *shape[2:])

    def __call__(self, frame: Frame) -> Frame:
        if self._cropped:
            frame = np.ascontiguousarray(frame[self._rows, self._columns])
        return frame if self._size is None else area_average(frame, *self._size)


def _fits(crop: Sequence[int], shape: tuple[int, ...]) -> bool:
    if len(crop) != 4 or min(crop) < 0 or min(crop[2:]) < 1:
        return False
    top, left, height, width = crop
    return top + height <= shape[0] and left + width <= shape[1]
