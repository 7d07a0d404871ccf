"""What learns: a simulator, its optimiser, and how far they have come. A checkpoint saves and restores all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from framedream.model.heads import Heads
from framedream.model.simulator import Simulator, State
from framedream.training.fast_updates import FastUpdates, Learnt
from framedream.training.heads import HeadsLearner
from framedream.training.objective import predict_segment
from framedream.training.optimiser import (
    RunningNormClip,
    gradient_norm,
    make_optimiser,
    restore_state,
    state_tensors,
)
from framedream.training.scheme import Phase
from framedream.training.specification import RunSpec


@dataclass
class Position:
    """How far training has come."""

    updates: int = 0
    batches: int = 0
    """Batches drawn: where the sampler goes on."""
    frames: int = 0
    """Frames predicted: "frames seen, excluding warm-up frames" on most of the paper's figures."""
    frames_with_warm_up: int = 0
    """Frames seen as the paper's 200 million count them."""
    seconds: float = 0.0
    """Time spent training, over all sessions."""


class Learner:
    """A simulator in training, perhaps with heads, which learn beside it.

    A `fast` one computes updates with the simulator's double (`framedream.fast`), on a GPU as one captured graph.
    """

    def __init__(self, simulator: Simulator, run: RunSpec, heads: Heads | None = None, fast: bool = False) -> None:
        self.simulator = simulator
        self.heads = None if heads is None else HeadsLearner(heads)
        self.position = Position()
        self.device = simulator.background.device
        self._parameters = dict(simulator.named_parameters())
        rate = torch.zeros((), device=self.device) if fast and self.device.type == "cuda" else 0.0
        self._optimiser = make_optimiser(run.optimiser, self._parameters.values(), rate)
        self._clip = RunningNormClip(self.device) if run.clip else None
        self._loss_scale = run.loss_scale
        self._moving_weight = run.moving_weight
        half = run.precision == "bfloat16"
        self._half = half and self.device.type == "cuda"
        self._fast = FastUpdates(self, self._loss_scale, self._moving_weight, half) if fast else None

    def learn(self, frames: Tensor, actions: Tensor, state: State | None, phase: Phase, learning_rate: float) -> Learnt:
        """One update on a segment of sequences of bytes (B,L,…); `state` is where the segment before it ended."""
        self._set_rate(learning_rate)
        if self._fast is not None:
            return self._fast.learn(frames, actions, state, phase, self.position.updates)
        simulator = self.simulator
        self.forget_gradients()
        half = torch.autocast(self.device.type, torch.bfloat16, enabled=self._half)
        loss, states = predict_segment(
            simulator, simulator.normalise(frames), actions, state, phase, half, self._moving_weight
        )
        (loss * self._loss_scale).backward()  # type: ignore[no-untyped-call]
        norm = self.step()
        return Learnt(loss.detach(), norm, [state.detach() for state in states])

    def forget_gradients(self) -> None:
        """Before an update: nothing is added up yet."""
        for parameter in self._parameters.values():
            parameter.grad = None

    def step(self) -> Tensor:
        """Clip the gradients and step; returns their norm before."""
        gradients = [parameter.grad for parameter in self._parameters.values() if parameter.grad is not None]
        norm = gradient_norm(gradients)
        if self._clip is not None:
            self._clip(gradients, norm)
        self._optimiser.step()
        return norm

    def _set_rate(self, rate: float) -> None:
        for group in self._optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)  # captured graphs read it where it lies
            else:
                group["lr"] = rate

    def is_finite(self) -> bool:
        """Whether no parameter has become infinite or not a number."""
        parameters = [*self._parameters.values(), *(self.heads.heads.parameters() if self.heads else [])]
        return all(bool(parameter.isfinite().all()) for parameter in parameters)

    def progress(self) -> dict[str, Any]:
        """The position, for JSON."""
        return asdict(self.position)

    def tensors(self) -> dict[str, Tensor]:
        """All other state that decides how training goes on, by name: optimiser, clipping, random numbers."""
        tensors = state_tensors(self._optimiser, self._parameters, "optimiser")
        if self.heads is not None:
            tensors |= self.heads.tensors()
        if self._clip is not None:
            tensors["clip.average"] = self._clip.average
        # The random slopes of RReLU come from torch's own generator; batches are a function of their number.
        tensors["random.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        return tensors

    def restore(self, progress: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `progress` and `tensors` said; the simulator's own weights are its own affair."""
        self.position = Position(**{name: progress[name] for name in asdict(self.position)})
        restore_state(self._optimiser, self._parameters, "optimiser", tensors)
        if self.heads is not None:
            self.heads.restore(tensors)
        if self._clip is not None and "clip.average" in tensors:
            self._clip.average.copy_(tensors["clip.average"])
        torch.set_rng_state(tensors["random.cpu"])
        if self.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], self.device)
