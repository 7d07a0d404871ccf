"""What would be seen after actions that nobody has taken: asked of a simulator, or of the real environment.

An explorer knows only the calls of `Imagination`. Whose imagination it is, and what its states are, it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from framedream.envs.frame_environment import Frame
from framedream.envs.maze.dynamics import ACTIONS, States
from framedream.envs.maze.vector import MazeVector
from framedream.evaluation.frames import as_floats
from framedream.fast.doubles import faster
from framedream.model.simulator import Simulator, State
from framedream.use.dreamer import rows

Actions = NDArray[np.int64]


class Imagination(Protocol):
    """Imagines for E agents at once. Frames given are bytes; frames imagined are numbers 0…1, colour first.

    `places` are the agents' true places in their mazes. A simulator makes no use of them.
    """

    @property
    def device(self) -> torch.device:
        """Where imagined frames are."""

    def begin(self, frames: Frame, places: States) -> Any:
        """The state of agents whose first frames (E,H,W,3) these are."""

    def follow(self, state: Any, actions: Actions, frames: Frame, places: States) -> Any:
        """The state after `actions` (E,k) were really taken; `frames` (E,k,H,W,3) followed them."""

    def imagine(self, state: Any, sequences: Actions) -> Tensor:
        """The last frame of each sequence of actions (E,N,d): (E,N,3,H,W)."""


class SimulatorImagination:
    """A trained simulator, which knows what it has been shown.

    Sequences that begin alike are imagined together until they part. Frames on the way are decoded only where the next
    transition reads them: never by prediction-independent simulators.
    """

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = faster(simulator.eval())
        self.device = simulator.background.device

    @torch.inference_mode()
    def begin(self, frames: Frame, places: States) -> State:
        return self.simulator.initial_state(len(frames)).seen(self._normalise(frames))

    @torch.inference_mode()
    def follow(self, state: State, actions: Actions, frames: Frame, places: States) -> State:
        assert state.frame is not None
        # Transitions read the frames that actions were taken at: the last one is left for what comes next.
        seen = self._normalise(frames)
        read = torch.cat([state.frame[:, None], seen[:, :-1]], dim=1)
        taken = torch.from_numpy(actions).to(self.device)
        return self.simulator.observe(state, read, taken)[-1].seen(seen[:, -1])

    @torch.inference_mode()
    def imagine(self, state: State, sequences: Actions) -> Tensor:
        agents, count, _ = sequences.shape
        steps = torch.from_numpy(sequences).flatten(0, 1).unbind(1)
        # Which of the states below each sequence has come to, at first that of its agent.
        reached = torch.arange(agents).repeat_interleave(count)
        for actions in steps:
            ways, reached = torch.unique(reached * len(ACTIONS) + actions, return_inverse=True)
            ways = ways.to(self.device)
            state = self.simulator.advance(rows(state, ways // len(ACTIONS)), ways % len(ACTIONS))
        frames = (self.simulator.picture(self.simulator.decode(state)) + self.simulator.background).float()
        return frames[reached.to(self.device)].reshape(agents, count, *frames.shape[1:])

    def _normalise(self, frames: Frame) -> Tensor:
        return self.simulator.normalise(torch.from_numpy(frames))


@dataclass(frozen=True)
class EnvironmentImagination:
    """The real environment as its own simulator, exact: agent n of the mazes is in layout `which[n]`."""

    mazes: MazeVector
    which: NDArray[np.int64]
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def begin(self, frames: Frame, places: States) -> States:
        return places

    def follow(self, state: States, actions: Actions, frames: Frame, places: States) -> States:
        return places

    def imagine(self, state: States, sequences: Actions) -> Tensor:
        agents, count, length = sequences.shape
        states, which = np.repeat(state, count, 0), np.repeat(self.which, count)
        for actions in sequences.reshape(agents * count, length).T:
            states = self.mazes.step(states, actions, which)
        frames = as_floats(torch.from_numpy(self.mazes.frames(states, which)).to(self.device))
        return frames.reshape(agents, count, *frames.shape[1:])
