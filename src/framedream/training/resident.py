"""A whole training split on the device, as bytes: a batch is then a gather, and the files are read once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from framedream.data.dataset import Split
from framedream.data.episode import NO_ACTION
from framedream.data.manifest import Manifest
from framedream.data.reader import NO_OPERATION, SegmentReader
from framedream.data.sampler import AdmissibleStarts
from framedream.errors import UserError
from framedream.training.batches import READING_THREADS, BatchSource, DeviceBatch, StreamedFrames, to_device
from framedream.training.specification import RunSpec

Residence = Literal["auto", "always", "never"]
OnProgress = Callable[[int, int], None]
"""Told the frames read so far and the frames there are; what it raises ends the reading."""

RESIDENT_SHARE = 0.5
"""How much of a GPU's free memory a split may fill. The other half is for what training adds: activations, which
nobody knows before the first update, the memory of captured graphs, and measurements in between."""
SEGMENT_FRAMES = 64
"""Frames that one thread reads at a stretch: so many that few of the chunks at its ends are decompressed twice."""
PIECE_BYTES = 128 * 2**20
"""Memory of the host that frames pass through on their way to the device."""


def choose_source(
    split: Split,
    run: RunSpec,
    device: torch.device,
    *,
    residence: Residence = "auto",
    on_progress: OnProgress = lambda read, frames: None,
) -> BatchSource:
    """Frames that stay on a GPU where they fit, streamed ones otherwise; `residence` decides it by hand.

    On a processor the frames would only take memory away from the files' cache.
    """
    if residence == "always" or (residence == "auto" and device.type == "cuda" and _fits(split, device)):
        return ResidentFrames(split, run, device, on_progress)
    return StreamedFrames(split, run, device)


def _fits(split: Split, device: torch.device) -> bool:
    free, _ = torch.cuda.mem_get_info(device)
    return resident_bytes(split) <= RESIDENT_SHARE * free


def resident_bytes(split: Split) -> int:
    """The memory that a split takes on the device."""
    frame = math.prod(Manifest.read(split.folder).recording.image_shape)
    action, reward, termination = 8, 4, 1
    return split.frames * (frame + action + reward + termination)


class ResidentFrames(BatchSource):
    """Batches gathered from a split that lies on the device; making this reads, or replays, all of it once."""

    def __init__(
        self,
        split: Split,
        run: RunSpec,
        device: torch.device,
        on_progress: OnProgress = lambda read, frames: None,
    ) -> None:
        super().__init__(split, run, device)
        self._columns = read_whole(split, device, on_progress)

    @contextmanager
    def open(self, length: int, first: int) -> Iterator[Iterator[DeviceBatch]]:
        sampler = self._sampler(length)
        steps = torch.arange(length, device=self._device)
        # Only a few numbers leave the host; the GPU counts on from them.
        begins = (to_device(sampler.first_frames(number), self._device) for number in count(first))
        yield (gather(self._columns, begin[:, None] + steps) for begin in begins)

    def close(self) -> None:
        self._columns = ()


def gather(columns: tuple[Tensor, ...], rows: Tensor) -> DeviceBatch:
    """The batch of these rows (B, L) of a split."""
    frames, actions, rewards, terminations = (column[rows] for column in columns)
    # As in SegmentReader: only the last action of a segment may be "none"; within it, that is a joint of episodes.
    inner = actions[:, :-1]
    inner.masked_fill_(inner == NO_ACTION, NO_OPERATION)
    return DeviceBatch(frames, actions, rewards, terminations)


def read_whole(split: Split, device: torch.device, on_progress: OnProgress) -> tuple[Tensor, ...]:
    """The frames, actions, rewards and terminations of a split on the device, its episodes one after another."""
    frame_count, on_gpu = split.frames, device.type == "cuda"
    length = min(SEGMENT_FRAMES, frame_count)
    # Across episodes, a segment's number is that of its first frame. The last one is moved back until it is whole:
    # what it shares with the one before is read twice.
    segments = AdmissibleStarts(split.episodes.length, length, cross_episodes=True)
    starts = np.minimum(np.arange(0, frame_count, length), frame_count - length)
    actions = np.empty(frame_count, np.int64)
    rewards = np.empty(frame_count, np.float32)
    terminations = np.empty(frame_count, np.bool_)
    with SegmentReader(split, READING_THREADS, states=False, cross_episodes=True) as reader:
        frames = _room_for_frames(split, (frame_count, *reader.frame_shape), device)
        at_once = min(len(starts), max(1, PIECE_BYTES // (length * math.prod(reader.frame_shape))))
        piece = torch.empty((at_once, length, *reader.frame_shape), dtype=torch.uint8, pin_memory=on_gpu)
        for number in range(0, len(starts), at_once):
            begins = starts[number : number + at_once]
            batch = reader.read_batch(segments.segments(begins), piece[: len(begins)].numpy())
            rows = begins[:, None] + np.arange(length)
            actions[rows], rewards[rows], terminations[rows] = batch.actions, batch.rewards, batch.terminations
            for begin, segment in zip(begins.tolist(), piece, strict=False):
                frames[begin : begin + length] = segment
            on_progress(int(begins[-1]) + length, frame_count)
    # Reading across episodes has put an action where there is none.
    actions[np.cumsum(split.episodes.length) - 1] = NO_ACTION
    return frames, *(to_device(column, device) for column in (actions, rewards, terminations))


def _room_for_frames(split: Split, shape: tuple[int, ...], device: torch.device) -> Tensor:
    try:
        return torch.empty(shape, dtype=torch.uint8, device=device)
    except torch.OutOfMemoryError:
        raise UserError(
            f"The training frames of {split.folder} take {math.prod(shape) / 1e9:.1f} GB, more than is free on the "
            "GPU: let them be streamed instead."
        ) from None
