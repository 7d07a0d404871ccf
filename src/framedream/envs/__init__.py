"""Environments: each a `FrameEnvironment`, made by name."""

from __future__ import annotations

from typing import Any

from framedream.envs.frame_environment import FrameEnvironment


def make_environment(name: str, **options: Any) -> FrameEnvironment:
    """The environment called `name` (`atari/pong`, `gym:ID`, `module:function`, …) with its options."""
    from framedream.envs.counting import CountingEnvironment

    if name != "counting":
        raise NotImplementedError(name)
    return CountingEnvironment(**options)
