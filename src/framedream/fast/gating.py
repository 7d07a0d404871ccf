"""The end of a step, gates and cell update, as one kernel forwards and one backwards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from framedream.fast import gate_kernels as kernels
from framedream.model.cell import Gating

BLOCK = 1024
MOST_TERMS = 4
"""Terms that the kernels add up themselves; where there are more, the last ones are added before."""


class FusedGating(Gating):
    """`Gating` on a GPU: terms and h in the working precision, their sums and c in float32."""

    def forward(self, terms: Sequence[Tensor], cell: Tensor, addition: Tensor | None) -> tuple[Tensor, Tensor]:
        own = list(terms[: MOST_TERMS - 1])
        if terms[MOST_TERMS - 1 :]:
            own.append(reduce(torch.add, terms[MOST_TERMS - 1 :]))
        hidden, cell = _Gate.apply(self.hidden, cell, addition, *own)  # type: ignore[no-untyped-call]
        return hidden, cell


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, size: int, cell: Tensor, addition: Tensor | None, *terms: Tensor) -> tuple[Tensor, Tensor]:
        assert all(term.stride(1) == 1 for term in terms)
        cell = cell.contiguous()
        addition = None if addition is None else addition.contiguous()  # it may be one step of a sequence
        hidden, after = torch.empty_like(cell, dtype=terms[0].dtype), torch.empty_like(cell)
        ctx.tensors, ctx.terms = (cell, addition, after), terms
        ctx.options = {
            **_strides(terms),
            "SIZE": size,
            "READERS": terms[0].shape[1] // size,
            "TERMS": len(terms),
            "HAS_ADDITION": addition is not None,
            "BLOCK": BLOCK,
        }
        kernels.gate_kernel[(-(-cell.numel() // BLOCK),)](
            *_filled_up(terms), cell, addition, hidden, after, cell.numel(), **ctx.options
        )
        return hidden, after

    @staticmethod
    def backward(ctx: Any, hidden_gradient: Tensor, cell_gradient: Tensor) -> tuple[Tensor | None, ...]:
        (cell, addition, after), terms = ctx.tensors, ctx.terms
        found = terms[0].new_empty(terms[0].shape)
        before = torch.empty_like(cell)
        added = None if addition is None else torch.empty_like(addition)
        gradients = (hidden_gradient.contiguous(), cell_gradient.contiguous())
        kernels.gate_gradient_kernel[(-(-cell.numel() // BLOCK),)](
            *_filled_up(terms), cell, addition, after, *gradients, found, before, added, cell.numel(), **ctx.options
        )
        return None, before, added, *[found] * len(terms)


def _filled_up(terms: Sequence[Tensor]) -> list[Tensor | None]:
    return [*terms, *[None] * (MOST_TERMS - len(terms))]


def _strides(terms: Sequence[Tensor]) -> dict[str, int]:
    """How far the rows of each term lie apart: 0 for a bias, which all rows share."""
    strides = [*(term.stride(0) for term in terms), *[0] * (MOST_TERMS - len(terms))]
    return {f"stride{number}": stride for number, stride in enumerate(strides)}
