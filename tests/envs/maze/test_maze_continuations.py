"""Any situation can be returned to and continued: alone, among many, from what a recording holds, in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framedream.envs.maze.environment import MazeEnvironment
from framedream.errors import UserError

ACTIONS = np.random.default_rng(0).choice(5, size=60, p=[0.5, 0.1, 0.15, 0.15, 0.1]).tolist()


def walked(seed: int, steps: int) -> MazeEnvironment:
    environment = MazeEnvironment(textures="few", turning_inertia=0.3)
    environment.reset(seed=seed)
    for action in ACTIONS[:steps]:
        environment.step(action)
    return environment


def test_a_situation_continues_the_same_way_elsewhere() -> None:
    for seed in range(4):
        environment = walked(seed, 30)
        situation = environment.situation()
        expected = [environment.step(action) for action in ACTIONS[30:]]
        elsewhere = MazeEnvironment(textures="few", turning_inertia=0.3)
        elsewhere.reset(seed=99, options=situation)
        for (frame, *outcome, info), action in zip(expected, ACTIONS[30:], strict=True):
            frame_there, *outcome_there, info_there = elsewhere.step(action)
            np.testing.assert_array_equal(frame, frame_there)
            np.testing.assert_array_equal(info["state"], info_there["state"])
            assert outcome == outcome_there


def test_recorded_states_are_enough(few: MazeEnvironment) -> None:
    """The episode's seed and one row of recorded state, without anything else, give the same future."""
    for seed in range(4):
        few.reset(seed=seed)
        seen = [few.step(action) for action in ACTIONS]
        state = seen[29][4]["state"]
        frame, _ = few.reset(seed=seed, options={"pose": state[:3], "velocity": state[3:]})
        np.testing.assert_array_equal(frame, seen[29][0])
        for action, (frame, *_) in zip(ACTIONS[30:], seen[30:], strict=True):
            np.testing.assert_array_equal(few.step(action)[0], frame)


def test_layout_and_pose_are_independent_of_each_other(few: MazeEnvironment) -> None:
    _, own = few.reset(seed=1)
    _, given = few.reset(seed=2, options={"layout_seed": own["layout_seed"]})
    np.testing.assert_array_equal(own["layout"], given["layout"])
    np.testing.assert_array_equal(own["free"], own["layout"] > 0)
    assert not np.array_equal(own["state"], given["state"])
    _, moved = few.reset(seed=1, options={"pose": given["state"][:3]})
    np.testing.assert_array_equal(moved["layout"], own["layout"])
    np.testing.assert_array_equal(moved["state"], given["state"])


def test_episodes_have_the_length_asked_for() -> None:
    environment = MazeEnvironment(textures="few", episode_frames=12)
    environment.reset(seed=0)
    assert [environment.step(4)[3] for _ in range(11)] == [False] * 10 + [True]
    environment.reset(options={"step": 10})
    assert environment.step(4)[3]
    environment = MazeEnvironment(textures="few")
    environment.reset(seed=0)
    assert sum(not environment.step(0)[3] for _ in range(899)) == 898  # 900 frames with the first one


@pytest.mark.parametrize("threads", [1, 3])
def test_many_at_once_are_as_one_by_one(few: MazeEnvironment, threads: int) -> None:
    """Forty agents in ten mazes, each with its own actions."""
    layouts = [few.draw_layout(seed) for seed in range(10)]
    mazes, which = few.vector(layouts, threads), np.arange(40) % 10
    states = np.concatenate([few.reset(seed=n, options={"layout_seed": n % 10})[1]["state"][None] for n in range(40)])
    actions = np.random.default_rng(1).integers(5, size=(20, 40))
    episodes = []
    for row in actions:
        states = mazes.step(states, row, which)
        episodes.append((mazes.frames(states, which), states))
    for n in range(0, 40, 7):
        few.reset(seed=n, options={"layout_seed": n % 10})
        for row, (frames, states) in zip(actions, episodes, strict=True):
            frame, *_, info = few.step(int(row[n]))
            np.testing.assert_array_equal(frames[n], frame)
            np.testing.assert_array_equal(states[n], info["state"])


