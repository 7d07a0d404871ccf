"""The contract, kept by other people's environments where they are installed; collected only there."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from contract import EnvironmentContract

from framedream.envs import FrameEnvironment

pytestmark = pytest.mark.slow
FORWARD, BACKWARD, LEFT, RIGHT = range(4)
PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"


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

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # VizDoom leaves a file where it is started


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


class FromTheDocs(EnvironmentContract):
    """The code of docs/adapters.md, in a folder of its own, where it is found as a user's is."""

    __test__ = False

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = f"{self.name.partition(':')[0]}.py"
        (code,) = re.findall(rf"```python\n(# {file}\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        (tmp_path / file).write_text(code, encoding="utf-8")
        monkeypatch.chdir(tmp_path)


class PapersActions(FromTheDocs):
    """What the two that have the paper's actions must do with them."""

    def test_the_actions_are_those_of_the_mazes(self, environment: FrameEnvironment) -> None:
        assert environment.action_meanings == ("forward", "backward", "rotate left", "rotate right", "nothing")

    def test_fifteen_turns_are_a_spin(self, environment: FrameEnvironment) -> None:
        for seed in range(3):
            first, _ = environment.reset(seed=seed)
            frames = [environment.step(RIGHT)[0] for _ in range(15)]
            np.testing.assert_array_equal(frames[-1], first)
            assert len({frame.tobytes() for frame in frames}) > 10

    def test_left_undoes_right_and_backward_goes_the_other_way(self, environment: FrameEnvironment) -> None:
        def moved(*actions: int) -> np.ndarray:
            start = environment.reset(seed=4)[1]["state"]
            return np.array([environment.step(action)[4]["state"] for action in actions][-1]) - start

        assert abs(moved(RIGHT)[-1]) > 0.3 and abs(moved(RIGHT, LEFT)[-1]) < 0.01
        assert moved(FORWARD)[:-1] @ moved(BACKWARD)[:-1] < 0


class TestDoomMazes(PapersActions):
    __test__ = find_spec("vizdoom") is not None
    name = "doom_mazes:make"
    options: ClassVar = dict(crop=[0, 20, 120, 120], resize=[48, 48], steps=80)


class TestMiniMazes(PapersActions):
    __test__ = find_spec("miniworld") is not None
    name = "mini_mazes:make"
    options: ClassVar = dict(rows=3, resize=[48, 48], steps=80)


@pytest.mark.timeout(600)
class TestMemoryMaze(FromTheDocs):
    __test__ = find_spec("memory_maze") is not None
    name = "memory_game:make"
    options: ClassVar = dict(resize=[48, 48], steps=65)
