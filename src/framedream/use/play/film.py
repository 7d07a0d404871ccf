"""Recording a game: a film to look at, and an episode of the dream to train on or to measure."""

from __future__ import annotations

import io
import tempfile
import zlib
from pathlib import Path

import numpy as np

from framedream.pictures.layout import Picture, enlarge, side_by_side
from framedream.pictures.video import VideoWriter

MOST_BYTES = 256 * 2**20
"""Raw bytes of frames that a recording may hold, so that nobody fills the memory with one."""
SMALLEST_HEIGHT = 240


class Film:
    """Frames and actions of a game from the moment it was begun."""

    def __init__(self, first: Picture, real: Picture | None, rate: int) -> None:
        self.rate = rate
        self._shape = first.shape
        self._frames: list[tuple[bytes, bytes | None]] = []
        self._actions: list[int] = []
        self._keep(first, real)

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def is_full(self) -> bool:
        return len(self._frames) * int(np.prod(self._shape)) >= MOST_BYTES

    def add(self, action: int, dream: Picture, real: Picture | None) -> None:
        """The action that was taken and what it led to; passed over once the film is full."""
        if not self.is_full:
            self._actions.append(action)
            self._keep(dream, real)

    def mp4(self) -> bytes:
        """The dream, and the real environment right of it where there is one."""
        with tempfile.TemporaryDirectory(prefix="framedream-film-") as folder:
            path = Path(folder) / "film.mp4"
            with VideoWriter(path, self.rate) as writer:
                for dream, real in self._frames:
                    writer.add(_screen([self._picture(one) for one in (dream, real) if one is not None]))
            return path.read_bytes()

    def episode(self) -> bytes:
        """An NPZ file as `framedream data import` reads it: the dream's frames and the actions between them."""
        file = io.BytesIO()
        np.savez_compressed(
            file,
            frames=np.stack([self._picture(dream) for dream, _ in self._frames]),
            actions=np.array(self._actions, np.int16),
            truncated=np.True_,
        )
        return file.getvalue()

    def _keep(self, dream: Picture, real: Picture | None) -> None:
        self._frames.append(
            (zlib.compress(dream.tobytes(), 1), None if real is None else zlib.compress(real.tobytes(), 1))
        )

    def _picture(self, packed: bytes) -> Picture:
        return np.frombuffer(zlib.decompress(packed), np.uint8).reshape(self._shape)


def _screen(pictures: list[Picture]) -> Picture:
    """Pictures side by side, enlarged in whole steps until they can be seen."""
    factor = max(1, -(-SMALLEST_HEIGHT // len(pictures[0])))
    return side_by_side([enlarge(picture, factor) for picture in pictures], paper=0)
