"""Numbers that say how far a predicted frame is from the real one, per sequence, before any averaging."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


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
    """SSIM per frame of (B, 3, H, W) in 0…1, clamped as a screen would show them."""
    from torchmetrics.functional.image import structural_similarity_index_measure

    similarity = structural_similarity_index_measure(
        predicted.clamp(0, 1), real.clamp(0, 1), data_range=1.0, reduction="none"
    )
    assert isinstance(similarity, Tensor)
    return similarity
