"""An open part, read through plain h5py: for packing and checking. Training reads the chunks in place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import h5py
import hdf5plugin  # noqa: F401  (tells HDF5 about zstandard)

from framedream.data.episode import Frames, Rows
from framedream.data.part import COLUMNS, TABLE, EpisodeEntry
from framedream.data.recording import Recording


class PartFile:
    """One part file. Close it, or use it in a `with` block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = h5py.File(path, "r")

    @property
    def schema(self) -> int:
        return int(self._file.attrs["schema"])

    @property
    def split(self) -> str:
        return str(self._file.attrs["split"])

    @property
    def recording(self) -> Recording:
        return Recording.from_json(json.loads(self._file.attrs["recording"]))

    @property
    def palette(self) -> Frames | None:
        return self._file["palette"][:] if "palette" in self._file else None

    @property
    def frames(self) -> int:
        """Rows in the file."""
        return len(self._file["frames"])

    def episodes(self) -> list[EpisodeEntry]:
        """The table of episodes."""
        columns = [self._file["episode"][name][:].tolist() for name in TABLE]
        return [
            EpisodeEntry(number, start, length, seed, total_reward, sha256.decode())
            for number, start, length, seed, total_reward, sha256 in zip(*columns, strict=True)
        ]

    def rows(self, start: int, stop: int, step: int) -> Iterator[Rows]:
        """Rows `start` to `stop` in blocks that end where a multiple of `step` does, so that chunks are read once."""
        names = [COLUMNS[field] for field in Rows._fields]
        # Only states may be absent.
        columns = [self._file.get(name) if name == COLUMNS["states"] else self._file[name] for name in names]
        while start < stop:
            end = min(stop, (start // step + 1) * step)
            yield Rows._make(None if column is None else column[start:end] for column in columns)
            start = end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
