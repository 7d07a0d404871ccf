"""Small Gymnasium environments of every kind that the adapter meets, registered under `small_environments:…`."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from framedream.envs.counting import CountingEnvironment

PICTURE = spaces.Box(0, 255, (20, 24, 3), np.uint8)


class DotEnvironment(gymnasium.Env[Any, Any]):
    """A dot that starts anywhere and moves; its pixel is (200, 100, 50), and red counts the steps at (0, 0)."""

    observation_space: spaces.Space[Any] = PICTURE
    action_space: spaces.Space[Any] = spaces.Discrete(3, start=-1)
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own way of declaring it

    def __init__(self, render_mode: str | None = None, length: int = 30) -> None:
        self.render_mode = render_mode
        self._length = length
        self._picture = np.zeros(PICTURE.shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.row, self.column, self.steps = 10, int(self.np_random.integers(1, 24)), 0
        return self.observation(), self.info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.row = (self.row + self.movement(action)) % 20
        self.steps += 1
        return self.observation(), 1.0, self.steps == self._length, False, self.info()

    def movement(self, action: Any) -> int:
        return int(action)

    def info(self) -> dict[str, Any]:
        return {"state": np.array([self.row, self.column], np.int64), "word": "dot"}

    def picture(self) -> np.ndarray[Any, Any]:
        # One buffer for every frame, as some emulators do: the adapter must copy it.
        self._picture[:] = 0
        self._picture[self.row, self.column] = (200, 100, 50)
        self._picture[0, 0, 0] = self.steps
        return self._picture

    def observation(self) -> Any:
        return self.picture()

    def render(self) -> Any:
        return self.picture() if self.render_mode == "rgb_array" else None


class DictEnvironment(DotEnvironment):
    """A few cells with numbers, a picture, and a speed."""

    observation_space = spaces.Dict(
        cells=spaces.Box(0, 255, (7, 7, 3), np.uint8), screen=PICTURE, speed=spaces.Box(0, 1, (1,), np.float32)
    )

    def observation(self) -> Any:
        return {"cells": np.ones((7, 7, 3), np.uint8), "screen": self.picture(), "speed": np.zeros(1, np.float32)}


class SteeredEnvironment(DotEnvironment):
    """Actions of two numbers."""

    action_space = spaces.Box(-1, 1, (2,), np.float32)

    def movement(self, action: Any) -> int:
        assert isinstance(action, np.ndarray)
        assert action.dtype == np.float32
        return round(float(action[0]))


class FloatEnvironment(DotEnvironment):
    """Pictures between 0 and 1."""

    observation_space = spaces.Box(0, 1, (20, 24, 3), np.float32)

    def observation(self) -> Any:
        return self.picture().astype(np.float32) / 255


class DeceitfulEnvironment(DotEnvironment):
    """Declares bytes and returns floats."""

    def observation(self) -> Any:
        return self.picture() / 255


class GrowingEnvironment(DotEnvironment):
    """Pictures that change their shape on the way."""

    def observation(self) -> Any:
        return np.zeros((20 + (self.steps > 4), 24, 3), np.uint8)


class Move(IntEnum):
    """The moves of a whole family of environments, of which each may know only the first few."""

    up = 0
    stay = 1
    down = 2
    jump = 3


class GreyEnvironment(DotEnvironment):
    """Pictures of one brightness, and moves with names."""

    actions = Move
    observation_space = spaces.Box(0, 255, (20, 24), np.uint8)

    def observation(self) -> Any:
        return self.picture()[..., 0]


class RenderedEnvironment(DotEnvironment):
    """Only numbers to observe; the picture is in `render()`."""

    observation_space = spaces.Box(0, 30, (2,), np.float32)

    def observation(self) -> Any:
        return np.array([self.row, self.column], np.float32)


class BlindEnvironment(RenderedEnvironment):
    """Numbers to observe, and nothing to render."""

    def __init__(self) -> None:
        super().__init__()


class Renaming(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Says what the actions of the environment in it are called."""

    def get_action_meanings(self) -> list[str]:
        return ["up", "stay", "down"]


def renamed() -> gymnasium.Env[Any, Any]:
    return gymnasium.wrappers.TimeLimit(Renaming(DotEnvironment()), 10)


def make_dot(length: int = 30, actions: str = "up and down") -> DotEnvironment:
    """An own environment; one of its options is called like one of the adapter's."""
    assert isinstance(actions, str)
    return DotEnvironment(length=length)


def make_counting(actions: int = 3, **options: Any) -> CountingEnvironment:
    return CountingEnvironment(actions=actions, **options)


def make_number() -> int:
    return 7


for kind in (
    DotEnvironment,
    DictEnvironment,
    SteeredEnvironment,
    FloatEnvironment,
    DeceitfulEnvironment,
    GrowingEnvironment,
    GreyEnvironment,
    RenderedEnvironment,
    BlindEnvironment,
):
    gymnasium.register(f"{kind.__name__.removesuffix('Environment')}-v0", kind)
