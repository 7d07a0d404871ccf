"""Weight gradients for later: one product over all time steps of an update instead of one per step.

A backward pass through T steps would add to every weight's gradient T times; recurrent weights alone are 23 million
numbers. Here it only notes what met the weight and what came back, and `collect` multiplies once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from framedream.fast.arithmetic import arithmetic_for


class Notes:
    """What met a weight and the gradients that came back, in pairs."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Tensor, Tensor]] = []

    def add(self, inputs: Tensor, gradient: Tensor) -> None:
        self._pairs.append((inputs, gradient))

    def take(self) -> list[tuple[Tensor, Tensor]]:
        """The pairs, as few as their places in memory allow; nothing is noted any more."""
        pairs, self._pairs = self._pairs, []
        merged: list[tuple[Tensor, Tensor]] = []
        for pair in sorted(pairs, key=lambda pair: pair[0].data_ptr()):
            if merged and all(_follows(one, before) for one, before in zip(pair, merged[-1], strict=True)):
                merged[-1] = (_stretched(merged[-1][0], pair[0]), _stretched(merged[-1][1], pair[1]))
            else:
                merged.append(pair)
        return merged

    def joined(self) -> tuple[Tensor, Tensor] | None:
        """All pairs as one, copied together in the order in which they came: sums are the same in every run."""
        pairs, self._pairs = self._pairs, []
        if not pairs:
            return None
        return torch.cat([one for one, _ in pairs]), torch.cat([other for _, other in pairs])


def _follows(one: Tensor, before: Tensor) -> bool:
    """Whether `one` lies right behind `before` in the same memory, row after row."""
    same_memory = one.untyped_storage().data_ptr() == before.untyped_storage().data_ptr()
    end = before.storage_offset() + len(before) * before.stride(0)
    return (
        same_memory
        and one.stride() == before.stride()
        and one.shape[1:] == before.shape[1:]
        and one.storage_offset() == end
    )


def _stretched(before: Tensor, one: Tensor) -> Tensor:
    return before.as_strided((len(before) + len(one), *before.shape[1:]), before.stride())


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, notes: Notes) -> Tensor:
        ctx.x, ctx.weight, ctx.notes = x, weight, notes
        return _times(x, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        ctx.notes.add(ctx.x, gradient)
        return (_times(gradient, ctx.weight.t()) if ctx.needs_input_grad[0] else None), None, None


def _times(x: Tensor, weight: Tensor) -> Tensor:
    """x · weightᵀ."""
    return functional.linear(x, weight) if x.is_cuda else arithmetic_for(x.dtype).multiply(x, weight)


class _Matrices(torch.autograd.Function):
    """Products of the parts of x (copies, N, inputs) with a matrix each (copies, outputs, inputs)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrices: Tensor, notes: Notes) -> Tensor:
        ctx.x, ctx.matrices, ctx.notes = x, matrices, notes
        return torch.bmm(x, matrices.transpose(1, 2))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        ctx.notes.add(ctx.x.transpose(0, 1), gradient.transpose(0, 1))
        return torch.bmm(gradient, ctx.matrices) if ctx.needs_input_grad[0] else None, None, None


def product(left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """leftᵀ · right in float32, or better where they are; a CPU takes longer to find new memory than to multiply."""
    if left.is_cuda and left.dtype == torch.bfloat16:
        return torch.mm(left.t(), right, out_dtype=torch.float32)
    if left.dtype == torch.bfloat16:
        left, right = left.float(), right.float()
    return left.t() @ right if out is None else torch.mm(left.t(), right, out=out)


class LaterDense(nn.Module):
    """A matrix, or several, as `Dense` applies them, whose gradient comes later; `order` rearranges its rows."""

    def __init__(
        self,
        source: Tensor,
        kind: torch.dtype,
        copies: int = 1,
        own_input: bool = False,
        order: Tensor | None = None,
    ) -> None:
        super().__init__()
        self._source = (source,)  # in a tuple, so that it does not become a parameter of ours
        self.copies, self.own_input, self._order = copies, own_input, order
        # On a CPU the source's own memory will do, where it holds the same numbers in the same order.
        self._shared = order is None and kind == source.dtype and not source.is_cuda
        # It asks for a gradient so that autograd comes by, and never gets one.
        self.weight = (source.detach() if self._shared else torch.empty_like(source, dtype=kind)).requires_grad_()
        self._packed: Tensor | None = None
        self._gradient: Tensor | None = None  # memory that the next gradient may have again
        self._notes = Notes()

    def forward(self, x: Tensor) -> Tensor:
        if not self.own_input:
            if x.is_cuda or torch.is_grad_enabled():
                product: Tensor = _Linear.apply(x, self.weight, self._notes)  # type: ignore[no-untyped-call]
                return product
            return self._multiplied(x)
        parts = x.reshape(x.shape[0], self.copies, -1).transpose(0, 1)
        matrices = self.weight.reshape(self.copies, -1, self.weight.shape[1])
        products: Tensor = _Matrices.apply(parts, matrices, self._notes)  # type: ignore[no-untyped-call]
        return products.transpose(0, 1).flatten(1)

    def _multiplied(self, x: Tensor) -> Tensor:
        """On a CPU and without a gradient: by a weight that is packed where it is met more often than it changes."""
        arithmetic = arithmetic_for(x.dtype)
        if self.training:
            return arithmetic.multiply(x, self.weight)
        if self._packed is None:
            self._packed = arithmetic.pack_matrix(self.weight.detach())
        return arithmetic.multiply(x, self._packed)

    def refresh(self) -> None:
        """Take over the source's weights."""
        source = self._source[0].detach()
        if not self._shared:
            self.weight.copy_(source if self._order is None else source[self._order])
        self._packed = None

    def collect(self) -> None:
        """Add what was noted to the gradient of the source."""
        pair = self._notes.joined()
        if pair is None:
            return
        x, gradient = pair
        if self.own_input:
            parts = zip(gradient.unbind(1), x.unbind(1), strict=True)
            found = torch.cat([product(one, other) for one, other in parts])
        elif x.is_cuda or self._source[0].grad is not None:
            found = product(gradient, x)
        else:
            found = self._gradient = product(gradient, x, self._gradient)
        if self._order is not None:
            rows = found
            found = torch.empty_like(rows)
            found[self._order] = rows
        add_gradient(self._source[0], found)


def add_gradient(parameter: Tensor, gradient: Tensor) -> None:
    """Add to what a parameter has, in its own precision."""
    gradient = gradient.to(parameter.dtype).reshape(parameter.shape).contiguous()
    parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