def test_a_walk_is_its_steps(few: MazeEnvironment) -> None:
    """All at once, in compiled code, or one by one: to the last bit; with a place given for the frames, too."""
    for seed in range(6):
        mazes, state = (
            few.vector([few.draw_layout(seed)]),
            few.reset(seed=seed, options={"layout_seed": seed})[1]["state"],
        )
        states = [state[None]]
        for action in ACTIONS:
            states.append(mazes.step(states[-1], [action]))
        walk = mazes.walk(state[None], ACTIONS)
        np.testing.assert_array_equal(walk, np.concatenate(states))
    place = np.full((3, 48, 48, 3), 9, np.uint8)
    assert mazes.frames(walk[:3], [0, 0, 0], place) is place
    np.testing.assert_array_equal(place, mazes.frames(walk[:3], [0, 0, 0]))
    with pytest.raises(ValueError, match="do not fit"):
        mazes.frames(walk[:2], [0, 0], place)
    with pytest.raises(ValueError, match="one action"):
        mazes.walk(state[None], [0, 5])


def test_states_of_any_kind_of_array_will_do(few: MazeEnvironment) -> None:
    mazes = few.vector([few.draw_layout(0)])
    state = few.reset(seed=0, options={"layout_seed": 0})[1]["state"]
    expected = mazes.frames(state[None])
    read_only = np.repeat(state[None].astype(np.float64), 2, 0)[::2]
    read_only.setflags(write=False)
    np.testing.assert_array_equal(mazes.frames(read_only), expected)


WALK = """
import hashlib
from framedream.envs.maze.environment import MazeEnvironment
environment = MazeEnvironment(textures="few")
seen = hashlib.sha256()
for seed in range(3):
    seen.update(environment.reset(seed=seed)[0].tobytes())
    for action in (0, 0, 2, 0, 3, 3, 1, 0):
        seen.update(environment.step(action)[0].tobytes())
"""


@pytest.mark.parametrize(
    "surroundings",
    [
        pytest.param({"NUMBA_DISABLE_JIT": "1"}, id="interpreted"),
        pytest.param({"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, id="simplest", marks=pytest.mark.slow),
    ],
)
def test_other_machines_see_the_same(surroundings: dict[str, str], tmp_path: Path) -> None:
    """To the last bit: Python itself as it reads the source, and a processor without any extensions."""
    here: dict[str, Any] = {}
    exec(WALK, here)
    command = [sys.executable, "-c", f"{WALK}\nprint(seen.hexdigest())"]
    environment = os.environ | surroundings | {"NUMBA_CACHE_DIR": str(tmp_path)}
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here["seen"].hexdigest()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pose": (0.5, 0.5, 0)}, "not free"),
        ({"pose": (-3, 1e9, 0)}, "not free"),
        ({"pose": (float("nan"), 1, 0)}, "not free"),
        ({"pose": (1, 2)}, "pose as"),
        ({"pose": "here"}, "pose as"),
        ({"pose": (3, 3, float("inf"))}, "pose as"),
        ({"step": -1}, "step"),
        ({"layout_sed": 3}, "layout_seed"),
        ({"layout_seed": -1}, "layout_seed"),
        ({"layout_seed": "one"}, "layout_seed"),
        ({"velocity": (0.1, 0)}, "pose"),
    ],
)
def test_wrong_reset_options_are_refused(few: MazeEnvironment, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        few.reset(seed=0, options=options)


def test_too_fast_is_refused(few: MazeEnvironment) -> None:
    pose = few.reset(seed=0)[1]["state"][:3]
    for velocity in ((0.2, 0.2), (0, 0, 25), (float("inf"), 0)):
        with pytest.raises(UserError, match="too fast"):
            few.reset(seed=0, options={"pose": pose, "velocity": velocity})


@pytest.mark.parametrize(
    "arguments",
    [
        dict(height=4),
        dict(maze_size=16),
        dict(maze_size=5),
        dict(samples=0),
        dict(samples=9),
        dict(friction=1.0),
        dict(acceleration=0.3),
        dict(turn=0),
        dict(turning_inertia=-0.1),
        dict(episode_frames=1),
        dict(textures="feu"),
    ],
)
def test_wrong_options_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(UserError):
        MazeEnvironment(**arguments)
