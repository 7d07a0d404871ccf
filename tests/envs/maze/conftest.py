"""What the tests of the mazes share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from framedream.envs.maze.environment import MazeEnvironment

sys.path.insert(0, str(Path(__file__).parents[1]))  # where contract.py is, also when only this folder is tested


@pytest.fixture(scope="session")
def few() -> MazeEnvironment:
    """A maze environment that is quick to make."""
    return MazeEnvironment(textures="few")
