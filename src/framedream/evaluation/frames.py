"""Bytes of a data set as colours on the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class Colours:
    """Looks palette indices up; passes RGB frames through."""

    palette: Tensor | None

    @classmethod
    def of(cls, palette: NDArray[np.uint8] | None, device: torch.device) -> Colours:
        """The colours of a data set whose palette is `palette`, which is None where frames are RGB."""
        return cls(None if palette is None else torch.from_numpy(palette).to(device))

    def __call__(self, frames: Tensor) -> Tensor:
        """RGB bytes (…, H, W, 3) of frames as the data set stores them."""
        return frames if self.palette is None else self.palette[frames.int()]


def as_floats(colours: Tensor) -> Tensor:
    """RGB bytes (…, H, W, 3) as numbers 0…1 with the channel first (…, 3, H, W)."""
    return colours.movedim(-1, -3).float() / 255
