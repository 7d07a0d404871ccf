"""Updates computed by the simulator's double: on a GPU each kind of update becomes one captured graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from framedream.fast.doubles import double_of, quickest
from framedream.fast.graphs import cloned, copy_state
from framedream.fast.slopes import slope_seed
from framedream.model.simulator import State
from framedream.training.objective import predict_segment
from framedream.training.scheme import Phase

if TYPE_CHECKING:
    from framedream.training.learner import Learner

EAGER_UPDATES = 2
"""Updates of a kind before it is captured: the first finds out how much memory it takes, the second takes it."""


@dataclass(frozen=True)
class Learnt:
    """What an update did; on a GPU the next one writes over all of it."""

    loss: Tensor
    gradient_norm: Tensor
    states: list[State]


@dataclass
class _Captured:
    """A graph, what it reads and what it writes."""

    graph: torch.cuda.CUDAGraph
    frames: Tensor
    actions: Tensor
    state: State | None
    learnt: Learnt
    memory_version: int


class FastUpdates:
    """Updates of one learner."""

    def __init__(self, learner: Learner, loss_scale: float, moving_weight: float, half: bool) -> None:
        self._learner = learner
        simulator = learner.simulator
        on_gpu = simulator.background.is_cuda
        self.double = double_of(simulator, quickest(simulator.background.device) if half else None)
        self._loss_scale, self._moving_weight = loss_scale, moving_weight
        self._stream = torch.cuda.Stream() if on_gpu else None  # type: ignore[no-untyped-call]
        self._made: dict[tuple[Phase, bool, torch.Size], int] = {}
        self._captured: dict[tuple[Phase, bool, torch.Size], _Captured] = {}

    def learn(self, frames: Tensor, actions: Tensor, state: State | None, phase: Phase, number: int) -> Learnt:
        """Update number `number` (from 0)."""
        self.double.slope_seed.fill_(slope_seed(number))
        kind = (phase, state is None, frames.shape)
        if self._stream is None:
            return self._update(frames, actions, state, phase)
        made = self._made.get(kind, 0)
        self._made[kind] = made + 1
        if made < EAGER_UPDATES:
            return self._update_beside(frames, actions, state, phase)
        captured = self._captured.get(kind)
        if captured is None or captured.memory_version != self.double.memory_version:
            # A phase that has ended does not come back, and its graph holds memory.
            self._captured = {other: graph for other, graph in self._captured.items() if other[0] == phase}
            captured = self._captured[kind] = self._capture(frames, actions, state, phase)
        captured.frames.copy_(frames)
        captured.actions.copy_(actions)
        if state is not None and captured.state is not None:
            copy_state(captured.state, state)
        captured.graph.replay()
        learnt = captured.learnt
        # The next update writes over these, before anybody has read them.
        return Learnt(learnt.loss.clone(), learnt.gradient_norm.clone(), learnt.states)

    def _update(self, frames: Tensor, actions: Tensor, state: State | None, phase: Phase) -> Learnt:
        double, learner = self.double, self._learner
        double.train(learner.simulator.training)
        double.begin()
        double.refresh()
        learner.forget_gradients()
        exact = torch.autocast(frames.device.type, enabled=False)
        loss, states = predict_segment(
            double, double.normalise(frames), actions, state, phase, exact, self._moving_weight
        )
        (loss * self._loss_scale).backward()  # type: ignore[no-untyped-call]
        double.collect()
        norm = learner.step()
        return Learnt(loss.detach(), norm, [state.detach() for state in states])

    def _update_beside(self, frames: Tensor, actions: Tensor, state: State | None, phase: Phase) -> Learnt:
        """On the stream that captures: autograd remembers where a parameter was first met."""
        assert self._stream is not None
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            learnt = self._update(frames, actions, state, phase)
        torch.cuda.current_stream().wait_stream(self._stream)
        return learnt

    def _capture(self, frames: Tensor, actions: Tensor, state: State | None, phase: Phase) -> _Captured:
        frames, actions = frames.clone(), actions.clone()
        state = None if state is None else cloned(state)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=self._stream):
            learnt = self._update(frames, actions, state, phase)
        return _Captured(graph, frames, actions, state, learnt, self.double.memory_version)
