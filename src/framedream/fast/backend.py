"""What a codec's layer is computed with on a GPU: three operations, and what they are told of rectifiers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from framedream.errors import UserError
from framedream.fast.layers import Layer

NONE, FIXED, RANDOM = 0, 1, 2
"""What a rectifier's slopes are: there is no rectifier; the mean; drawn anew for every number (see `slopes.py`)."""


@dataclass(frozen=True)
class Rectified:
    """The rectifier at one end of an operation: its slopes, and in a backward pass what it had made of the picture."""

    slopes: int = NONE
    seed: Tensor | None = None
    """One int32 on the device: it changes from update to update within one captured graph."""
    salt: int = 0
    """Tells the rectifiers of a simulator apart."""
    first_frame: int = 0
    """Number of the first picture, among all that the rectifier sees in an update."""
    saved: Tensor | None = None
    """What came out of the rectifier, whose sign tells what had gone in."""

    def of(self, first_frame: int, saved: Tensor | None = None) -> Rectified:
        """The same rectifier, looking at other pictures."""
        return replace(self, first_frame=first_frame, saved=saved)


class Backend(Protocol):
    """Fine pictures (N, H+2p, W+2p, C) lie in their borders, coarse ones (N, h, w, C) do or do not."""

    def down(
        self, layer: Layer, fine: Tensor, packed: Tensor, out: Tensor, bias: Tensor | None, rectified: Rectified
    ) -> None:
        """Write into `out`, a coarse picture of any strides, the convolution of `fine`."""

    def up(
        self, layer: Layer, coarse: Tensor, packed: Tensor, out: Tensor, bias: Tensor | None, rectified: Rectified
    ) -> None:
        """Write into `out`, a fine picture without its border, the transposed convolution of `coarse`."""

    def weight_gradient(self, layer: Layer, fine: Tensor, coarse: Tensor) -> Tensor:
        """What both sides make of the weight's gradient, in the form of `Layer.pack_down`."""

    def fresh(self, layer: Layer, count: int, like: Tensor) -> Tensor:
        """Memory for `count` fine pictures that `up` is to fill, whose borders are zero when it has."""

    def channel_sums(self, pictures: Tensor) -> Tensor:
        """Over frames, rows and columns of (N, H, W, C), all in one piece of memory."""

    def pack_down(self, layer: Layer, weight: Tensor, kind: torch.dtype) -> Tensor:
        """The weight as `down` wants it."""

    def pack_up(self, layer: Layer, weight: Tensor, kind: torch.dtype) -> Tensor:
        """The weight as `up` wants it."""


def kernels() -> Backend:
    """Triton's, which are imported where there is a GPU only."""
    try:
        from framedream.fast.on_gpu import Tiled
    except ImportError as error:
        raise UserError(
            "The fast path needs Triton, which comes with PyTorch for GPUs: or say --no-compile."
        ) from error
    return Tiled()
