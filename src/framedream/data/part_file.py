"""An open part, read through plain h5py: for packing and checking. Training reads the chunks in place."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import h5py
import hdf5plugin  # noqa: F401  (tells HDF5 about zstandard)

from framedream.data.episode import Frames, Rows
from framedream.data.part import COLUMNS, REPLAYED, TABLE, EpisodeEntry
from framedream.data.recording import Recording
from framedream.data.replayed import ReplayedPart, recording_of


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
        return recording_of(self._file)

    @property
    def palette(self) -> Frames | None:
        return self._file["palette"][:] if "palette" in self._file else None

    @property
    def frames(self) -> int:
        """Rows in the file."""
        return len(self._file["action"])

    def episodes(self) -> list[EpisodeEntry]:
        """The table of episodes."""
        columns = [self._file["episode"][name][:].tolist() for name in TABLE]
        return [
            EpisodeEntry(number, start, length, seed, total_reward, sha256.decode())
            for number, start, length, seed, total_reward, sha256 in zip(*columns, strict=True)
        ]

    def rows(self, start: int, stop: int, step: int) -> Iterator[Rows]:
        """Rows `start` to `stop` in blocks that end where a multiple of `step` does, so that chunks are read once."""
        columns = [self._column(field) for field in Rows._fields]
        while start < stop:
            end = min(stop, (start // step + 1) * step)
            yield Rows._make(None if column is None else column[start:end] for column in columns)
            start = end

    @cached_property
    def _replayed(self) -> ReplayedPart | None:
        return ReplayedPart(self.path, self._file) if self.recording.store == "actions" else None

    def _column(self, field: str) -> Any:
        """What can be sliced into a field's rows; none for states that do not exist."""
        if self._replayed is not None and field in REPLAYED:
            return getattr(self._replayed, field)
        return self._file.get(COLUMNS[field]) if field == "states" else self._file[COLUMNS[field]]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
