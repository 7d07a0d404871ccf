"""3×3 convolutions of the state whose weights' gradients come later (see `later.py`)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from framedream.fast.arithmetic import Arithmetic, Manner, arithmetic_for
from framedream.fast.later import Notes, add_gradient
from framedream.model.activation import MEAN_SLOPE, RReLU
from framedream.model.operations import KERNEL, Convolutions


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, groups: int, notes: Notes) -> Tensor:
        ctx.x, ctx.weight, ctx.groups, ctx.notes = x, weight, groups, notes
        return functional.conv2d(x, weight, padding=KERNEL // 2, groups=groups)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, None]:
        ctx.notes.add(ctx.x, gradient)
        if not ctx.needs_input_grad[0]:
            return None, None, None, None
        return _convolution_gradients(gradient, ctx.x, ctx.weight, ctx.groups, (True, False))[0], None, None, None


def _convolution_gradients(
    gradient: Tensor, x: Tensor, weight: Tensor, groups: int, wanted: tuple[bool, bool]
) -> tuple[Tensor, Tensor]:
    inputs, weights, _ = torch.ops.aten.convolution_backward(
        gradient, x, weight, None, [1, 1], [KERNEL // 2] * 2, [1, 1], False, [0, 0], groups, [*wanted, False]
    )
    return inputs, weights


class LaterConvolutions(nn.Module):
    """`Convolutions` whose weights' gradients come later; on a GPU pairs of them are one dense convolution each.

    Grouped convolutions of 32 channels leave matrix units idle: with zeros between the groups, one convolution of all
    of them multiplies several times as much and is faster.
    """

    def __init__(self, source: Convolutions, kind: torch.dtype, spread: bool) -> None:
        super().__init__()
        self._source = (source,)
        self.channels, self.height, self.width = source.channels, source.height, source.width
        self.copies, self.own_input, self.spread = source.copies, source.own_input, spread
        # Of its own: whether it is training is not the source's affair.
        self.rectifier = None if source.rectifier is None else RReLU(source.rectifier.random)
        self._inner_groups = self.copies if self.own_input else 1
        self._groups = self.copies if self.own_input or source.inner_weight is not None else 1
        self.weight = self._empty(source.weight, kind, self._groups)
        inner = source.inner_weight
        self.inner_weight = None if inner is None else self._empty(inner, kind, self._inner_groups)
        self.inner_bias = None if source.inner_bias is None else nn.Parameter(source.inner_bias.detach().to(kind))
        self._notes, self._inner_notes = Notes(), Notes()
        self._packed: list[tuple[Tensor, Manner]] = []

    def forward(self, x: Tensor) -> Tensor:
        x = x.reshape(x.shape[0], -1, self.height, self.width)
        if not (x.is_cuda or self.training or torch.is_grad_enabled()):
            return self._convolved_packed(x.permute(0, 2, 3, 1))
        if self.inner_weight is not None and self.inner_bias is not None and self.rectifier is not None:
            x = self._convolved(x, self.inner_weight, self._inner_groups, self._inner_notes)
            x = self.rectifier(x + self.inner_bias[:, None, None])
        return self._convolved(x, self.weight, self._groups, self._notes).flatten(1)

    def _convolved(self, x: Tensor, weight: Tensor, groups: int, notes: Notes) -> Tensor:
        x = x.contiguous(memory_format=torch.channels_last)
        groups = 1 if self.spread else groups
        convolved: Tensor = _Convolution.apply(x, weight, groups, notes)  # type: ignore[no-untyped-call]
        return convolved

    def _convolved_packed(self, picture: Tensor) -> Tensor:
        """On a CPU and without a gradient: rectifiers are parts of convolutions, and weights are packed."""
        arithmetic = arithmetic_for(picture.dtype)
        if not self._packed:
            # In one piece, because another thread may be about to do the same.
            self._packed = self._pack(arithmetic)
        if self.inner_weight is not None:
            packed, manner = self._packed[0]
            picture = arithmetic.convolve(picture, packed, self.inner_bias, manner, MEAN_SLOPE)
        packed, manner = self._packed[-1]
        picture = arithmetic.convolve(picture, packed, None, manner, None)
        return picture.permute(0, 3, 1, 2).flatten(1)

    def _pack(self, arithmetic: Arithmetic) -> list[tuple[Tensor, Manner]]:
        packed = []
        for weight, groups in ((self.inner_weight, self._inner_groups), (self.weight, self._groups)):
            if weight is not None:
                inputs = (weight.shape[1] * groups, self.height, self.width)
                manner = Manner(inputs, 1, (KERNEL // 2, KERNEL // 2), groups)
                packed.append((arithmetic.pack_convolution(weight.detach(), manner), manner))
        return packed

    def refresh(self) -> None:
        source = self._source[0]
        self._packed = []
        self._fill(self.weight, source.weight, self._groups)
        if self.inner_weight is not None and source.inner_weight is not None:
            self._fill(self.inner_weight, source.inner_weight, self._inner_groups)
            assert self.inner_bias is not None and source.inner_bias is not None
            self.inner_bias.data.copy_(source.inner_bias)

    def collect(self) -> None:
        source = self._source[0]
        self._collect(self._notes, self.weight, source.weight, self._groups)
        if self.inner_weight is not None and source.inner_weight is not None:
            self._collect(self._inner_notes, self.inner_weight, source.inner_weight, self._inner_groups)
            assert self.inner_bias is not None and source.inner_bias is not None
            if self.inner_bias.grad is not None:
                add_gradient(source.inner_bias, self.inner_bias.grad)
                self.inner_bias.grad = None

    def _empty(self, source: Tensor, kind: torch.dtype, groups: int) -> Tensor:
        inputs = source.shape[1] * (groups if self.spread else 1)
        empty = torch.zeros(source.shape[0], inputs, KERNEL, KERNEL, dtype=kind, device=source.device)
        return empty.contiguous(memory_format=torch.channels_last).requires_grad_()

    def _fill(self, weight: Tensor, source: Tensor, groups: int) -> None:
        for mine, theirs in zip(self._blocks(weight, groups), source.chunk(groups), strict=True):
            mine.copy_(theirs)

    def _blocks(self, weight: Tensor, groups: int) -> list[Tensor]:
        """The parts of a weight that belong to one group each."""
        if not self.spread:
            return list(weight.chunk(groups))
        outputs, inputs = weight.shape[0] // groups, weight.shape[1] // groups
        return [
            weight[group * outputs : (group + 1) * outputs, group * inputs : (group + 1) * inputs]
            for group in range(groups)
        ]

    def _collect(self, notes: Notes, weight: Tensor, source: nn.Parameter, groups: int) -> None:
        pair = notes.joined()
        if pair is None:
            return
        x, gradient = pair
        found = _convolution_gradients(gradient, x, weight, 1 if self.spread else groups, (False, True))[1]
        add_gradient(source, torch.cat(self._blocks(found, groups)))
