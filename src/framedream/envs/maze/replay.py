"""A walk seen again: all its states are kept, 24 bytes for each step, and any of its frames is drawn when asked for."""

from __future__ import annotations

import numpy as np

from framedream.envs.frame_environment import Frame
from framedream.envs.maze.dynamics import States
from framedream.envs.maze.vector import MazeVector


class MazeReplay:
    """The states of one agent in the only layout of `mazes`."""

    def __init__(self, mazes: MazeVector, states: States) -> None:
        self._mazes, self._states = mazes, states

    @property
    def memory(self) -> int:
        return self._states.nbytes + self._mazes.memory

    def frames(self, start: int, out: Frame) -> None:
        self._mazes.frames(self._states[start : start + len(out)], np.zeros(len(out), np.int64), out)

    def states(self, start: int, out: States) -> None:
        out[:] = self._states[start : start + len(out)]
