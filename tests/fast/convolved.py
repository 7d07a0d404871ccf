"""The three operations of a codec's layer by ordinary convolutions: what the kernels are held against without a GPU.

CPUs have a double of their own, which is faster (see `cpu_simulator.py`).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from framedream.fast.backend import FIXED, NONE, Rectified
from framedream.fast.layers import Layer
from framedream.fast.slopes import hashed_slopes
from framedream.model.activation import MEAN_SLOPE
from framedream.model.codec_spec import STRIDE


class Convolved:
    """Weights stay in the paper's form, with zeros for the channels that only fill up."""

    def pack_down(self, layer: Layer, weight: Tensor, kind: torch.dtype) -> Tensor:
        """(coarse, fine, k, k)."""
        missing = layer.fine_channels - weight.shape[1]
        return functional.pad(weight, (0, 0, 0, 0, 0, missing)).to(kind).contiguous(memory_format=torch.channels_last)

    pack_up = pack_down

    def down(
        self, layer: Layer, fine: Tensor, packed: Tensor, out: Tensor, bias: Tensor | None, rectified: Rectified
    ) -> None:
        bias = None if bias is None else bias.to(fine.dtype)
        coarse = functional.conv2d(fine.permute(0, 3, 1, 2), packed, bias, STRIDE)
        out.copy_(_rectify(coarse.permute(0, 2, 3, 1), rectified))

    def up(
        self, layer: Layer, coarse: Tensor, packed: Tensor, out: Tensor, bias: Tensor | None, rectified: Rectified
    ) -> None:
        (height, width), (rows, columns) = layer.fine, layer.padding
        missing = [
            size + 2 * padding - (STRIDE * (small - 1) + layer.kernel)
            for size, padding, small in zip(layer.fine, layer.padding, layer.coarse, strict=True)
        ]
        bias = None if bias is None else bias.to(coarse.dtype)
        fine = functional.conv_transpose2d(coarse.permute(0, 3, 1, 2), packed, bias, STRIDE, 0, missing)
        inside = fine[:, :, rows : rows + height, columns : columns + width]
        out.copy_(_rectify(inside.permute(0, 2, 3, 1), rectified))

    def weight_gradient(self, layer: Layer, fine: Tensor, coarse: Tensor) -> Tensor:
        weight = fine.new_empty(layer.coarse_channels, layer.fine_channels, layer.kernel, layer.kernel)
        gradient: Tensor = torch.ops.aten.convolution_backward(
            coarse.permute(0, 3, 1, 2), fine.permute(0, 3, 1, 2), weight, None,
            [STRIDE] * 2, [0, 0], [1, 1], False, [0, 0], 1, [False, True, False],
        )[1]  # fmt: skip
        return layer.pack_down(gradient)

    def fresh(self, layer: Layer, count: int, like: Tensor) -> Tensor:
        return like.new_zeros(count, *layer.bordered)

    def channel_sums(self, pictures: Tensor) -> Tensor:
        accurate = torch.float64 if pictures.dtype == torch.float64 else torch.float32
        return pictures.sum((0, 1, 2), dtype=accurate)


def _rectify(picture: Tensor, rectified: Rectified) -> Tensor:
    """(N, H, W, C) through a rectifier, or a gradient back through one."""
    if rectified.slopes == NONE:
        return picture
    before = picture if rectified.saved is None else rectified.saved
    slopes: Tensor | float = MEAN_SLOPE
    if rectified.slopes != FIXED:
        assert rectified.seed is not None
        seed = (int(rectified.seed) ^ rectified.salt) & 0xFFFFFFFF
        frames, height, width, channels = picture.shape
        slopes = hashed_slopes(seed, rectified.first_frame, (frames, height, width, channels), picture.device)
        slopes = slopes.to(picture.dtype)
    return torch.where(before >= 0, picture, picture * slopes)
