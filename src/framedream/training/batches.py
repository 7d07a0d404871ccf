"""Where training batches come from: streamed from the compressed files, or kept on the device (`resident`)."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from framedream.data.dataset import Split
from framedream.data.loader import BatchLoader
from framedream.data.reader import SegmentReader
from framedream.data.sampler import SegmentSampler
from framedream.data.segment import Batch
from framedream.training.specification import RunSpec

READING_THREADS = min(8, os.cpu_count() or 1)
"""One core decompresses 75,000 to 200,000 Atari frames a second: more than a few only wait for the interpreter."""


@dataclass(frozen=True)
class DeviceBatch:
    """A batch on the device that trains: bytes still, nothing normalised."""

    frames: Tensor
    """(B,L,H,W) palette indices or (B,L,H,W,3) colours, uint8."""
    actions: Tensor
    """(B,L), int64."""
    rewards: Tensor
    """(B,L), float32."""
    terminations: Tensor
    """(B,L), bool."""

    def __len__(self) -> int:
        return len(self.frames)


class BatchSource(ABC):
    """A run's batches on its device: the same ones in the same order from every source.

    A source lasts as long as its run; sequences of each length are opened one after another.
    """

    def __init__(self, split: Split, run: RunSpec, device: torch.device) -> None:
        self._split, self._run, self._device = split, run, device

    @abstractmethod
    def open(self, length: int, first: int) -> AbstractContextManager[Iterator[DeviceBatch]]:
        """The batches number `first`, `first + 1`, … of sequences of `length` frames, without end."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files, threads and memory."""

    def _sampler(self, length: int) -> SegmentSampler:
        run, lengths = self._run, self._split.episodes.length
        return SegmentSampler(lengths, length, run.batch_size, run.seed, cross_episodes=run.cross_episodes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class StreamedFrames(BatchSource):
    """Batches decompressed by threads a few ahead of need, and copied to a GPU one ahead."""

    def __init__(self, split: Split, run: RunSpec, device: torch.device) -> None:
        super().__init__(split, run, device)
        self._reader = SegmentReader(split, states=False, cross_episodes=run.cross_episodes)

    @contextmanager
    def open(self, length: int, first: int) -> Iterator[Iterator[DeviceBatch]]:
        on_gpu = self._device.type == "cuda"
        allocate = _pinned if on_gpu else np.empty
        # Two batches more than threads: while one is handed over, no thread waits.
        ahead = READING_THREADS + 2
        with BatchLoader(self._reader, self._sampler(length), first, READING_THREADS, ahead, allocate) as loader:
            yield _copied_ahead(loader, self._device) if on_gpu else (_copy(batch, self._device) for batch in loader)

    def close(self) -> None:
        self._reader.close()


def to_device(array: NDArray[Any], device: torch.device) -> Tensor:
    """The array on the device: a GPU copies it after what it was told before, and nobody waits for that.

    Pinned memory is what makes this safe and fast: PyTorch does not give it to anyone else before it is copied.
    """
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def _pinned(shape: tuple[int, ...], dtype: Any) -> NDArray[np.uint8]:
    """Memory that a GPU reads while the processor goes on."""
    array: NDArray[np.uint8] = torch.empty(shape, dtype=torch.uint8, pin_memory=True).numpy()
    return array


def _copy(batch: Batch, device: torch.device) -> DeviceBatch:
    columns = (batch.frames, batch.actions, batch.rewards, batch.terminations)
    return DeviceBatch(*(to_device(column, device) for column in columns))


@dataclass(frozen=True)
class _Copying:
    """A batch on its way to a GPU."""

    source: Batch
    """Kept until it is copied: nothing else may be written there."""
    batch: DeviceBatch
    copied: torch.cuda.Event

    def arrived(self, device: torch.device) -> DeviceBatch:
        """The batch, once it is there."""
        self.copied.synchronize()
        for tensor in vars(self.batch).values():
            # It was allocated for the stream that copies, and must not go back there while it is trained on.
            tensor.record_stream(torch.cuda.current_stream(device))
        return self.batch


def _copied_ahead(batches: Iterable[Batch], device: torch.device) -> Iterator[DeviceBatch]:
    """Each batch is copied while the one before it is trained on; an error in reading it comes one batch early."""
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    ahead: _Copying | None = None
    for source in batches:
        # The copy waits for all training asked for so far. So the processor, which waits for the copy, can never be
        # more than one batch ahead of the GPU, and the memory of older batches is free again.
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            copying = _Copying(source, _copy(source, device), stream.record_event())
        if ahead is not None:
            yield ahead.arrived(device)
        ahead = copying
