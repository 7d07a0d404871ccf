"""How much of a maze a walk has covered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from framedream.envs.maze.dynamics import RADIUS
from framedream.use.exploration.world import World

TOUCH = 0.02
"""Cells between the agent's rim and a wall that still count as touching it."""


def cells_visited(places: NDArray[np.float32]) -> NDArray[np.int64]:
    """For walks (E,T+1,…) whose rows begin with x and y: the number of cells visited after steps 0 to T (E,T+1).

    A cell is visited once the agent's centre is inside it, not on its edge, at the end of a step or at the start. As
    the centre is never in a wall, only free cells are counted.
    """
    counts = []
    for walk in np.asarray(places)[..., :2]:
        cells = np.floor(walk)
        inside = (walk > cells).all(1)
        _, firsts = np.unique(cells[inside], axis=0, return_index=True)
        new = np.zeros(len(walk), np.int64)
        new[np.flatnonzero(inside)[firsts]] = 1
        counts.append(new.cumsum())
    return np.stack(counts)


def share_at_walls(world: World, places: NDArray[np.float32]) -> float:
    """The share of places (E,T,…) at which the agent touches a wall."""
    touching = [
        world.mazes.layouts[maze].clearance(x, y) < RADIUS + TOUCH
        for maze, walk in zip(world.which.tolist(), places[..., :2].tolist(), strict=True)
        for x, y in walk
    ]
    return float(np.mean(touching))
