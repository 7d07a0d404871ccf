"""The simulator as somebody would first write it from the paper: one time-step after another, eager float32 PyTorch.

The modules are those of `model/`, with slopes drawn as they draw them. What `Simulator` does beyond them is left out:
frames are encoded and decoded one time-step at a time, whether or not they wait for a prediction. There is no other
precision, no captured graph and no other layout of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from framedream.model.simulator import OBSERVED, Simulator, State
from framedream.training.optimiser import RunningNormClip, gradient_norm, make_optimiser
from framedream.training.scheme import Phase
from framedream.training.specification import RunSpec


class StraightforwardLearner:
    """Learns as `Learner` does."""

    def __init__(self, simulator: Simulator, run: RunSpec) -> None:
        device = simulator.background.device
        self.simulator, self._loss_scale = simulator, run.loss_scale
        self._parameters = list(simulator.parameters())
        self._optimiser = make_optimiser(run.optimiser, self._parameters)
        self._clip = RunningNormClip(device) if run.clip else None

    def learn(self, frames: Tensor, actions: Tensor, phase: Phase, learning_rate: float) -> Tensor:
        """One update on sequences of bytes (B,L,…); returns the loss."""
        self._optimiser.param_groups[0]["lr"] = learning_rate
        self._optimiser.zero_grad()
        with ordinary_float32():
            loss = straightforward_loss(self.simulator, self.simulator.normalise(frames), actions, phase)
            (loss * self._loss_scale).backward()  # type: ignore[no-untyped-call]
        if self._clip is not None:
            gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
            self._clip(gradients, gradient_norm(gradients))
        self._optimiser.step()
        return loss.detach()


def straightforward_loss(simulator: Simulator, frames: Tensor, actions: Tensor, phase: Phase) -> Tensor:
    """The loss of `predict_segment` for sequences (B, L, …) and their warm-up."""
    seen, acted = frames.unbind(1), actions.unbind(1)
    state = simulator.initial_state(len(frames))
    for time in range(1, phase.warm_up):
        trained = phase.warm_up_grad is not None and time >= phase.warm_up_grad
        with torch.set_grad_enabled(trained):
            state = simulator.advance(state, acted[time - 1], seen[time - 1])
    state = state.seen(seen[phase.warm_up - 1])
    loss = frames.new_zeros(())
    for time, letter in enumerate(phase.feed, start=phase.warm_up):
        observes = letter == OBSERVED and not simulator.prediction_independent
        state = simulator.advance(state, acted[time - 1], seen[time - 1] if observes else None)
        prediction = simulator.decode(state)
        state = state.seen(prediction)
        loss = loss + (prediction - seen[time]).square().sum() / 3
    return loss / (len(frames) * phase.prediction_length)


def straightforward_rollout(simulator: Simulator, state: State, actions: Tensor) -> State:
    """The states and frames that follow actions (B,T), without gradients; prediction-independent ones skip frames."""
    with torch.no_grad(), ordinary_float32():
        for action in actions.unbind(1):
            state = (
                simulator.advance(state, action) if simulator.prediction_independent else simulator.step(state, action)
            )
    return state


@contextmanager
def ordinary_float32() -> Iterator[None]:
    """PyTorch as it comes, except that float32 means float32: a GPU would round to TF32 in convolutions."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark
    matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark = False, False, False
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark = before
