"""What is known from training data without any simulator: mean and median image, which pixels move, the best blend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from framedream.data.dataset import Split
from framedream.data.reader import SegmentReader
from framedream.data.sampler import evaluation_index
from framedream.evaluation.frames import Colours, as_floats
from framedream.evaluation.moving import MovingRule, choose_rule, moving_pixels
from framedream.evaluation.sequences import Sequences, choose_sequences

IMAGE_FRAMES = 2048
FITTING_SEQUENCES = 128
READ_AT_ONCE = 64


@dataclass(frozen=True)
class Blend:
    """α_t of α·last + (1 − α)·mean with the least error on training data, one per step.

    The error on moving pixels has a best blend of its own, so that the bar is the highest there too.
    """

    whole: tuple[float, ...]
    moving: tuple[float, ...]


@dataclass(frozen=True)
class Reference:
    """Made once per data set and horizon; every checkpoint is measured against the same one."""

    mean: Tensor
    """(3, H, W) in 0…1."""
    median: Tensor
    """Bytes (H, W, 3)."""
    rule: MovingRule
    blend: Blend

    def to(self, device: torch.device) -> Reference:
        """The same reference on another device."""
        return Reference(self.mean.to(device), self.median.to(device), self.rule, self.blend)


def make_reference(
    training: Split, palette: NDArray[np.uint8] | None, warm_up: int, horizon: int, device: torch.device
) -> Reference:
    """The reference of a data set, from its training split alone."""
    colours = Colours.of(palette, device)
    with SegmentReader(training, threads=2, states=False) as reader:
        mean, median = training_images(training, reader, palette)
        images = torch.from_numpy(mean).to(device), torch.from_numpy(median).to(device)
        sequences = choose_sequences(training, FITTING_SEQUENCES, warm_up, horizon)
        rule = choose_rule(_pairs(sequences, reader, colours, device), images[1])
        blend = fit_blend(sequences, reader, colours, *images, rule)
    return Reference(*images, rule, blend)


def training_images(
    training: Split, reader: SegmentReader, palette: NDArray[np.uint8] | None
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Mean (3, H, W) in 0…1 and median (H, W, 3) over frames spread evenly over the split.

    Counting how often a pixel has each byte gives both exactly, in memory that does not grow with the frames. The
    median of an even number is the lower one: a byte that was seen.
    """
    index = evaluation_index(training, IMAGE_FRAMES, 1)
    counts = np.zeros((int(np.prod(reader.frame_shape)), 256), np.uint16)
    place = np.arange(len(counts))
    for start in range(0, len(index), READ_AT_ONCE):
        for (frame,) in reader.read_batch(index[start : start + READ_AT_ONCE]).frames:
            counts[place, frame.reshape(-1)] += 1
    if palette is None:
        found = [_mean_and_median(counts, np.arange(256, dtype=np.uint8), len(index))]
    else:
        found = [_mean_and_median(counts, colour, len(index)) for colour in palette.T]
    shape = (*reader.frame_shape[:2], 3)
    mean, median = (np.stack(images, axis=-1).reshape(shape) for images in zip(*found, strict=True))
    return np.ascontiguousarray(np.moveaxis(mean, -1, 0)), median


def _mean_and_median(
    counts: NDArray[np.uint16], values: NDArray[np.uint8], frames: int
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Per row of `counts`: mean (in 0…1) and lower median of what was counted, byte k standing for `values[k]`."""
    order = values.argsort(kind="stable")
    mean, median = np.empty(len(counts), np.float32), np.empty(len(counts), np.uint8)
    for rows in np.array_split(np.arange(len(counts)), 16):
        mean[rows] = counts[rows].astype(np.float32) @ values.astype(np.float32) / (frames * 255)
        below = counts[rows][:, order].cumsum(1, dtype=np.uint32)
        median[rows] = values[order][(below >= (frames + 1) // 2).argmax(1)]
    return mean, median


def fit_blend(
    sequences: Sequences, reader: SegmentReader, colours: Colours, mean: Tensor, median: Tensor, rule: MovingRule
) -> Blend:
    """argmin over α of Σ‖x_t − α·x_τ − (1 − α)·m‖² = Σ⟨x_t − m, x_τ − m⟩ / Σ‖x_τ − m‖², per step."""
    sums = torch.zeros(2, 2, sequences.horizon, dtype=torch.float64)
    for _, batch in sequences.batches(reader):
        frames = torch.from_numpy(batch.frames).to(mean.device)
        last_colours = colours(frames[:, sequences.warm_up - 1])
        last = as_floats(last_colours) - mean
        last_squared = last.square().sum(1)
        for step in range(sequences.horizon):
            now_colours = colours(frames[:, sequences.warm_up + step])
            products = ((as_floats(now_colours) - mean) * last).sum(1)
            moving = moving_pixels(rule, now_colours, last_colours, median)
            above, below = (
                torch.stack([products, products * moving]),
                torch.stack([last_squared, last_squared * moving]),
            )
            sums[:, :, step] += torch.stack([above, below]).sum((2, 3, 4), dtype=torch.float64).cpu()
    above, below = sums
    # Where the last frame always is the mean frame, every blend is the same one.
    alpha = torch.where(below > 0, above / below, 1.0)
    return Blend(whole=tuple(alpha[0].tolist()), moving=tuple(alpha[1].tolist()))


def _pairs(
    sequences: Sequences, reader: SegmentReader, colours: Colours, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """(frame in the middle of the horizon, last observed frame) of some training sequences."""
    _, batch = next(sequences.batches(reader))
    frames = torch.from_numpy(batch.frames).to(device)
    middle = sequences.warm_up + (sequences.horizon - 1) // 2
    yield colours(frames[:, middle]), colours(frames[:, sequences.warm_up - 1])
