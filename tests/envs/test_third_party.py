"""The contract, kept by other people's environments where they are installed; collected only there."""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar

import pytest
from contract import EnvironmentContract

pytestmark = pytest.mark.slow


class TestMiniGrid(EnvironmentContract):
    __test__ = find_spec("minigrid") is not None
    name = "gym:MiniGrid-Empty-8x8-v0"
    options: ClassVar = dict(actions=[0, 1, 2], resize=[64, 64])
    seeds_differ = False


class TestVizDoom(EnvironmentContract):
    __test__ = find_spec("vizdoom") is not None
    name = "gym:VizdoomMyWayHome-v1"
    options: ClassVar = dict(resize=[48, 64])
    longest = 2200


class TestCarRacing(EnvironmentContract):
    __test__ = find_spec("Box2D") is not None
    name = "gym:CarRacing-v3"
    options: ClassVar = dict(
        actions=[[0, 1, 0], [-1, 0.5, 0], [1, 0.5, 0]], make_arguments=dict(max_episode_steps=80), action_repeat=2
    )


class TestCartPole(EnvironmentContract):
    __test__ = find_spec("pygame") is not None
    name = "gym:CartPole-v1"
    options: ClassVar = dict(resize=[80, 120])
