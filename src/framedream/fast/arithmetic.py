"""What a CPU computes convolutions and products with: oneDNN where it knows how, else PyTorch's ordinary functions.

oneDNN is called the way PyTorch's own compiler calls it: with weights packed once, with the rectifier as a part of its
convolution, and on pictures that lie channels last in memory. None of this has gradients of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from framedream.model.codec_spec import STRIDE

Sizes = tuple[int, int]


@dataclass(frozen=True)
class Manner:
    """How a convolution goes over its pictures."""

    inputs: tuple[int, int, int]
    """Channels, height and width."""
    stride: int
    padding: Sizes
    groups: int = 1


class Arithmetic(Protocol):
    """Pictures are (N, H, W, C), weights of convolutions (outputs, inputs, k, k), of products (outputs, inputs)."""

    def pack_convolution(self, weight: Tensor, manner: Manner) -> Tensor:
        """The weight as `convolve` wants it."""

    def convolve(
        self, picture: Tensor, packed: Tensor, bias: Tensor | None, manner: Manner, slope: float | None
    ) -> Tensor:
        """The convolution, and a leaky rectifier of that slope after it."""

    def pack_matrix(self, weight: Tensor) -> Tensor:
        """The weight as `multiply` likes it best; it takes any."""

    def multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        """x · weightᵀ."""


class OneDnn:
    """float32 and bfloat16 on x86 processors."""

    def pack_convolution(self, weight: Tensor, manner: Manner) -> Tensor:
        packed: Tensor = torch.ops.mkldnn._reorder_convolution_weight(
            weight.contiguous(), manner.padding, [manner.stride] * 2, [1, 1], manner.groups, [1, *manner.inputs]
        )
        return packed

    def convolve(
        self, picture: Tensor, packed: Tensor, bias: Tensor | None, manner: Manner, slope: float | None
    ) -> Tensor:
        how = (manner.padding, [manner.stride] * 2, [1, 1], manner.groups)
        rectifier = ("none", [], "") if slope is None else ("leaky_relu", [slope], "")
        made: Tensor = torch.ops.mkldnn._convolution_pointwise(
            picture.permute(0, 3, 1, 2), packed, bias, *how, *rectifier
        )
        return made.permute(0, 2, 3, 1)

    def pack_matrix(self, weight: Tensor) -> Tensor:
        packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        return packed

    def multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        made: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")
        return made


class Ordinary:
    """Any numbers on any machine."""

    def pack_convolution(self, weight: Tensor, manner: Manner) -> Tensor:
        return weight.contiguous(memory_format=torch.channels_last)

    def convolve(
        self, picture: Tensor, packed: Tensor, bias: Tensor | None, manner: Manner, slope: float | None
    ) -> Tensor:
        channels_first = picture.permute(0, 3, 1, 2)
        made = functional.conv2d(channels_first, packed, bias, manner.stride, manner.padding, groups=manner.groups)
        if slope is not None:
            made = functional.leaky_relu(made, slope)
        return made.permute(0, 2, 3, 1)

    def pack_matrix(self, weight: Tensor) -> Tensor:
        return weight

    def multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        return functional.linear(x, weight)


ONE_DNN, ORDINARY = OneDnn(), Ordinary()


@cache
def arithmetic_for(kind: torch.dtype) -> Arithmetic:
    """The best that this machine's CPU has for such numbers."""
    known = kind == torch.float32 or (kind == torch.bfloat16 and has_bfloat16())
    return ONE_DNN if known and has_one_dnn() else ORDINARY


def has_one_dnn() -> bool:
    """Whether oneDNN is there, with the vector instructions that make it worth calling."""
    there: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return there and torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


def has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 numbers itself; without that they are slower than float32."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def convolution_gradient(fine: Tensor, coarse: Tensor, weight: Tensor, padding: Sizes) -> Tensor:
    """What a fine and a coarse picture (N, H, W, C) on both sides of a layer make of its weight's gradient."""
    found: Tensor = torch.ops.aten.convolution_backward(
        coarse.permute(0, 3, 1, 2), fine.permute(0, 3, 1, 2), weight, None,
        [STRIDE] * 2, list(padding), [1, 1], False, [0, 0], 1, [False, True, False],
    )[1]  # fmt: skip
    return found
