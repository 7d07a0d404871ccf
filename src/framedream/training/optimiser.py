"""The paper's optimiser, the modern one, and what surrounds them: learning-rate schedules and gradient clipping."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim import Optimizer


class GravesRMSProp(Optimizer):
    """Centred RMSProp in the form of Graves (2013), as the paper's appendix A names it.

    n ← ρn + (1-ρ)g², m ← ρm + (1-ρ)g, Δ ← μΔ - lr·g/√(n - m² + ε), w ← w + Δ. ε stands under the root:
    `torch.optim.RMSprop` adds it outside, which with ε = 0.01 is another optimiser.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float | Tensor = 1e-5,
        *,
        decay: float = 0.95,
        momentum: float = 0.9,
        epsilon: float = 0.01,
    ) -> None:
        super().__init__(parameters, dict(lr=lr, decay=decay, momentum=momentum, epsilon=epsilon))

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        assert closure is None, "this optimiser needs no closure"
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            if parameters:
                self._update(parameters, group)
        return None

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        for parameter in parameters:
            if not self.state[parameter]:
                names = ("square_average", "average", "change")
                self.state[parameter] = {name: torch.zeros_like(parameter) for name in names}
        square_averages = [self.state[parameter]["square_average"] for parameter in parameters]
        averages = [self.state[parameter]["average"] for parameter in parameters]
        changes = [self.state[parameter]["change"] for parameter in parameters]

        decay = group["decay"]
        torch._foreach_mul_(square_averages, decay)
        torch._foreach_addcmul_(square_averages, gradients, gradients, 1 - decay)
        torch._foreach_mul_(averages, decay)
        torch._foreach_add_(averages, gradients, alpha=1 - decay)
        root = torch._foreach_addcmul(square_averages, averages, averages, -1)
        # n - m² is never negative except by rounding, where one huge gradient after another would make it so.
        torch._foreach_clamp_min_(root, 0.0)
        torch._foreach_add_(root, group["epsilon"])
        torch._foreach_sqrt_(root)
        steps = torch._foreach_div(gradients, root)
        torch._foreach_mul_(steps, group["lr"])
        torch._foreach_mul_(changes, group["momentum"])
        torch._foreach_sub_(changes, steps)
        torch._foreach_add_(parameters, changes)


def make_optimiser(name: str, parameters: Iterable[Tensor], rate: float | Tensor = 0.0) -> Optimizer:
    """`rmsprop` (the paper's) or `adamw` (the modern recipe's); the learning rate is set before every update.

    A rate in a tensor is for updates that are captured in a graph, which read it, and count their steps, on the device.
    """
    if name == "rmsprop":
        return GravesRMSProp(parameters, lr=rate)
    kind = {"fused": True, "capturable": True} if isinstance(rate, Tensor) else {"foreach": True}
    return torch.optim.AdamW(parameters, lr=rate, betas=(0.9, 0.95), weight_decay=0.0, **kind)


def state_tensors(optimiser: Optimizer, parameters: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The optimiser's state by name: `prefix.PARAMETER.KEY`."""
    return {
        f"{prefix}.{name}.{key}": value
        for name, parameter in parameters.items()
        for key, value in optimiser.state[parameter].items()
    }


def restore_state(
    optimiser: Optimizer, parameters: Mapping[str, Tensor], prefix: str, tensors: Mapping[str, Tensor]
) -> None:
    """Give the optimiser the state that `state_tensors` named."""
    for name, parameter in parameters.items():
        start = f"{prefix}.{name}."
        state = {key.removeprefix(start): value for key, value in tensors.items() if key.startswith(start)}
        # AdamW counts its steps on the CPU, unless a captured graph counts them.
        on_device = isinstance(optimiser.param_groups[0]["lr"], Tensor)
        optimiser.state[parameter] = {
            key: value if key == "step" and not on_device else value.to(parameter.device)
            for key, value in state.items()
        }


@dataclass(frozen=True)
class Schedule:
    """The learning rate over one phase: a linear rise over `warm_up` updates, then flat, or a cosine to `final`."""

    rate: float
    final: float | None = None
    warm_up: int = 0

    def at(self, update: int, updates: int) -> float:
        """The rate of the update number `update` (from 0) of a phase of `updates`."""
        rate = self.rate
        if self.final is not None:
            rate = self.final + (self.rate - self.final) * 0.5 * (1 + math.cos(math.pi * update / max(1, updates)))
        return rate * min(1.0, (update + 1) / self.warm_up) if self.warm_up else rate


class RunningNormClip:
    """Scales gradients down to at most twice the running average of their norm.

    The average takes the clipped norms, so that one explosion does not raise the limit for those to come.
    """

    def __init__(self, device: torch.device) -> None:
        self.average = torch.zeros((), device=device)

    def __call__(self, gradients: Sequence[Tensor], norm: Tensor) -> None:
        self.average.copy_(torch.where(self.average > 0, self.average, norm))
        limit = 2 * self.average
        torch._foreach_mul_(list(gradients), (limit / (norm + 1e-6)).clamp(max=1.0))
        self.average.mul_(0.99).add_(torch.minimum(norm, limit), alpha=0.01)


def gradient_norm(gradients: Sequence[Tensor]) -> Tensor:
    """The Euclidean norm of all gradients together, on their device."""
    norms: list[Tensor] = list(torch._foreach_norm(list(gradients)))
    total: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    return total
