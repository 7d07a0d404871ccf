"""Policies: reproducible from their seed, distributed as they say, and refused with a reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framedream.agents import Policy, make_policy
from framedream.envs import make_environment
from framedream.envs.counting import CountingEnvironment
from framedream.errors import UserError

NO_FRAME = np.zeros((1, 1), np.uint8)


class MazeLike(CountingEnvironment):
    """The counting environment with the five actions of the paper's mazes."""

    def __init__(self) -> None:
        super().__init__(actions=5)
        self.action_meanings = ("forward", "backward", "Rotate_Left", "rotate right", "nothing")


def actions_of(policy: Policy, seed: int, steps: int, actions: int = 5) -> list[int]:
    policy.begin(seed, actions)
    return [policy.act(NO_FRAME, {}) for _ in range(steps)]


def write_actions(folder: Path, actions: list[int]) -> Path:
    path = folder / "actions.json"
    path.write_text(json.dumps(actions))
    return path


@pytest.mark.parametrize(
    "text", ["random", "dithered:0.7", "walk-and-spin", "epsilon:0.5:dithered:0.2", "epsilon:0-0.5:walk-and-spin"]
)
def test_an_episode_is_a_function_of_its_seed(text: str) -> None:
    policy = make_policy(text, MazeLike())
    first = actions_of(policy, seed=11, steps=200)
    assert actions_of(policy, seed=12, steps=200) != first
    assert actions_of(policy, seed=11, steps=200) == first
    assert actions_of(make_policy(text, MazeLike()), seed=11, steps=200) == first
    assert all(type(action) is int and 0 <= action < 5 for action in first)
    assert json.loads(json.dumps(policy.describe())) == policy.describe()


def test_policy_and_environment_draw_independently() -> None:
    """The same seed must not give the policy the numbers that the environment draws with Gymnasium's generator."""
    environment = CountingEnvironment()
    environment.reset(seed=5)
    theirs = environment.unwrapped.np_random.integers(5, size=50).tolist()
    rewound = CountingEnvironment()
    super(CountingEnvironment, rewound).reset(seed=5)
    from_the_start = rewound.np_random.integers(5, size=50).tolist()
    assert actions_of(make_policy("random", environment), 5, 50) not in (theirs, from_the_start)


def test_random_is_uniform() -> None:
    counts = np.bincount(actions_of(make_policy("random", MazeLike()), 0, 10_000))
    assert counts.min() > 1_800
    assert counts.max() < 2_200


@pytest.mark.parametrize("dithering", [0.0, 0.3, 0.7, 1.0])
def test_dithering_changes_as_often_as_it_says(dithering: float) -> None:
    actions = np.array(actions_of(make_policy(f"dithered:{dithering}", MazeLike()), 0, 10_000))
    changed = float((actions[1:] != actions[:-1]).mean())
    # One in five new actions is the old one again.
    assert abs(changed - dithering * 0.8) < 0.03


def test_walks_and_spins_take_turns() -> None:
    actions = np.array(actions_of(make_policy("walk-and-spin", MazeLike()), 0, 15 * 200)).reshape(-1, 15)
    walks, spins = actions[0::2], actions[1::2]
    assert (spins == spins[:, :1]).all()
    assert set(np.unique(spins)) == {2, 3}
    assert 25 < int((spins[:, 0] == 2).sum()) < 75
    changed = float((walks[:, 1:] != walks[:, :-1]).mean())
    assert abs(changed - 0.7 * 0.8) < 0.06
    assert set(np.unique(walks)) == set(range(5))


def test_epsilon_mixes(tmp_path: Path) -> None:
    path = write_actions(tmp_path, [4])
    actions = np.array(actions_of(make_policy(f"epsilon:0.2:file:{path}", MazeLike()), 0, 10_000))
    assert abs(float((actions != 4).mean()) - 0.2 * 0.8) < 0.02


def test_epsilon_of_a_range_is_drawn_per_episode(tmp_path: Path) -> None:
    policy = make_policy(f"epsilon:0-0.5:file:{write_actions(tmp_path, [4])}", MazeLike())
    shares = [np.mean(np.array(actions_of(policy, seed, 300)) != 4) / 0.8 for seed in range(60)]
    assert min(shares) < 0.1
    assert 0.4 < max(shares) < 0.65
    assert 0.18 < np.mean(shares) < 0.32


def test_epsilon_does_not_stop_the_inner_clock(tmp_path: Path) -> None:
    path = write_actions(tmp_path, [0, 1, 2, 3])
    actions = np.array(actions_of(make_policy(f"epsilon:0.3:file:{path}", MazeLike()), 0, 4_000))
    # Were the file not read on during random actions, it would soon be out of step.
    assert (actions == np.arange(4_000) % 4).mean() > 0.7


