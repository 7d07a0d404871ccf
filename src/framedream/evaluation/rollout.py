"""A simulator running on its own predictions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from framedream.model.simulator import Simulator, State


def open_loop(simulator: Simulator, state: State, actions: Tensor) -> Iterator[Tensor]:
    """One predicted frame (B, 3, H, W) per action (B, T): nothing but actions comes in after the warm-up.

    Frames come one at a time, so that a long horizon needs no more memory than a short one.
    """
    for _, predicted in open_loop_states(simulator, state, actions):
        yield predicted


def open_loop_states(simulator: Simulator, state: State, actions: Tensor) -> Iterator[tuple[State, Tensor]]:
    """The same, with the state behind every frame."""
    for action in actions.unbind(1):
        state = simulator.advance(state, action)
        predicted = simulator.decode(state)
        state = state.seen(predicted)
        yield state, predicted


@contextmanager
def evaluating(simulator: Simulator) -> Iterator[None]:
    """No gradients, RReLU at its mean; afterwards the simulator is as it was."""
    was_training = simulator.training
    simulator.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        simulator.train(was_training)
