"""The contract of environments, kept by the mazes."""

from __future__ import annotations

from typing import Any, ClassVar

from contract import EnvironmentContract


class TestMaze(EnvironmentContract):
    name = "maze"
    longest = 900


class TestOtherMaze(EnvironmentContract):
    """Everything that can be chosen, chosen otherwise."""

    name = "maze"
    options: ClassVar[dict[str, Any]] = dict(
        height=20,
        width=33,
        maze_size=9,
        samples=3,
        textures="few",
        turn=40,
        turning_inertia=0.3,
        acceleration=0.05,
        friction=0.5,
        episode_frames=120,
    )
