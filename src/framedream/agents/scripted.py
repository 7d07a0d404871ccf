"""Simple players of single games, written by hand: they read the truth behind the screen, such as the console's memory.

Each aims a little differently at every return, drawn from its seed. Without that a player and a game that are both
deterministic fall into a loop, and all episodes are nearly the same one.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from framedream.agents.policy import policy_generator
from framedream.agents.torcs_driver import TorcsDriver
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.errors import UserError

Memory = NDArray[np.uint8]


class Player(Protocol):
    """Plays one episode."""

    def __init__(self, random: np.random.Generator) -> None: ...

    def choose(self, state: NDArray[Any]) -> str:
        """The name of an action, from `info["state"]`: of Atari games the console's 128 bytes."""


class PongPlayer:
    """Goes where the ball will cross the paddle's column, bounces included; otherwise follows its height."""

    BALL_X, BALL_Y, PADDLE_Y = 49, 54, 51
    PADDLE_X = 189
    TOP, BOTTOM = 48, 204
    # From the paddle's to the ball's number when their middles are level.
    LEVEL = 6
    # The paddle slides on after a press: about this many times its last step.
    SLIDE = 0.7
    CLOSE_ENOUGH = 5
    AIM = 5

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._ball, self._paddle = (0, 0), 0
        self._approaching, self._aim = False, 0

    def choose(self, state: Memory) -> str:
        x, y, paddle = int(state[self.BALL_X]), int(state[self.BALL_Y]), int(state[self.PADDLE_Y])
        across, down = x - self._ball[0], y - self._ball[1]
        slide = self.SLIDE * (paddle - self._paddle)
        self._ball, self._paddle = (x, y), paddle
        if y == 0:
            return "NOOP"
        if across > 0 and not self._approaching:
            self._aim = int(self._random.integers(-self.AIM, self.AIM + 1))
        self._approaching = across > 0
        target = self._bounced(y + down * max(0, self.PADDLE_X - x) / across) if across > 0 else y
        below = target - self.LEVEL + self._aim - (paddle + slide)
        if abs(below) < self.CLOSE_ENOUGH:
            return "NOOP"
        return "LEFT" if below > 0 else "RIGHT"

    def _bounced(self, y: float) -> float:
        height = self.BOTTOM - self.TOP
        beyond = (y - self.TOP) % (2 * height)
        return self.TOP + min(beyond, 2 * height - beyond)


class BreakoutPlayer:
    """Keeps the paddle under the ball; serves when there is none."""

    BALL_X, BALL_Y, PADDLE_X = 99, 101, 72
    # From the paddle's to the ball's number when their middles are level.
    LEVEL = 9
    CLOSE_ENOUGH = 3
    AIM = 4

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._height, self._falling, self._aim = 0, False, 0

    def choose(self, state: Memory) -> str:
        ball, height, paddle = int(state[self.BALL_X]), int(state[self.BALL_Y]), int(state[self.PADDLE_X])
        falling = height > self._height
        if falling and not self._falling:
            self._aim = int(self._random.integers(-self.AIM, self.AIM + 1))
        self._height, self._falling = height, falling
        if height == 0:
            return "FIRE"
        aside = ball - self.LEVEL + self._aim - paddle
        if abs(aside) < self.CLOSE_ENOUGH:
            return "NOOP"
        return "RIGHT" if aside > 0 else "LEFT"


PLAYERS: dict[str, type[Player]] = {
    "atari/pong": PongPlayer,
    "atari/breakout": BreakoutPlayer,
    "torcs": TorcsDriver,
}


class ScriptedPolicy:
    """The hand-written player of an environment that has one."""

    def __init__(self, environment: FrameEnvironment) -> None:
        if environment.name not in PLAYERS:
            raise UserError(
                f"There is no scripted policy for {environment.name}; there is one for each of {', '.join(PLAYERS)}."
            )
        self._name = environment.name
        self._action = {meaning: number for number, meaning in enumerate(environment.action_meanings)}

    def begin(self, seed: int, actions: int) -> None:
        self._player = PLAYERS[self._name](policy_generator(seed))

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        return self._action[self._player.choose(info["state"])]

    def describe(self) -> dict[str, Any]:
        return {"name": "scripted", "environment": self._name}
