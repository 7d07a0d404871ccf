"""The training loop: sequences in, one optimiser step per segment (section 2 and appendix A of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from framedream.model.simulator import State
from framedream.training.batches import DeviceBatch
from framedream.training.learner import Learner
from framedream.training.scheme import Phase, Scheme


@dataclass(frozen=True)
class Update:
    """What one parameter update did. The tensors stay on their device: reading one waits for the GPU."""

    number: int
    """Updates made, this one included."""
    loss: Tensor
    gradient_norm: Tensor
    learning_rate: float
    heads: Mapping[str, Tensor] = field(default_factory=dict)
    """The losses of the heads, where there are any."""


def train(
    learner: Learner,
    scheme: Scheme,
    updates: int,
    *,
    open_batches: Callable[[int, int], AbstractContextManager[Iterable[DeviceBatch]]],
    learning_rate: Callable[[int], float],
    on_update: Callable[[Update], None],
    go_on: Callable[[], bool],
) -> None:
    """Train until `updates` updates have been made in all, or `go_on`, asked after every batch, says no.

    `open_batches(length, first)` gives the batches number `first`, `first + 1`, … of sequences of `length` frames.
    """
    learner.simulator.train()
    position = learner.position
    for phase, _, end in scheme.stretches(updates):
        if position.updates >= end:
            continue
        with open_batches(phase.sequence_length, position.batches) as batches:
            for batch in batches:
                # A phase ends on its update, even within a batch of several segments.
                segments = min(phase.segments, end - position.updates)
                train_on_batch(learner, batch, phase, segments, learning_rate, on_update)
                position.batches += 1
                if not go_on():
                    return
                if position.updates >= end:
                    break


def train_on_batch(
    learner: Learner,
    batch: DeviceBatch,
    phase: Phase,
    segments: int,
    learning_rate: Callable[[int], float],
    on_update: Callable[[Update], None],
) -> None:
    """One update per segment; the state is carried from one to the next, the gradient is not: BPTT(T, n)."""
    position = learner.position
    state: State | None = None
    for segment in range(segments):
        rows = phase.rows_of(segment)
        rate = learning_rate(position.updates)
        made = learner.learn(batch.frames[:, rows], batch.actions[:, rows], state, phase, rate)
        heads = _heads_update(learner, made.states, batch, rows.stop - 1 - phase.prediction_length)
        state = made.states[-1]
        position.updates += 1
        with_warm_up, predicted = phase.frames_seen(len(batch), segment)
        position.frames_with_warm_up += with_warm_up
        position.frames += predicted
        on_update(Update(position.updates, made.loss, made.gradient_norm, rate, heads))


def _heads_update(learner: Learner, states: Sequence[State], batch: DeviceBatch, first: int) -> Mapping[str, Tensor]:
    """Show the heads, where there are any, the predicted states and what the transitions into them brought."""
    if learner.heads is None:
        return {}
    hidden = torch.stack([state.hidden for state in states], dim=1).float()
    into = slice(first, first + len(states))
    return learner.heads.update(hidden, batch.rewards[:, into], batch.terminations[:, into])
