"""Policies that look at nothing: random, dithered, and the walk with spins of the paper's mazes."""

from __future__ import annotations

from typing import Any

from framedream.agents.policy import policy_generator
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.errors import UserError

TURNS = ("rotate", "turn", "spin")
WALK_DITHERING = 0.7
STRETCH = 15


class DitheredPolicy:
    """With probability `dithering` a new action, uniformly drawn; otherwise the last one again."""

    def __init__(self, dithering: float) -> None:
        self._dithering = dithering

    def begin(self, seed: int, actions: int) -> None:
        self._random, self._actions = policy_generator(seed), actions
        self._last: int | None = None

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        if self._last is None or self._random.random() < self._dithering:
            self._last = int(self._random.integers(self._actions))
        return self._last

    def describe(self) -> dict[str, Any]:
        return {"name": "dithered", "dithering": self._dithering}


class RandomPolicy:
    """Every action uniformly drawn."""

    def begin(self, seed: int, actions: int) -> None:
        self._random, self._actions = policy_generator(seed), actions

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        return int(self._random.integers(self._actions))

    def describe(self) -> dict[str, Any]:
        return {"name": "random"}


class WalkAndSpinPolicy:
    """Fifteen steps of a random walk, then fifteen of turning one way (the paper's appendix on 3D mazes).

    The walk has a dithering of 0.7; the way of each spin is drawn anew.
    """

    def __init__(self, environment: FrameEnvironment) -> None:
        self._ways = (turning_action(environment, "left"), turning_action(environment, "right"))
        self._walk = DitheredPolicy(WALK_DITHERING)

    def begin(self, seed: int, actions: int) -> None:
        self._random = policy_generator(seed)
        self._walk.begin(int(self._random.integers(2**63)), actions)
        self._step = 0

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        stretch, within = divmod(self._step, STRETCH)
        self._step += 1
        if stretch % 2 == 0:
            return self._walk.act(frame, info)
        if within == 0:
            self._way = self._ways[int(self._random.integers(2))]
        return self._way

    def describe(self) -> dict[str, Any]:
        return {"name": "walk-and-spin", "stretch": STRETCH, "dithering": WALK_DITHERING}


def turning_action(environment: FrameEnvironment, way: str) -> int:
    """The action that turns on the spot, found by its name: `rotate left`, `turn right`, …"""
    meanings = [meaning.lower().replace("_", " ") for meaning in environment.action_meanings]
    for turn in TURNS:
        if f"{turn} {way}" in meanings:
            return meanings.index(f"{turn} {way}")
    raise UserError(
        f"walk-and-spin needs actions named 'rotate left' and 'rotate right', "
        f"but those of {environment.name} are: {', '.join(environment.action_meanings)}."
    )
