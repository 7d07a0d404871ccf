"""The training loop: sequences in, one optimiser step per segment (section 2 and appendix A of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from framedream.data.segment import Batch
from framedream.model.simulator import State
from framedream.training.learner import Learner
from framedream.training.scheme import Phase, Scheme

JUST_VISIBLE = 0.5 / 255  # a pixel that differs from the background differs by a whole byte in some channel


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
    open_batches: Callable[[int, int], AbstractContextManager[Iterable[Batch]]],
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
    batch: Batch,
    phase: Phase,
    segments: int,
    learning_rate: Callable[[int], float],
    on_update: Callable[[Update], None],
) -> None:
    """One update per segment; the state is carried from one to the next, the gradient is not: BPTT(T, n)."""
    simulator, position = learner.simulator, learner.position
    frames = simulator.normalise(torch.from_numpy(batch.frames).to(learner.device, non_blocking=True))
    actions = torch.from_numpy(batch.actions).to(learner.device, non_blocking=True)
    warm_up, steps = phase.warm_up, phase.prediction_length
    state: State | None = None
    for segment in range(segments):
        first = warm_up + segment * steps  # index of the first frame to predict
        if state is None:
            state = warmed_up(learner, frames[:, :warm_up], actions[:, : warm_up - 1], phase.warm_up_grad)
        with learner.arithmetic():
            predictions, states = simulator.unroll_states(
                state,
                actions[:, first - 1 : first - 1 + steps],
                phase.feed,
                observed=frames[:, first - 1 : first - 1 + steps],
            )
        loss = prediction_loss(predictions, frames[:, first : first + steps], learner.moving_weight)
        rate = learning_rate(position.updates)
        norm = learner.update(loss, rate)
        heads = _heads_update(learner, states, batch, slice(first - 1, first - 1 + steps))
        state = states[-1].detach()
        position.updates += 1
        with_warm_up, predicted = phase.frames_seen(len(batch), segment)
        position.frames_with_warm_up += with_warm_up
        position.frames += predicted
        on_update(Update(position.updates, loss.detach(), norm, rate, heads))


def _heads_update(learner: Learner, states: Sequence[State], batch: Batch, into: slice) -> Mapping[str, Tensor]:
    """Show the heads, where there are any, the predicted states and what the transitions into them brought."""
    if learner.heads is None:
        return {}
    brought = (torch.from_numpy(rows[:, into]).to(learner.device) for rows in (batch.rewards, batch.terminations))
    return learner.heads.update(torch.stack([state.hidden for state in states], dim=1).detach(), *brought)


def warmed_up(learner: Learner, frames: Tensor, actions: Tensor, gradient_from: int | None) -> State:
    """s_τ with x_τ. Gradients reach the transitions that read x_k, x_{k+1}, … for k = `gradient_from`, or none."""
    length = frames.shape[1]
    untrained = length if gradient_from is None else gradient_from
    # Two contexts: within one, PyTorch's older autocast lends out weights that it has converted without a gradient.
    with learner.arithmetic(), torch.no_grad():
        state = learner.simulator.warm_up(frames[:, :untrained], actions[:, : untrained - 1])
    if untrained == length:
        return state
    with learner.arithmetic():
        trained = learner.simulator.observe(state, frames[:, untrained - 1 : -1], actions[:, untrained - 1 :])
    return trained[-1].seen(frames[:, -1])


def prediction_loss(predictions: Tensor, frames: Tensor, moving_weight: float = 1.0) -> Tensor:
    """Σ‖x - x̂‖²/3, averaged over sequences and predicted steps: the paper's prediction error, in training.

    With a `moving_weight`, pixels that differ from the background (which is 0 here) count that many times.
    """
    squares = (predictions.float() - frames).square()
    if moving_weight != 1:
        moving = (frames.abs() > JUST_VISIBLE).any(dim=2, keepdim=True)
        squares = squares * torch.where(moving, moving_weight, 1.0)
    return squares.sum(dim=(2, 3, 4)).mean() / 3
