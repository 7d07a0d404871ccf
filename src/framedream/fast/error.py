"""What happens to whole frames on a GPU: bytes become numbers, and predictions are compared with what was seen."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from framedream.fast import frame_kernels as kernels
from framedream.fast.layers import FRAME_CHANNELS, Layer
from framedream.model.simulator import JUST_VISIBLE

PIXELS = 512
"""Pixels that one program of a kernel looks after."""


def normalise_bytes(layer: Layer, frames: Tensor, palette: Tensor | None, background: Tensor, out: Tensor) -> None:
    """uint8 indices (…,H,W) into the palette, or colours (…,H,W,3) without one → `out` (…, H+2p, W+2p, 4).

    The borders of `out` are zero already.
    """
    height, width = layer.fine
    count = frames.numel() // (3 if palette is None else 1)
    colours = None if palette is None else functional.pad(palette.float() / 255, (0, FRAME_CHANNELS - 3))
    varied = background.shape[1:] != (1, 1)
    lasting = functional.pad(background.permute(1, 2, 0), (0, FRAME_CHANNELS - 3)).contiguous()
    kernels.normalise_kernel[(-(-count // PIXELS),)](
        frames.contiguous(), colours, lasting, out, count, H=height, W=width, PAD_ROWS=layer.padding[0],
        PAD_COLUMNS=layer.padding[1], out_frame=out.stride(-4), background_pixel=FRAME_CHANNELS if varied else 0,
        HAS_PALETTE=palette is not None, BLOCK=PIXELS,
    )  # fmt: skip


def frame_error(predictions: Tensor, frames: Tensor, moving_weight: float) -> Tensor:
    """Σ‖x - x̂‖² over all pixels of frames (B, T, …, 4), those that differ from the background weighted."""
    error: Tensor = _FrameError.apply(predictions, frames, moving_weight)  # type: ignore[no-untyped-call]
    return error


class _FrameError(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, predictions: Tensor, frames: Tensor, moving_weight: float) -> Tensor:
        ctx.tensors, ctx.moving_weight = (predictions, frames), moving_weight
        programs = _programs(predictions)
        sums = torch.empty(programs, device=predictions.device)
        kernels.error_kernel[(*programs,)](sums, *_arguments(predictions, frames, moving_weight))
        return sums.sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        predictions, frames = ctx.tensors
        found = torch.empty_like(predictions)
        kernels.error_gradient_kernel[(*_programs(predictions),)](
            found, gradient, *_arguments(predictions, frames, ctx.moving_weight)
        )
        return found, None, None


def _programs(frames: Tensor) -> tuple[int, int]:
    """One program for each stretch of pixels of each sequence."""
    return -(-frames[0].numel() // (FRAME_CHANNELS * PIXELS)), len(frames)


def _arguments(predictions: Tensor, frames: Tensor, moving_weight: float) -> tuple[Any, ...]:
    assert predictions.is_contiguous() and frames[0].is_contiguous()
    pixels = predictions[0].numel() // FRAME_CHANNELS
    return predictions, frames, pixels, frames.stride(0), moving_weight, JUST_VISIBLE, moving_weight != 1, PIXELS
