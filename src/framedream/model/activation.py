"""RReLU(1/8, 1/3): a leaky rectifier whose slope is random per element in training and its mean in evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

LOWEST, HIGHEST = 1 / 8, 1 / 3  # the paper's l and u
MEAN_SLOPE = (LOWEST + HIGHEST) / 2


class RReLU(nn.Module):
    """Xu et al.'s randomised leaky rectifier; `random=False` keeps to the mean slope in training too."""

    def __init__(self, random: bool) -> None:
        super().__init__()
        self.random = random
        self.given: Tensor | None = None  # slopes passed in by `given_slopes`

    def forward(self, x: Tensor) -> Tensor:
        if self.given is not None:
            return torch.where(x >= 0, x, x * self.given)
        if self.training and self.random:
            # The library's own rrelu runs on one core and draws with double precision; this is several times faster.
            return torch.where(x >= 0, x, x * torch.empty_like(x).uniform_(LOWEST, HIGHEST))
        return functional.leaky_relu(x, MEAN_SLOPE)


@contextmanager
def given_slopes(module: nn.Module, slopes: Mapping[str, Tensor]) -> Iterator[None]:
    """Pass in the slopes of a module's rectifiers, by their names in `named_modules`, to compare two implementations.

    A tensor of slopes must be broadcastable to what its rectifier sees, in training and in evaluation.
    """
    rectifiers = {name: part for name, part in module.named_modules() if isinstance(part, RReLU)}
    if set(slopes) != set(rectifiers):
        raise ValueError(f"slopes for {sorted(slopes)}, but the rectifiers are {sorted(rectifiers)}")
    for name, rectifier in rectifiers.items():
        rectifier.given = slopes[name]
    try:
        yield
    finally:
        for rectifier in rectifiers.values():
            rectifier.given = None
