"""The codec's layers as both fast forms see them: sizes, weights packed for products of matrices, borders."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from framedream.model.codec_spec import STRIDE, CodecSpec

COLOURS = 3
FRAME_CHANNELS = 4
"""Frames for kernels carry a fourth channel of zeros: four numbers are read at once where three cannot be."""


@dataclass(frozen=True)
class Layer:
    """One convolution of the encoder and its mirror image in the decoder: the same sizes, other weights."""

    fine_channels: int
    coarse_channels: int
    kernel: int
    padding: tuple[int, int]
    fine: tuple[int, int]
    """Height and width, without the border."""
    coarse: tuple[int, int]
    border: tuple[int, int]
    """Zeros around the fine picture in memory: the padding for kernels, none for libraries, which pad themselves."""

    @property
    def bordered(self) -> tuple[int, int, int]:
        """What the fine picture of one frame takes in memory: rows and columns with the border, channels."""
        (height, width), (rows, columns) = self.fine, self.border
        return height + 2 * rows, width + 2 * columns, self.fine_channels

    @property
    def half(self) -> int:
        """k/2: how many 2×2 cells a kernel covers in each direction."""
        return self.kernel // STRIDE

    def inside(self, bordered: Tensor) -> Tensor:
        """The picture within its border, as a view."""
        (height, width), (rows, columns) = self.fine, self.border
        return bordered[:, rows : rows + height, columns : columns + width]

    def pack_down(self, weight: Tensor) -> Tensor:
        """(coarse, fine, k, k), the paper's form of either convolution → (k, k·fine, coarse)."""
        packed = weight.new_zeros(self.kernel, self.kernel, self.fine_channels, self.coarse_channels)
        packed[:, :, : weight.shape[1]] = weight.permute(2, 3, 1, 0)
        return packed.reshape(self.kernel, -1, self.coarse_channels)

    def pack_up(self, weight: Tensor) -> Tensor:
        """(coarse, fine, k, k) → (k/2, k/2, coarse, 4·fine): what a place adds to the 2×2 cells around it."""
        coarse, fine = weight.shape[:2]
        cells = weight.reshape(coarse, fine, self.half, STRIDE, self.half, STRIDE).permute(2, 4, 0, 3, 5, 1)
        packed = weight.new_zeros(*cells.shape[:5], self.fine_channels)
        packed[..., : weight.shape[1]] = cells
        return packed.reshape(self.half, self.half, self.coarse_channels, -1)

    def unpack_gradient(self, packed: Tensor, inputs: int) -> Tensor:
        """The gradient of a weight, from the form of `pack_down` back to the paper's."""
        return packed.reshape(self.kernel, self.kernel, self.fine_channels, -1)[:, :, :inputs].permute(3, 2, 0, 1)


def layers_of(codec: CodecSpec, planes: int = 0, *, for_kernels: bool = True) -> list[Layer]:
    """The codec's layers from the frame inwards; `planes` more channels where the action is painted on frames."""
    channels = COLOURS + planes
    if for_kernels:
        channels = FRAME_CHANNELS if planes == 0 else -(-channels // 8) * 8
    layers = []
    for number, convolution in enumerate(codec.layers):
        layers.append(
            Layer(
                channels,
                convolution.filters,
                convolution.kernel,
                convolution.padding,
                codec.sizes[number],
                codec.sizes[number + 1],
                convolution.padding if for_kernels else (0, 0),
            )
        )
        channels = convolution.filters
    return layers


def accurate(kind: torch.dtype) -> torch.dtype:
    """What sums of numbers of a kind are kept in, and c."""
    return torch.float64 if kind == torch.float64 else torch.float32
