"""What a stream meets on its way into a gate: a matrix W, a convolution 𝒞 or two of them 2𝒞 (appendix B.1.2).

The operations of all gates that read a stream are kept in one weight, one after the other along its first dimension,
and computed at once; `copies` is their number. With `own_input` every copy reads its own part of the input instead of
sharing it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from framedream.model.activation import RReLU
from framedream.model.transition_spec import Operation

KERNEL = 3


class Dense(nn.Module):
    """(N, inputs) → (N, copies · outputs) by `copies` matrices."""

    def __init__(self, inputs: int, outputs: int, copies: int = 1, own_input: bool = False) -> None:
        super().__init__()
        self.copies, self.own_input = copies, own_input
        self.fan_in = inputs
        self.weight = nn.Parameter(torch.empty(copies * outputs, inputs))

    def forward(self, x: Tensor) -> Tensor:
        if not self.own_input:
            return functional.linear(x, self.weight)
        parts = x.reshape(x.shape[0], self.copies, self.fan_in).transpose(0, 1)
        matrices = self.weight.reshape(self.copies, -1, self.fan_in).transpose(1, 2)
        return torch.bmm(parts, matrices).transpose(0, 1).flatten(1)


class Convolutions(nn.Module):
    """(N, C·h·w) → (N, copies · C·h·w) by `copies` 3×3 convolutions, or pairs of them with RReLU in between."""

    def __init__(
        self, shape: tuple[int, int, int], pair: bool, random_slopes: bool, copies: int = 1, own_input: bool = False
    ) -> None:
        super().__init__()
        self.channels, self.height, self.width = shape
        self.copies, self.own_input = copies, own_input
        self.fan_in = self.channels * KERNEL**2
        outputs = copies * self.channels
        self.weight = nn.Parameter(torch.empty(outputs, self.channels, KERNEL, KERNEL))
        # The last convolution's bias is the gate's (see `Cell`); only the inner one of a pair has its own.
        self.inner_weight = nn.Parameter(torch.empty_like(self.weight)) if pair else None
        self.inner_bias = nn.Parameter(torch.empty(outputs)) if pair else None
        self.rectifier = RReLU(random_slopes) if pair else None

    def forward(self, x: Tensor) -> Tensor:
        x = x.reshape(x.shape[0], -1, self.height, self.width)
        groups = self.copies if self.own_input else 1
        if self.inner_weight is not None and self.rectifier is not None:
            x = functional.conv2d(x, self.inner_weight, self.inner_bias, padding=KERNEL // 2, groups=groups)
            x, groups = self.rectifier(x), self.copies
        return functional.conv2d(x, self.weight, padding=KERNEL // 2, groups=groups).flatten(1)


StateOperation = Dense | Convolutions


def copy_of(operation: StateOperation, number: int) -> Tensor:
    """One gate's part of the (last) weight, as a view."""
    return operation.weight.chunk(operation.copies)[number]


def state_operation(
    operation: Operation,
    inputs: int,
    outputs: int,
    shape: tuple[int, int, int],
    random_slopes: bool,
    copies: int,
    own_input: bool = False,
) -> StateOperation:
    """The operation a spec names, for a stream that has the shape of the encoding where it is convolutional."""
    if operation == "dense":
        return Dense(inputs, outputs, copies, own_input)
    return Convolutions(shape, operation == "two-convolutions", random_slopes, copies, own_input)
