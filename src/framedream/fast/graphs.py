"""Steps without gradients as captured CUDA graphs: a GPU is told of a whole step, or of a whole jump, at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from framedream.model.simulator import State

MOST_GRAPHS = 8
"""Kinds of step that are kept: batches of other sizes are captured anew when they come back."""
WARM_UPS = 2
"""Runs before a capture, in which kernels are compiled and memory is asked for."""

Step = Callable[[State, Tensor], State]


@dataclass
class _Graph:
    graph: torch.cuda.CUDAGraph
    state: State
    actions: Tensor
    after: State
    memory_version: int


class StepGraphs:
    """The graphs of one simulator. `memory_version()` changes when its memory has moved."""

    def __init__(self, memory_version: Callable[[], int]) -> None:
        self._memory_version = memory_version
        self._graphs: OrderedDict[tuple[Any, ...], _Graph] = OrderedDict()

    def replayed(self, name: str, step: Step, state: State, actions: Tensor) -> State:
        """`step(state, actions)`, captured when it is first asked for with these shapes."""
        if torch.cuda.is_current_stream_capturing():
            return step(state, actions)
        key = (name, actions.shape, state.frame is None)
        graph = self._graphs.get(key)
        if graph is None or graph.memory_version != self._memory_version():
            graph = self._graphs[key] = self._capture(step, state, actions)
            while len(self._graphs) > MOST_GRAPHS:
                self._graphs.popitem(last=False)
        self._graphs.move_to_end(key)
        copy_state(graph.state, state)
        graph.actions.copy_(actions)
        graph.graph.replay()
        return cloned(graph.after)

    def _capture(self, step: Step, state: State, actions: Tensor) -> _Graph:
        state, actions = cloned(state), actions.clone()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                step(state, actions)
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        version = self._memory_version()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            after = step(state, actions)
        return _Graph(graph, state, actions, after, version)


def cloned(state: State) -> State:
    """A state of its own, which nobody writes over."""
    frame = None if state.frame is None else state.frame.clone()
    return State(state.hidden.clone(), state.cell.clone(), state.action.clone(), frame)


def copy_state(to: State, state: State) -> None:
    """Write a state where a graph reads it."""
    for mine, theirs in ((to.hidden, state.hidden), (to.cell, state.cell), (to.action, state.action)):
        mine.copy_(theirs)
    if to.frame is not None and state.frame is not None:
        to.frame.copy_(state.frame)
