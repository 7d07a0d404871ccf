"""The loader gives the sampler's batches in order, a bounded number ahead, and leaves nothing behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from counting_data import assert_counts, make_data_set

from framedream.data.dataset import Split
from framedream.data.loader import BatchLoader
from framedream.data.reader import SegmentReader
from framedream.data.sampler import SegmentSampler
from framedream.data.segment import SegmentId
from framedream.errors import UserError


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    return make_data_set(tmp_path_factory.mktemp("counting") / "data", frames_per_part=60).split("train")


@pytest.fixture
def reader(split: Split) -> Iterator[SegmentReader]:
    with SegmentReader(split) as reader:
        yield reader


@pytest.fixture
def sampler(split: Split) -> SegmentSampler:
    return SegmentSampler(split.episodes.length, 10, 4, seed=1)


def loader_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("batch-loader")]


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_come_in_order_from_any_first_step(split: Split, reader: Any, sampler: Any, threads: int) -> None:
    with BatchLoader(reader, sampler, first_step=7, threads=threads, prefetch=3) as loader:
        for step, batch in zip(range(7, 27), loader, strict=False):
            assert batch.ids == tuple(sampler.batch(step))
            for segment, frames, actions in zip(batch.ids, batch.frames, batch.actions, strict=True):
                assert_counts(frames, actions, int(split.episodes.seed[segment.episode]), segment.start)
    assert not loader_threads()


def test_no_more_than_the_prefetched_batches_are_read_ahead(reader: SegmentReader, sampler: SegmentSampler) -> None:
    handed_out: list[Any] = []

    def allocate(shape: tuple[int, ...], kind: Any) -> Any:
        handed_out.append(np.empty(shape, kind))
        return handed_out[-1]

    def wait_for(count: int) -> None:
        limit = time.monotonic() + 10
        while len(handed_out) < count and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(0.1)  # long enough for one more to come, if there were one
        assert len(handed_out) == count

    with BatchLoader(reader, sampler, threads=2, prefetch=3, allocate=allocate) as loader:
        wait_for(3)
        first = next(loader)
        assert any(first.frames is place for place in handed_out)
        wait_for(4)
        next(loader)
        wait_for(5)


def test_an_error_in_a_thread_reaches_whoever_waits_for_the_batch(tmp_path: Path) -> None:
    split = make_data_set(tmp_path / "data").split("train")
    sampler = SegmentSampler(split.episodes.length, 10, 4, seed=1)
    with h5py.File(split.paths[0]) as file:
        place = file["frames"].id.get_chunk_info(3).byte_offset
    content = bytearray(split.paths[0].read_bytes())
    content[place] ^= 0xFF  # zstandard's magic number
    split.paths[0].write_bytes(content)

    def touches_damage(segment: SegmentId) -> bool:
        first = int(split.episodes.start[segment.episode]) + segment.start
        return first < 64 and first + segment.length > 48

    bad = next(step for step in count() if any(map(touches_damage, sampler.batch(step))))
    with SegmentReader(split) as reader, BatchLoader(reader, sampler, threads=2, prefetch=4) as loader:
        for _ in range(bad):
            next(loader)
        with pytest.raises(UserError, match="damaged near row 48"):
            next(loader)
    assert not loader_threads()


def test_memory_is_allocated_by_whoever_asks_for_batches(reader: SegmentReader, sampler: SegmentSampler) -> None:
    threads = set()

    def allocate(shape: tuple[int, ...], kind: Any) -> Any:
        threads.add(threading.current_thread())
        return np.empty(shape, kind)

    with BatchLoader(reader, sampler, threads=2, prefetch=3, allocate=allocate) as loader:
        for _ in zip(loader, range(5), strict=False):
            pass
    assert threads == {threading.current_thread()}


def test_closing_ends_the_batches_and_the_threads(reader: SegmentReader, sampler: SegmentSampler) -> None:
    loader = BatchLoader(reader, sampler, threads=4, prefetch=50)
    next(loader)
    loader.close()
    assert not loader_threads()
    with pytest.raises(StopIteration):
        next(loader)
    loader.close()


def test_impossible_loaders_are_refused(reader: SegmentReader, sampler: SegmentSampler) -> None:
    with pytest.raises(ValueError, match="at least one thread"):
        BatchLoader(reader, sampler, threads=0)


def test_a_killed_consumer_does_not_hang(tmp_path: Path, reader: SegmentReader, sampler: SegmentSampler) -> None:
    with pytest.raises(KeyboardInterrupt), BatchLoader(reader, sampler) as loader:
        next(loader)
        raise KeyboardInterrupt
    assert not loader_threads()
