"""The decoder's fully-connected layer for pictures whose channels come last."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from framedream.fast.later import LaterDense, add_gradient
from framedream.fast.layers import Layer


class Expansion(nn.Module):
    """The decoder's fully-connected layer, whose outputs come channels last: its rows are in another order."""

    order: Tensor

    def __init__(self, source: nn.Linear, kind: torch.dtype, layer: Layer) -> None:
        super().__init__()
        self._source = (source,)
        self._shape = (*layer.coarse, layer.coarse_channels)
        numbers = torch.arange(source.out_features, device=source.weight.device)
        order = numbers.reshape(layer.coarse_channels, *layer.coarse).permute(1, 2, 0).flatten()
        self.register_buffer("order", order, persistent=False)
        self.later = LaterDense(source.weight, kind, order=order)
        self.bias = nn.Parameter(source.bias.detach()[order].to(kind))

    def forward(self, x: Tensor) -> Tensor:
        start: Tensor = self.later(x) + self.bias
        return start.reshape(-1, *self._shape)

    def refresh(self) -> None:
        self.later.refresh()
        self.bias.data.copy_(self._source[0].bias.detach()[self.order])

    def collect(self) -> None:
        self.later.collect()
        if self.bias.grad is not None:
            gradient = torch.zeros_like(self.bias.grad)
            gradient[self.order] = self.bias.grad
            add_gradient(self._source[0].bias, gradient)
            self.bias.grad = None
