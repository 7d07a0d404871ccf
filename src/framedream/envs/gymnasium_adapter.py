"""Somebody else's gymnasium.Env as an environment of frames and numbered actions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from framedream.envs.cut import Cut
from framedream.envs.discrete_actions import discrete_actions
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.envs.frame_sources import RENDER, as_frame, pick
from framedream.errors import UserError


class GymnasiumAdapter(FrameEnvironment):
    """Frames from an observation or from rendering, cropped, then resized; actions numbered, then repeated.

    `info["state"]` of the wrapped environment, where it is a flat array of numbers, is kept as the ground truth.
    """

    def __init__(
        self,
        environment: gymnasium.Env[Any, Any],
        *,
        name: str,
        arguments: dict[str, Any],
        provenance: dict[str, Any],
        source: str,
        resize: Sequence[int] | None = None,
        crop: Sequence[int] | None = None,
        action_repeat: int = 1,
        actions: Sequence[Any] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> None:
        if action_repeat < 1:
            raise UserError(f"action_repeat of {name} is {action_repeat}; give 1 or more.")
        self.name, self.arguments, self.action_repeat = name, arguments, action_repeat
        self._environment, self._provenance, self._source = environment, provenance, source
        self._actions = discrete_actions(environment.action_space, actions, name)
        self.action_space = spaces.Discrete(len(self._actions))
        self.action_meanings = meanings(environment, self._actions, action_names, name)

        # What an environment declares and what it shows may differ, and rendering declares nothing: look at one.
        observation, _ = environment.reset(seed=0)
        self._seen_shape: tuple[int, ...] | None = None
        first = self._look(observation)
        self._seen_shape = first.shape
        self._cut = Cut(crop, resize, first.shape, name)
        self.observation_space = spaces.Box(0, 255, self._cut.shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        super().reset(seed=seed)
        observation, info = self._environment.reset(seed=seed, options=options)
        return self._cut(self._look(observation)), with_flat_state(info)

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        self.check_action(action)
        total = 0.0
        for _ in range(self.action_repeat):
            observation, reward, terminated, truncated, info = self._environment.step(self._actions[action])
            total += float(reward)
            if terminated or truncated:
                break
        return self._cut(self._look(observation)), total, bool(terminated), bool(truncated), with_flat_state(info)

    def close(self) -> None:
        self._environment.close()

    def provenance(self) -> dict[str, Any]:
        return self._provenance

    def _look(self, observation: Any) -> Frame:
        if self._source == RENDER:
            image = self._environment.render()
            if image is None:
                raise UserError(f"{self.name} renders nothing; make it with render_mode='rgb_array'.")
        else:
            image = pick(observation, self._source)
        frame = as_frame(image, self.name)
        if self._seen_shape is not None and frame.shape != self._seen_shape:
            raise UserError(
                f"The frames of {self.name} changed from {self._seen_shape} to {frame.shape}; "
                "every frame must have one shape, so resize them inside the environment."
            )
        return frame


def meanings(
    environment: gymnasium.Env[Any, Any], actions: list[Any], names: Sequence[str] | None, name: str
) -> tuple[str, ...]:
    """The names given, else those that the environment knows for its actions, else the actions themselves."""
    if names is not None:
        if len(names) != len(actions):
            raise UserError(f"{name} has {len(actions)} actions but {len(names)} action_names; give one for each.")
        return tuple(names)
    space = environment.action_space
    if isinstance(space, spaces.Discrete):
        known = known_meanings(environment)
        if len(known) >= space.n:
            return tuple(known[action - int(space.start)] for action in actions)
        return tuple(f"action {action}" for action in actions)
    return tuple(str(as_plain(action)) for action in actions)


def known_meanings(environment: gymnasium.Env[Any, Any]) -> list[str]:
    """What the environment calls its numbered actions, if it says so in one of the usual ways."""
    # A wrapper that changes the actions is the one to name them.
    if environment.has_wrapper_attr("get_action_meanings"):
        return list(environment.get_wrapper_attr("get_action_meanings")())
    # MiniGrid and MiniWorld have an enumeration, which may go on beyond the actions of this environment.
    enumeration = getattr(environment.unwrapped, "actions", None)
    if isinstance(enumeration, type) and issubclass(enumeration, Enum):
        return [action.name for action in enumeration]
    return []


def as_plain(action: Any) -> Any:
    if isinstance(action, dict):
        return {key: as_plain(value) for key, value in action.items()}
    return action.tolist() if isinstance(action, np.ndarray) else action


def with_flat_state(info: dict[str, Any]) -> dict[str, Any]:
    """`info` with its `state` as a flat array of numbers, or without."""
    info = dict(info)
    state = np.asarray(info.pop("state", None))
    if state.dtype.kind in "biuf" and state.ndim == 1:
        info["state"] = state.copy()
    return info
