"""A simulator running on its own predictions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from framedream.model.simulator import Simulator, State


def open_loop(simulator: Simulator, state: State, actions: Tensor) -> Iterator[State]:
    """The state after each action (B, T), with its predicted frame: only actions come in after the warm-up.

    States come one at a time, so that a long horizon needs no more memory than a short one.
    """
    for action in actions.unbind(1):
        state = simulator.step(state, action)
        yield state


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
