"""Heads in training: they watch the states that the simulator comes by, with an optimiser of their own."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from framedream.data.dataset import Split
from framedream.data.reader import SegmentReader
from framedream.model.heads import Heads
from framedream.model.heads_spec import HeadsSpec, read_head_names
from framedream.model.simulator_spec import SimulatorSpec
from framedream.training.optimiser import make_optimiser, restore_state, state_tensors
from framedream.training.specification import RunSpec

LEARNING_RATE = 1e-3
"""Whatever the simulator's is: the paper's 1e-5 is made for another optimiser and half a million updates."""
PREFIX = "heads.optimiser"


class HeadsLearner:
    """Heads and their AdamW. Nothing here draws a random number or reaches the simulator's gradients."""

    def __init__(self, heads: Heads) -> None:
        self.heads = heads
        self._parameters = dict(heads.named_parameters())
        self._optimiser = make_optimiser("adamw", self._parameters.values())
        for group in self._optimiser.param_groups:
            group["lr"] = LEARNING_RATE

    def update(self, hidden: Tensor, rewards: Tensor, terminations: Tensor) -> dict[str, Tensor]:
        """One step on states (B, T, H) and the transitions into them (B, T); returns the losses by head."""
        losses = self.heads.losses(hidden, rewards, terminations)
        self._optimiser.zero_grad()
        torch.stack(list(losses.values())).sum().backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        return {name: loss.detach() for name, loss in losses.items()}

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's state, for a checkpoint."""
        return state_tensors(self._optimiser, self._parameters, PREFIX)

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `tensors` said."""
        restore_state(self._optimiser, self._parameters, PREFIX, tensors)


def new_heads(run: RunSpec, simulator: SimulatorSpec, training: Split) -> Heads | None:
    """The heads that a run asks for, as they begin."""
    if run.heads is None:
        return None
    with SegmentReader(training, states=False) as reader:
        largest = float(abs(reader.transitions("reward")).max())
    spec = HeadsSpec(read_head_names(run.heads), simulator.hidden_size, largest or 1.0)
    return Heads(spec).initialise(run.seed)
