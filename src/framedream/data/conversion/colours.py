"""Colours back to the palette indices they came from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from framedream.data.episode import Frames
from framedream.errors import UserError

GREY: Frames = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
"""The palette of grey frames: their levels are its indices."""
NOT_THERE = 256


class PaletteIndex:
    """Finds colours in a palette. Where it has a colour twice, the first place counts."""

    def __init__(self, palette: Frames) -> None:
        self._table = np.full(1 << 24, NOT_THERE, np.uint16)
        self._table[_codes(palette)[::-1]] = np.arange(len(palette), dtype=np.uint16)[::-1]

    def __call__(self, frames: Frames) -> Frames:
        """(…, H, W) indices of (…, H, W, 3) colours."""
        indices = self._table[_codes(frames)]
        if indices.max(initial=0) == NOT_THERE:
            raise UserError("Some colours are not in the palette of recording.json: delete that file to import as RGB.")
        return indices.astype(np.uint8)


def _codes(colours: Frames) -> NDArray[np.uint32]:
    parts = colours.astype(np.uint32)
    return parts[..., 0] << np.uint32(16) | parts[..., 1] << np.uint32(8) | parts[..., 2]
