"""Environments: each a `FrameEnvironment`, made by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from framedream.envs.catalogue import EnvironmentEntry, list_environments
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.envs.options import check_options
from framedream.errors import unknown_name

__all__ = ["EnvironmentEntry", "Frame", "FrameEnvironment", "list_environments", "make_environment"]


def make_environment(name: str, **options: Any) -> FrameEnvironment:
    """The environment called `name` (`atari/pong`, `gym:ID`, `module:function`, …) with its options."""
    maker = find_maker(name)
    check_options(name, maker, options)
    return maker(**options)


def find_maker(name: str) -> Callable[..., FrameEnvironment]:
    """What builds the environment called `name`. Imports only that environment."""
    if name == "counting":
        from framedream.envs.counting import CountingEnvironment

        return CountingEnvironment
    if name == "maze":
        from framedream.envs.maze.environment import MazeEnvironment

        return MazeEnvironment
    if name == "torcs":
        from framedream.envs.torcs.environment import TorcsEnvironment

        return TorcsEnvironment
    if name.startswith("atari/"):
        from framedream.envs.atari import AtariEnvironment

        return partial(AtariEnvironment, name.removeprefix("atari/"))
    # Before `module:function`, and whatever follows: Gymnasium ids may hold colons themselves.
    if name.startswith("gym:"):
        from framedream.envs.gymnasium_ids import make_gymnasium_environment

        return partial(make_gymnasium_environment, name.removeprefix("gym:"))
    if ":" in name:
        from framedream.envs.own import make_own_environment

        return partial(make_own_environment, name)
    raise unknown_name("environment", name, (entry.name for entry in list_environments()), "framedream envs")
