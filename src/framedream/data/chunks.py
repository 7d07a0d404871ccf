"""Rows of a compressed HDF5 table, decompressed where they lie in the file.

HDF5 reads one chunk at a time under one lock. Here the chunks' places are asked for once; after that the file is
mapped into memory and zstandard decompresses straight into the caller's array, with the interpreter lock released,
so that threads add up. The checksums that HDF5 would test on the way are skipped: `data verify` and the manifest's
SHA-256 are where damage is found.
"""

from __future__ import annotations

import math
import mmap
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h5py
import hdf5plugin  # noqa: F401  (tells HDF5 about zstandard)
import numpy as np
import zstandard
from numpy.typing import NDArray

from framedream.errors import UserError

ZSTANDARD, FLETCHER32 = 32015, 3  # HDF5's registered numbers of these filters
CHECKSUM_BYTES = 4
COMPRESSION_LEFT_OUT, CHECKSUM_LEFT_OUT = 1, 2  # bits of a chunk's filter mask: the first filter, the second


class MappedFile:
    """One HDF5 file in memory: its small tables through h5py, its compressed ones in place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.memory = memoryview(self._map)

    def compressed(self, dataset: h5py.Dataset) -> CompressedRows:
        """The rows of `dataset`, which must be a table of this file."""
        return CompressedRows(self, dataset)

    def close(self) -> None:
        self.memory.release()
        self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Workspace(threading.local):
    """What one thread decompresses with: contexts and scratch memory are not shared."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()
        self._scratch = memoryview(bytearray())

    def scratch(self, size: int) -> memoryview:
        if len(self._scratch) < size:
            self._scratch = memoryview(bytearray(size))
        return self._scratch[:size]


_workspace = _Workspace()


class CompressedRows:
    """A table chunked along its first axis only and compressed with zstandard, with or without fletcher32."""

    def __init__(self, file: MappedFile, dataset: h5py.Dataset) -> None:
        self._file = file
        self.name: str = dataset.name
        self.shape: tuple[int, ...] = dataset.shape
        self.dtype: np.dtype[Any] = dataset.dtype
        if dataset.chunks is None or dataset.chunks[1:] != dataset.shape[1:]:
            raise UserError(f"{self._where} is not stored in chunks of whole rows: make the data set again.")
        self.chunk_rows: int = dataset.chunks[0]
        self._row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        self._chunk_bytes = self._row_bytes * self.chunk_rows
        self._has_checksum = self._read_filters(dataset)
        self._places = self._read_places(dataset)

    @property
    def _where(self) -> str:
        return f"{self._file.path}, table {self.name}"

    def _read_filters(self, dataset: h5py.Dataset) -> bool:
        properties = dataset.id.get_create_plist()
        filters = [properties.get_filter(number)[0] for number in range(properties.get_nfilters())]
        if filters not in ([ZSTANDARD], [ZSTANDARD, FLETCHER32]):
            raise UserError(f"{self._where} is not compressed with zstandard: make the data set again.")
        return FLETCHER32 in filters

    def _read_places(self, dataset: h5py.Dataset) -> list[tuple[int, int, int]]:
        """(first byte, end byte, filter mask) of every chunk."""
        places = [(0, 0, 0)] * -(-self.shape[0] // self.chunk_rows)

        def note(chunk: Any) -> None:
            first, size = chunk.byte_offset, chunk.size
            places[chunk.chunk_offset[0] // self.chunk_rows] = (first, first + size, chunk.filter_mask)

        dataset.id.chunk_iter(note)
        if any(end == 0 or end > len(self._file.memory) for _, end, _ in places):
            raise self._damaged(0)
        return places

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, start: int, out: NDArray[Any]) -> None:
        """Fill `out`, a C-contiguous array of whole rows, with rows `start`, `start + 1`, …"""
        if not 0 <= start < start + len(out) <= len(self):
            raise IndexError(f"{self._where} has {len(self)} rows, not rows {start} to {start + len(out)}")
        if out.shape[1:] != self.shape[1:] or out.dtype != self.dtype:
            raise ValueError(
                f"{self._where} has rows {self.shape[1:]} of {self.dtype}, not {out.shape[1:]}, {out.dtype}"
            )
        # Plain memoryviews, because slicing them is several times cheaper than slicing arrays, and what the
        # interpreter does between two decompressions is what keeps threads waiting for each other.
        target = out.data.cast("B")
        chunk, row = divmod(start, self.chunk_rows)
        skipped, filled, size = row * self._row_bytes, 0, len(target)
        while filled < size:
            end = min(filled + self._chunk_bytes - skipped, size)
            self._read_chunk(chunk, skipped, target[filled:end])
            chunk, skipped, filled = chunk + 1, 0, end

    def _read_chunk(self, chunk: int, skipped: int, target: memoryview) -> None:
        """Fill `target` with a chunk's bytes after the first `skipped`; what comes later is not even decompressed."""
        first, end, mask = self._places[chunk]
        # A bit set in the mask says that a filter was left out for this chunk: HDF5 allows it where it does not help.
        if self._has_checksum and not mask & CHECKSUM_LEFT_OUT:
            end -= CHECKSUM_BYTES
        # Released before an error travels on: its traceback would hold this place, and the file could not be closed.
        with self._file.memory[first:end] as source:
            if mask & COMPRESSION_LEFT_OUT:
                target[:] = source[skipped : skipped + len(target)]
                return
            # Only a stretch that begins with its chunk can be decompressed where it is wanted.
            buffer = _workspace.scratch(skipped + len(target)) if skipped else target
            try:
                size = _workspace.decompressor.stream_reader(source).readinto(buffer)
            except zstandard.ZstdError as error:
                raise self._damaged(chunk) from error
        if size != len(buffer):
            raise self._damaged(chunk)
        if skipped:
            target[:] = buffer[skipped:]

    def _damaged(self, chunk: int) -> UserError:
        return UserError(
            f"{self._where} is damaged near row {chunk * self.chunk_rows}: `framedream data verify` on its data set "
            "names every bad file; copy it again or record it again."
        )
