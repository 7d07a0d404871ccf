"""How an agent moves: turns, momentum, and walls it slides along.

A state is six float32 numbers, and everything that the next one depends on besides the layout and the action:

    x, y       position in cells, x eastwards, y southwards
    heading    degrees, 0 is east, 90 is south
    vx, vy     speed, in cells per step
    spin       degrees turned by the last step

Headings are degrees because whole degrees are exact numbers: fifteen turns of 24° are one spin, to the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from framedream.envs.maze.compilation import compiled

ACTIONS = ("forward", "backward", "rotate left", "rotate right", "nothing")
FORWARD, BACKWARD, LEFT, RIGHT, NOTHING = range(len(ACTIONS))
STATE = ("x", "y", "heading", "vx", "vy", "spin")
RADIUS = 0.25

States = NDArray[np.float32]


class Motion(NamedTuple):
    """The constants of motion, per action: cells and degrees."""

    acceleration: float = 0.09
    friction: float = 0.6
    """The part of the speed that is left after one step."""
    turn: float = 24.0
    turning_inertia: float = 0.0
    """The part of the spin that is left after one step."""


@compiled
def advance(
    region: NDArray[np.int16], which: NDArray[np.int64], states: States, actions: NDArray[np.int64], motion: Motion
) -> States:
    """The states one action later; agent n is in maze `which[n]` of `region`, which holds 0 where there is wall."""
    after = np.empty_like(states)
    _, height, width = region.shape
    for n in range(len(states)):
        if not (0 <= which[n] < len(region) and 1 <= states[n, 0] < width - 1 and 1 <= states[n, 1] < height - 1):
            raise ValueError("an agent is outside its maze")
        walls = region[which[n]]
        action = actions[n]

        turn = motion.turn * (int(action == RIGHT) - int(action == LEFT))
        spin = motion.turning_inertia * float(states[n, 5]) + (1.0 - motion.turning_inertia) * turn
        heading = float(np.float32(float(states[n, 2]) + spin))
        if heading < 0.0:
            heading = float(np.float32(heading + 360.0))
        if heading >= 360.0:
            heading -= 360.0

        # Libraries disagree on the last bits of a double's cosine, not on a float's.
        angle = heading * (math.pi / 180.0)
        east, south = float(np.float32(math.cos(angle))), float(np.float32(math.sin(angle)))
        push = motion.acceleration * (int(action == FORWARD) - int(action == BACKWARD))
        vx = motion.friction * float(states[n, 3]) + push * east
        vy = motion.friction * float(states[n, 4]) + push * south
        x, y, vx, vy = _slide(walls, float(states[n, 0]), float(states[n, 1]), vx, vy)

        after[n, 0] = x
        after[n, 1] = y
        after[n, 2] = heading
        after[n, 3] = vx
        after[n, 4] = vy
        after[n, 5] = spin
    return after


@compiled
def follow(region: NDArray[np.int16], start: States, actions: NDArray[np.int64], motion: Motion) -> States:
    """The states of one agent's whole walk in one maze: `start`, and then one per action."""
    states = np.empty((len(actions) + 1, start.shape[1]), np.float32)
    states[:1] = start
    which = np.zeros(1, np.int64)
    for step in range(len(actions)):
        states[step + 1 : step + 2] = advance(region, which, states[step : step + 1], actions[step : step + 1], motion)
    return states


@compiled
def _slide(walls: NDArray[np.int16], x: float, y: float, vx: float, vy: float) -> tuple[float, float, float, float]:
    """Move a disc by (vx, vy), less than its radius, and push it out of the walls it then overlaps.

    ┌───┬───┬───┐     The centre stays in free cells, as the move is shorter than the radius. First the walls
    │   │   │▓▓▓│     north, south, east and west of its cell stop it, each taking away the speed towards it.
    ├───┼──(o)▓▓│     Then the nearest corner, if only the diagonal cell is wall: it pushes along the line
    │   │   │   │     from the corner to the centre.
    └───┴───┴───┘
    """
    x += vx
    y += vy
    column, row = int(x), int(y)
    right, below = x - column > 0.5, y - row > 0.5
    next_column = column + 1 if right else column - 1
    next_row = row + 1 if below else row - 1
    edge_x = float(column + 1 if right else column)
    edge_y = float(row + 1 if below else row)
    wall_x = walls[row, next_column] == 0
    wall_y = walls[next_row, column] == 0
    if wall_x and abs(edge_x - x) < RADIUS:
        x = edge_x - RADIUS if right else edge_x + RADIUS
        vx = min(vx, 0.0) if right else max(vx, 0.0)
    if wall_y and abs(edge_y - y) < RADIUS:
        y = edge_y - RADIUS if below else edge_y + RADIUS
        vy = min(vy, 0.0) if below else max(vy, 0.0)
    if not wall_x and not wall_y and walls[next_row, next_column] == 0:
        dx, dy = x - edge_x, y - edge_y
        distance = math.sqrt(dx * dx + dy * dy)
        if 0.0 < distance < RADIUS:
            dx /= distance
            dy /= distance
            x, y = edge_x + RADIUS * dx, edge_y + RADIUS * dy
            towards = min(vx * dx + vy * dy, 0.0)
            vx -= towards * dx
            vy -= towards * dy
    return x, y, vx, vy
