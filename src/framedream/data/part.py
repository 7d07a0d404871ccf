"""Part files: whole episodes in HDF5, written row by row without ever holding more than a chunk of frames.

The layout is described in docs/data.md. Any program with h5py and hdf5plugin opens a part; `SCHEMA` changes when the
layout does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import hdf5plugin
import numpy as np
from numpy.typing import NDArray

from framedream.data.episode import ContentHash, Episode, Frames, Rows
from framedream.data.recording import Recording
from framedream.errors import UserError

SCHEMA = 1
FRAMES_PER_CHUNK = 16
STATES_PER_CHUNK = 64
ROWS_PER_CHUNK = 4096
COLUMNS = dict(
    frames="frames",
    actions="action",
    rewards="reward",
    terminations="termination",
    truncations="truncation",
    states="state",
)
"""The data set in the file for each field of `Rows`."""
REPLAYED = ("frames", "states")
"""The fields that are left out where a recording stores actions only."""

TABLE: dict[str, Any] = {
    "number": np.int64,
    "start": np.int64,
    "length": np.int64,
    "seed": np.uint64,
    "return": np.float64,
    "sha256": "S64",
}


@dataclass(frozen=True)
class EpisodeEntry:
    """A row of a part's table of episodes."""

    number: int
    start: int
    length: int
    seed: int
    total_reward: float
    sha256: str


class _Column:
    """A data set that grows by whole chunks: what is appended waits in a buffer of one chunk."""

    def __init__(self, file: h5py.File, name: str, shape: tuple[int, ...], kind: Any, rows_per_chunk: int) -> None:
        self._buffer: NDArray[Any] = np.empty((rows_per_chunk, *shape), kind)
        self._filled = 0
        self._stored = file.create_dataset(
            name,
            shape=(0, *shape),
            maxshape=(None, *shape),
            dtype=kind,
            chunks=self._buffer.shape,
            fletcher32=True,
            **hdf5plugin.Zstd(clevel=3),
        )

    def append(self, block: NDArray[Any]) -> None:
        while len(block):
            room = len(self._buffer) - self._filled
            taken = block[:room]
            self._buffer[self._filled : self._filled + len(taken)] = taken
            self._filled += len(taken)
            block = block[room:]
            if self._filled == len(self._buffer):
                self.flush()

    def flush(self) -> None:
        if self._filled:
            end = len(self._stored) + self._filled
            self._stored.resize(end, axis=0)
            self._stored[end - self._filled :] = self._buffer[: self._filled]
            self._filled = 0

    @property
    def stored_bytes(self) -> int:
        return int(self._stored.id.get_storage_size())


class PartWriter:
    """Writes one part, episode after episode. The file is complete, and safe on disk, after `close`.

    `stored_bytes` is then what the rows take, compressed, without the file's own bookkeeping.
    """

    def __init__(self, path: Path, split: str, recording: Recording, palette: Frames | None) -> None:
        if (palette is not None) != recording.indexed:
            raise UserError("Frames of palette indices need their palette, and frames of colours have none.")
        self.path = path
        self.episodes: list[EpisodeEntry] = []
        self.frames = 0
        self.recording, self._palette = recording, palette
        self.stored_bytes = 0
        # The 1.10 file format: its index of chunks is smaller and quicker, and every h5py of today reads it. Chunks
        # are always written whole, so a cache for them would only cost a copy.
        self._file = h5py.File(path, "w", libver=("v110", "v110"), rdcc_nbytes=0)
        try:
            self._columns = self._lay_out(split)
        except BaseException:
            self.abandon()
            raise

    def _lay_out(self, split: str) -> dict[str, _Column]:
        recording, palette = self.recording, self._palette
        self._file.attrs.update(schema=SCHEMA, split=split, recording=json.dumps(recording.as_json(), sort_keys=True))
        if palette is not None:
            self._file.create_dataset("palette", data=palette, fletcher32=True, chunks=palette.shape)
        sizes: dict[str, tuple[tuple[int, ...], Any, int]] = dict(
            frames=(recording.image_shape, np.uint8, FRAMES_PER_CHUNK),
            actions=((), np.int16, ROWS_PER_CHUNK),
            rewards=((), np.float32, ROWS_PER_CHUNK),
            terminations=((), np.bool_, ROWS_PER_CHUNK),
            truncations=((), np.bool_, ROWS_PER_CHUNK),
        )
        if recording.state_shape is not None:
            sizes["states"] = (recording.state_shape, recording.state_type, STATES_PER_CHUNK)
        return {
            field: _Column(self._file, COLUMNS[field], *size)
            for field, size in sizes.items()
            if recording.store == "frames" or field not in REPLAYED
        }

    def begin_episode(self, number: int, seed: int) -> None:
        """Start the episode that has this place in its split."""
        self._number, self._seed, self._start = number, seed, self.frames
        self._total_reward = 0.0
        self._content = ContentHash(seed, self._palette)

    def append(self, rows: Rows) -> None:
        """Add the next rows of the episode."""
        if rows.frames.shape[1:] != self.recording.image_shape:
            raise UserError(
                f"Frames must keep one shape: {self.recording.image_shape} so far, now {rows.frames.shape[1:]}."
            )
        if rows.actions.max(initial=0) >= len(self.recording.action_meanings):
            raise UserError(
                f"Action {rows.actions.max()} does not exist: the recording has "
                f"{len(self.recording.action_meanings)} actions, counted from 0."
            )
        self._content.update(rows)
        for field, column in self._columns.items():
            column.append(getattr(rows, field))
        # One by one, so that the sum does not depend on how the rows are cut.
        for reward in rows.rewards.tolist():
            self._total_reward += reward
        self.frames += len(rows.frames)

    def end_episode(self) -> EpisodeEntry:
        """Finish the episode; its entry in the table."""
        length = self.frames - self._start
        entry = EpisodeEntry(
            self._number, self._start, length, self._seed, self._total_reward, self._content.hexdigest()
        )
        self.episodes.append(entry)
        return entry

    def close(self) -> None:
        """Write what is still buffered and the table of episodes, and wait until the disk has it all."""
        if not self.episodes:
            raise ValueError("a part needs at least one episode")
        for column in self._columns.values():
            column.flush()
            self.stored_bytes += column.stored_bytes
        table = self._file.create_group("episode")
        for name, kind in TABLE.items():
            field = "total_reward" if name == "return" else name
            values = np.array([getattr(entry, field) for entry in self.episodes], kind)
            table.create_dataset(name, data=values, fletcher32=True, chunks=(max(1, len(values)),), maxshape=(None,))
        self._close_file()
        with self.path.open("rb") as written:
            os.fsync(written.fileno())

    def abandon(self) -> None:
        """Forget the part: close the file, whatever state it is in, and remove it."""
        with suppress(OSError):
            self._close_file()
        self.path.unlink(missing_ok=True)

    def _close_file(self) -> None:
        try:
            self._file.close()
        except RuntimeError as error:
            # How HDF5 says that the disk does not take its last bytes.
            raise OSError(str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.close()
        except BaseException:
            self.abandon()
            raise
        if error is not None:
            self.abandon()


def write_part(
    path: Path,
    split: str,
    recording: Recording,
    palette: Frames | None,
    episodes: Iterable[Episode],
    first_number: int = 0,
) -> list[EpisodeEntry]:
    """Write episodes that are in memory as one part."""
    with PartWriter(path, split, recording, palette) as part:
        for number, episode in enumerate(episodes, first_number):
            part.begin_episode(number, episode.seed)
            part.append(episode.rows())
            part.end_episode()
    return part.episodes