def test_files_of_every_kind(tmp_path: Path) -> None:
    actions = [3, 1, 4, 1, 0]
    write_actions(tmp_path, actions)
    np.save(tmp_path / "actions.npy", np.array(actions, np.int16))
    (tmp_path / "actions.txt").write_text("3 1\n4, 1\n0\n")
    described = set()
    for name in ("actions.json", "actions.npy", "actions.txt"):
        policy = make_policy(f"file:{tmp_path / name}", MazeLike())
        assert actions_of(policy, 0, 12) == [3, 1, 4, 1, 0, 3, 1, 4, 1, 0, 3, 1]
        assert actions_of(policy, 1, 3) == [3, 1, 4]
        described.add(policy.describe()["sha256"])
    assert len(described) == 1


def test_own_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_player.py").write_text(
        "def bright(environment):\n    return lambda frame, info: int(frame.max() > 9)\n"
        "def wild(environment):\n    return lambda frame, info: 99\n"
        "def nothing(environment):\n    return 3\n"
        "class Counter:\n"
        "    def __init__(self, environment): pass\n"
        "    def begin(self, seed, actions): self.step = seed\n"
        "    def act(self, frame, info): self.step += 1; return self.step % 5\n"
        "    def describe(self): return {'name': 'counter'}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    bright = make_policy("my_player:bright", MazeLike())
    bright.begin(0, 5)
    assert [bright.act(NO_FRAME, {}), bright.act(NO_FRAME + 10, {})] == [0, 1]
    assert len(bright.describe()["source_sha256"]) == 64
    assert actions_of(make_policy("my_player:Counter", MazeLike()), 3, 3) == [4, 0, 1]
    assert make_policy("my_player:Counter", MazeLike()).describe() == {"name": "counter"}
    with pytest.raises(UserError, match="chose action 99"):
        actions_of(make_policy("my_player:wild", MazeLike()), 0, 1)
    with pytest.raises(UserError, match="returned a int"):
        make_policy("my_player:nothing", MazeLike())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("randm", "'random'"),
        ("ditherd:0.7", "'dithered:P'"),
        ("dithered:1.5", "probability from 0 to 1"),
        ("dithered", "probability from 0 to 1"),
        ("dithered:often", "probability from 0 to 1"),
        ("epsilon:0.2", "is not a policy"),
        ("epsilon:0.5-0.2:random", "is not a policy"),
        ("epsilon:-1:random", "probability from 0 to 1"),
        ("epsilon:0.2:randm", "'random'"),
        ("walk-and-spin", "rotate left"),
        ("scripted", "no scripted policy for counting"),
        ("file:nowhere.json", "no action file"),
        ("no_such_module:policy", "No module named 'no_such_module'"),
        ("", "`docs/environments.md` lists"),
    ],
)
def test_refusals_say_what_to_write(text: str, expected: str) -> None:
    with pytest.raises(UserError) as refusal:
        make_policy(text, CountingEnvironment())
    assert expected in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[0, 1, 5]", "0 to 4"),
        ("[0, -1]", "-1"),
        ("[]", "at least one"),
        ("[[0, 1]]", "one flat list"),
        ("[0.5]", "whole number"),
        ("not json", "whole numbers"),
    ],
)
def test_bad_action_files(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "actions.json"
    path.write_text(content)
    with pytest.raises(UserError, match=expected):
        make_policy(f"file:{path}", MazeLike())


@pytest.mark.parametrize(("game", "steps", "better_by"), [("pong", 600, 4), ("breakout", 350, 5)])
def test_scripted_players_beat_random(game: str, steps: int, better_by: float) -> None:
    """Over the first steps of three episodes. Played to the end the difference is much larger; see the docs."""
    environment = make_environment(f"atari/{game}")

    def score(text: str) -> float:
        policy, total = make_policy(text, environment), 0.0
        for seed in range(3):
            frame, info = environment.reset(seed=seed)
            policy.begin(seed, int(environment.action_space.n))
            for _ in range(steps):
                frame, reward, terminated, truncated, info = environment.step(policy.act(frame, info))
                total += reward
                if terminated or truncated:
                    break
        return total / 3

    assert score("scripted") > score("random") + better_by


def test_scripted_players_do_not_repeat_themselves() -> None:
    environment: Any = make_environment("atari/pong", noops=0)
    policy = make_policy("scripted", environment)
    last_frames = set()
    for seed in range(3):
        frame, info = environment.reset(seed=seed)
        policy.begin(seed, 6)
        for _ in range(200):
            frame, _, _, _, info = environment.step(policy.act(frame, info))
        last_frames.add(frame.tobytes())
    assert len(last_frames) == 3
