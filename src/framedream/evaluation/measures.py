"""Numbers that say how far a predicted frame is from the real one, per sequence, before any averaging."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

WINDOW_REACH, WINDOW_WIDTH = 5, 1.5
LUMINANCE_FLOOR, CONTRAST_FLOOR = 0.01**2, 0.03**2


def prediction_error(predicted: Tensor, real: Tensor) -> Tensor:
    """‖x − x̂‖² / 3 per frame of (B, 3, H, W), on frames /255, unclamped (the paper's footnote on its Fig. 2)."""
    return (predicted - real).square().sum((1, 2, 3), dtype=torch.float64) / 3


def moving_error(predicted: Tensor, real: Tensor, moving: Tensor) -> Tensor:
    """The part of the prediction error that lies on the mask (B, H, W)."""
    per_pixel = (predicted - real).square().sum(1)
    return torch.where(moving, per_pixel, 0).sum((1, 2), dtype=torch.float64) / 3


def peak_signal_to_noise(pixel_error: NDArray[np.float64]) -> NDArray[np.float64]:
    """PSNR in dB of a mean squared error per pixel and channel, with a peak of 1."""
    with np.errstate(divide="ignore"):
        return -10 * np.log10(pixel_error)


def structural_similarity(predicted: Tensor, real: Tensor) -> Tensor:
    """SSIM (Wang et al. 2004) per frame of (B, 3, H, W) in 0…1, clamped as a screen would show them.

    Gaussian windows of 11 pixels, frames mirrored beyond their edges, the mean over pixels and channels.
    """
    predicted, real = predicted.clamp(0, 1), real.clamp(0, 1)
    rows, columns = (_blur(size).to(real) for size in real.shape[-2:])

    def local_mean(values: Tensor) -> Tensor:
        # Two products with band matrices: many times as fast as a convolution per channel.
        return rows @ values @ columns.T

    mean_predicted, mean_real = local_mean(predicted), local_mean(real)
    squares, product = mean_predicted.square() + mean_real.square(), mean_predicted * mean_real
    variances = local_mean(predicted.square() + real.square()) - squares
    covariance = local_mean(predicted * real) - product
    luminance = (2 * product + LUMINANCE_FLOOR) / (squares + LUMINANCE_FLOOR)
    structure = (2 * covariance + CONTRAST_FLOOR) / (variances + CONTRAST_FLOOR)
    return (luminance * structure).mean((1, 2, 3))


@cache
def _blur(size: int) -> Tensor:
    """The matrix that replaces each of `size` pixels in a line by the Gaussian mean around it."""
    offsets = torch.arange(-WINDOW_REACH, WINDOW_REACH + 1)
    weights = torch.exp(-offsets.square() / (2 * WINDOW_WIDTH**2))
    period = 2 * (size - 1)
    places = (torch.arange(size)[:, None] + offsets) % period
    mirrored = torch.minimum(places, period - places)
    return torch.zeros(size, size).scatter_add_(1, mirrored, (weights / weights.sum()).expand(size, -1))
