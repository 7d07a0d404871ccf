"""Rows read in place equal rows read by HDF5, whatever the chunks and filters; damage is never returned as data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framedream.data.chunks import CompressedRows, MappedFile
from framedream.errors import UserError

ROWS = 53  # not a multiple of the chunk length: the last chunk is a partial one
ZSTD = hdf5plugin.Zstd(clevel=3)


def write(path: Path, values: Any, chunk: int = 16, **options: Any) -> None:
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.create_dataset(
            "rows", data=values, chunks=(chunk, *values.shape[1:]), maxshape=(None, *values.shape[1:]), **options
        )


def opened(path: Path) -> tuple[MappedFile, CompressedRows]:
    mapped = MappedFile(path)
    with h5py.File(path, "r") as file:
        return mapped, mapped.compressed(file["rows"])


@pytest.fixture(scope="module")
def values() -> Any:
    # Half of it random, so that some chunks do not compress at all.
    generator = np.random.default_rng(0)
    values = generator.integers(0, 256, (ROWS, 6, 5), dtype=np.uint8)
    values[20:40] = 7
    return values


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, values: Any) -> Iterator[CompressedRows]:
    path = tmp_path_factory.mktemp("chunks") / "rows.h5"
    write(path, values, fletcher32=True, **ZSTD)
    mapped, table = opened(path)
    with mapped:
        yield table


@given(start=st.integers(0, ROWS - 1), length=st.integers(1, ROWS))
def test_any_stretch_of_rows_equals_what_hdf5_gives(
    table: CompressedRows, values: Any, start: int, length: int
) -> None:
    length = min(length, ROWS - start)
    out = np.full((length, 6, 5), 99, np.uint8)
    table.read(start, out)
    assert np.array_equal(out, values[start : start + length])


@pytest.mark.parametrize(("start", "length"), [(-1, 3), (50, 4), (54, 1)])
def test_rows_that_do_not_exist_are_refused(table: CompressedRows, start: int, length: int) -> None:
    with pytest.raises(IndexError, match="53 rows"):
        table.read(start, np.empty((length, 6, 5), np.uint8))


def test_an_array_of_another_shape_or_type_is_refused(table: CompressedRows) -> None:
    for wrong in (np.empty((3, 5, 6), np.uint8), np.empty((3, 6, 5), np.int8)):
        with pytest.raises(ValueError, match="not"):
            table.read(0, wrong)


@pytest.mark.parametrize("fletcher32", [True, False])
@pytest.mark.parametrize("kind", ["uint8", "int32", "float64"])
@pytest.mark.parametrize("chunk", [1, 16, 64])
def test_types_chunk_lengths_and_checksums(tmp_path: Path, kind: str, chunk: int, fletcher32: bool) -> None:
    values = np.arange(ROWS * 3).reshape(ROWS, 3).astype(kind)
    write(tmp_path / "rows.h5", values, chunk=chunk, fletcher32=fletcher32, **ZSTD)
    mapped, table = opened(tmp_path / "rows.h5")
    with mapped:
        out = np.empty_like(values[5:50])
        table.read(5, out)
    assert np.array_equal(out, values[5:50])


@pytest.mark.parametrize("mask", [1, 2, 3])
def test_filters_left_out_for_a_chunk_are_left_out_in_reading(tmp_path: Path, values: Any, mask: int) -> None:
    path = tmp_path / "rows.h5"
    write(path, values, fletcher32=True, **ZSTD)
    with h5py.File(path, "r+") as file:
        rows = file["rows"]
        _, packed = rows.id.read_direct_chunk((16, 0, 0))
        stored = np.ascontiguousarray(values[16:32]).tobytes() if mask & 1 else packed[:-4]
        if not mask & 2:
            stored += b"\0\0\0\0"  # a checksum, which in-place reading skips
        rows.id.write_direct_chunk((16, 0, 0), stored, filter_mask=mask)
    mapped, table = opened(path)
    with mapped:
        out = np.empty((30, 6, 5), np.uint8)
        table.read(10, out)
    assert np.array_equal(out, values[10:40])


@pytest.mark.parametrize("options", [{}, dict(compression="gzip"), dict(shuffle=True, **ZSTD)])
def test_other_storage_is_refused_with_a_reason(tmp_path: Path, values: Any, options: dict[str, Any]) -> None:
    write(tmp_path / "rows.h5", values, **options)
    with pytest.raises(UserError, match="zstandard"):
        opened(tmp_path / "rows.h5")


def test_a_damaged_or_missing_chunk_is_an_error_not_data(tmp_path: Path, values: Any) -> None:
    path = tmp_path / "rows.h5"
    write(path, values, fletcher32=True, **ZSTD)
    mapped, table = opened(path)
    first, _, _ = table._places[1]
    mapped.close()
    content = bytearray(path.read_bytes())
    content[first] ^= 0xFF  # zstandard's magic number
    path.write_bytes(content)
    mapped, table = opened(path)
    with mapped:
        out = np.empty((10, 6, 5), np.uint8)
        table.read(0, out)  # the chunk before it is whole
        with pytest.raises(UserError, match=r"rows\.h5.* damaged near row 16"):
            table.read(10, out)

    with h5py.File(path, "w") as file:
        file.create_dataset("rows", (ROWS, 6, 5), np.uint8, chunks=(16, 6, 5), **ZSTD)  # allocated, never written
    with pytest.raises(UserError, match="damaged"):
        opened(path)
