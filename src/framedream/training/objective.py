"""What is minimised: the prediction error of one segment of a batch (section 2 of the paper)."""

from __future__ import annotations

import torch
from torch import Tensor

from framedream.model.simulator import Simulator, State
from framedream.training.scheme import Phase


def predict_segment(
    simulator: Simulator,
    frames: Tensor,
    actions: Tensor,
    state: State | None,
    phase: Phase,
    arithmetic: torch.autocast,
    moving_weight: float = 1.0,
) -> tuple[Tensor, list[State]]:
    """The loss of a segment of sequences (B, L, …), and the states it went through.

    The first segment of a batch (`state` None) begins with its warm-up, a later one with the last frame of the one
    before it, whose state is `state`.
    """
    first = phase.warm_up if state is None else 1  # index of the first frame to predict
    if state is None:
        state = warmed_up(simulator, frames[:, :first], actions[:, : first - 1], phase.warm_up_grad, arithmetic)
    with arithmetic:
        predictions, states = simulator.unroll_states(
            state, actions[:, first - 1 : -1], phase.feed, observed=frames[:, first - 1 : -1]
        )
    return simulator.error(predictions, frames[:, first:], moving_weight), states


def warmed_up(
    simulator: Simulator, frames: Tensor, actions: Tensor, gradient_from: int | None, arithmetic: torch.autocast
) -> State:
    """s_τ with x_τ. Gradients reach the transitions that read x_k, x_{k+1}, … for k = `gradient_from`, or none."""
    length = frames.shape[1]
    untrained = length if gradient_from is None else gradient_from
    # Two contexts: within one, PyTorch's older autocast lends out weights that it has converted without a gradient.
    with arithmetic, torch.no_grad():
        state = simulator.warm_up(frames[:, :untrained], actions[:, : untrained - 1])
    if untrained == length:
        return state
    with arithmetic:
        trained = simulator.observe(state, frames[:, untrained - 1 : -1], actions[:, untrained - 1 :])
    return trained[-1].seen(frames[:, -1])
