"""What turns bytes into the network's numbers: the background that is subtracted, and the palette (appendix A)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from framedream.errors import UserError

FRAMES_MEASURED = 2048  # "over an initial set of 2048 frames only"
ROWS_AT_ONCE = 8

Background = Literal["channel-mean", "mean-image", "median-image"]


@dataclass(frozen=True)
class FrameStatistics:
    """Frames become `x / 255 - background`; frames of indices are first looked up in the palette."""

    background: Tensor  # float32, (3,1,1) or (3,H,W)
    palette: Tensor | None  # uint8 (256,3) when the data's frames are indices

    def __post_init__(self) -> None:
        if self.background.ndim != 3 or self.background.shape[0] != 3:
            raise ValueError(f"the background must be (3,1,1) or (3,H,W), not {tuple(self.background.shape)}")
        if self.palette is not None and (self.palette.shape != (256, 3) or self.palette.dtype != torch.uint8):
            raise ValueError("the palette must be uint8 (256,3)")

    @classmethod
    def measured(
        cls, frames: np.ndarray, palette: np.ndarray | None = None, background: Background = "channel-mean"
    ) -> FrameStatistics:
        """The statistics of the first 2,048 of some frames, uint8 (N,H,W) indices or (N,H,W,3) RGB.

        The paper subtracts each channel's mean; a mean or median image lets training start from the background.
        """
        if len(frames) == 0:
            raise UserError("The frames' statistics need at least one frame; give the data set more frames.")
        frames = frames[:FRAMES_MEASURED]
        reduce = np.median if background == "median-image" else np.mean
        strips = []
        for top in range(0, frames.shape[1], ROWS_AT_ONCE):
            strip = frames[:, top : top + ROWS_AT_ONCE]
            strips.append(reduce(strip if palette is None else palette[strip], axis=0))
        image = np.concatenate(strips) / 255
        if background == "channel-mean":
            image = image.mean(axis=(0, 1), keepdims=True)
        tensor = torch.from_numpy(image.astype(np.float32)).permute(2, 0, 1).contiguous()
        return cls(tensor, None if palette is None else torch.from_numpy(np.array(palette, np.uint8)))
