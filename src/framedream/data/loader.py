"""Batches ahead of time: threads read the next few while the model works on the present one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from framedream.data.reader import SegmentReader
from framedream.data.sampler import SegmentSampler
from framedream.data.segment import Batch

Allocate = Callable[[tuple[int, ...], Any], NDArray[np.uint8]]


class BatchLoader:
    """Endless batches `first_step`, `first_step + 1`, … in order.

    At most `prefetch` batches exist before they are asked for, so memory is bounded. `allocate(shape, dtype)` gives
    the array that a batch's frames are written to (pinned memory, for example). It is called by whoever asks for
    batches, never from the threads, which must leave a GPU alone: work of another thread spoils the capture of a CUDA
    graph. An error while reading is raised by the `next` that would have returned that batch.
    """

    def __init__(
        self,
        reader: SegmentReader,
        sampler: SegmentSampler,
        first_step: int = 0,
        threads: int = 2,
        prefetch: int = 4,
        allocate: Allocate = np.empty,
    ) -> None:
        if threads < 1 or prefetch < 1:
            raise ValueError(f"a loader needs at least one thread and one batch ahead, not {threads} and {prefetch}")
        self._reader = reader
        self._sampler = sampler
        self._allocate = allocate
        self._next_step = first_step
        self._pool = ThreadPoolExecutor(threads, "batch-loader")
        self._ahead: deque[Future[Batch]] = deque()
        for _ in range(prefetch):
            self._read_one_more()

    def _read_one_more(self) -> None:
        shape = (self._sampler.batch_size, self._sampler.starts.segment_length, *self._reader.frame_shape)
        self._ahead.append(self._pool.submit(self._read, self._next_step, self._allocate(shape, np.uint8)))
        self._next_step += 1

    def _read(self, step: int, frames_out: NDArray[np.uint8]) -> Batch:
        return self._reader.read_batch(self._sampler.batch(step), frames_out)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Batch:
        if not self._ahead:
            raise StopIteration
        batch = self._ahead.popleft().result()
        self._read_one_more()
        return batch

    def close(self) -> None:
        """Drop what was read ahead and wait until every thread has ended."""
        self._ahead.clear()
        self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
