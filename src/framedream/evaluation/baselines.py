"""Predictions that need no simulator. One that is worse than their best blend has learnt no dynamics."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from framedream.evaluation.reference import Blend

LAST, MEAN, BLEND = "last frame", "mean frame", "blend"
NAMES = (LAST, MEAN, BLEND)


@dataclass(frozen=True)
class Prediction:
    """What to compare with the real frame: the same image for both errors, except for the blend."""

    whole: Tensor
    moving: Tensor


def baselines(last: Tensor, mean: Tensor, blend: Blend, step: int) -> dict[str, Prediction]:
    """The predictions for step `step` (0 is the first) from the last observed frame (B, 3, H, W)."""
    away = last - mean
    mean_frame = mean.expand_as(last)
    return {
        LAST: Prediction(last, last),
        MEAN: Prediction(mean_frame, mean_frame),
        BLEND: Prediction(mean + blend.whole[step] * away, mean + blend.moving[step] * away),
    }
