"""The end of a step, gates and cell update, as one kernel forwards and one backwards."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from framedream.fast import kernels
from framedream.model.cell import Gating

BLOCK = 1024


class FusedGating(Gating):
    """`Gating` on a GPU: sums and h in the working precision, c in float32."""

    def forward(self, sums: Tensor, cell: Tensor, addition: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden, cell = _Gate.apply(sums, cell, addition, self.hidden)  # type: ignore[no-untyped-call]
        return hidden, cell


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sums: Tensor, cell: Tensor, addition: Tensor | None, size: int) -> tuple[Tensor, Tensor]:
        sums, cell = sums.contiguous(), cell.contiguous()
        addition = None if addition is None else addition.contiguous()  # it may be one step of a sequence
        hidden, after = torch.empty_like(cell, dtype=sums.dtype), torch.empty_like(cell)
        kernels.gate_kernel[(-(-cell.numel() // BLOCK),)](
            sums, cell, addition, hidden, after, cell.numel(), SIZE=size, READERS=sums.shape[1] // size,
            HAS_ADDITION=addition is not None, BLOCK=BLOCK,
        )  # fmt: skip
        ctx.tensors, ctx.size = (sums, cell, addition, after), size
        return hidden, after

    @staticmethod
    def backward(ctx: Any, hidden_gradient: Tensor, cell_gradient: Tensor) -> tuple[Tensor | None, ...]:
        sums, cell, addition, after = ctx.tensors
        found, before = torch.empty_like(sums), torch.empty_like(cell)
        added = None if addition is None else torch.empty_like(addition)
        kernels.gate_gradient_kernel[(-(-cell.numel() // BLOCK),)](
            sums, cell, addition, after, hidden_gradient.contiguous(), cell_gradient.contiguous(),
            found, before, added, cell.numel(), SIZE=ctx.size, READERS=sums.shape[1] // ctx.size,
            HAS_ADDITION=addition is not None, BLOCK=BLOCK,
        )  # fmt: skip
        return found, before, added, None
