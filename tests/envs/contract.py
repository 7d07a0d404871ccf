"""What every environment must keep; a test class per environment inherits all of it."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, ClassVar

import gymnasium.utils.env_checker
import numpy as np
import pytest
from gymnasium import spaces

from framedream.envs import FrameEnvironment, make_environment
from framedream.errors import UserError


class EnvironmentContract:
    """Give `name`, and `options` with which episodes end within `longest` random steps."""

    name: str
    options: ClassVar[dict[str, Any]] = {}
    longest = 400
    seeds_differ = True

    @pytest.fixture
    def environment(self) -> Iterator[FrameEnvironment]:
        environment = make_environment(self.name, **self.options)
        yield environment
        environment.close()

    def test_frames_are_bytes_of_the_declared_shape(self, environment: FrameEnvironment) -> None:
        assert isinstance(environment.observation_space, spaces.Box)
        assert environment.observation_space.dtype == np.uint8
        for frame, _, info in play(environment, seed=0, steps=self.longest):
            assert isinstance(frame, np.ndarray)
            assert frame.dtype == np.uint8
            assert frame.shape == environment.observation_space.shape
            assert environment.rgb(frame).shape == (*frame.shape[:2], 3)
            assert isinstance(info, dict)

    def test_palette_exactly_where_frames_are_indices(self, environment: FrameEnvironment) -> None:
        if len(environment.observation_space.shape or ()) == 2:
            assert environment.palette is not None
            assert environment.palette.shape == (256, 3)
            assert environment.palette.dtype == np.uint8
        else:
            assert environment.palette is None
            assert environment.observation_space.shape is not None
            assert environment.observation_space.shape[2] == 3

    def test_actions_are_numbered_and_named(self, environment: FrameEnvironment) -> None:
        assert isinstance(environment.action_space, spaces.Discrete)
        assert environment.action_space.start == 0
        assert len(environment.action_meanings) == environment.action_space.n
        assert all(isinstance(meaning, str) and meaning for meaning in environment.action_meanings)
        environment.reset(seed=0)
        for wrong in (-1, int(environment.action_space.n)):
            with pytest.raises(ValueError, match="actions"):
                environment.step(wrong)

    def test_same_seed_same_episode(self, environment: FrameEnvironment) -> None:
        first = digest(environment, seed=3, steps=60)
        digest(environment, seed=4, steps=37)  # what happened in between must not matter
        assert digest(environment, seed=3, steps=60) == first
        assert digest(make_environment(self.name, **self.options), seed=3, steps=60) == first

    def test_other_seed_other_episode(self, environment: FrameEnvironment) -> None:
        if not self.seeds_differ:
            pytest.skip("this environment draws nothing")
        assert len({digest(environment, seed=seed, steps=30) for seed in range(8)}) > 1

    def test_episodes_end_and_start_again(self, environment: FrameEnvironment) -> None:
        for seed in range(2):
            *_, last = play(environment, seed, self.longest)
            frame, (reward, terminated, truncated), info = last
            assert type(reward) is float
            assert type(terminated) is bool
            assert type(truncated) is bool
            assert terminated or truncated, f"no end within {self.longest} steps"
            assert environment.observation_space.contains(frame)
            assert isinstance(info, dict)

    def test_frames_do_not_change_afterwards(self, environment: FrameEnvironment) -> None:
        kept, copies, states = [], [], []
        for frame, _, info in play(environment, seed=1, steps=20):
            kept.append((frame, info.get("state")))
            copies.append(frame.copy())
            states.append(None if info.get("state") is None else info["state"].copy())
        for (frame, state), copy, state_copy in zip(kept, copies, states, strict=True):
            np.testing.assert_array_equal(frame, copy)
            if state is not None:
                np.testing.assert_array_equal(state, state_copy)

    def test_state_is_one_flat_array_throughout(self, environment: FrameEnvironment) -> None:
        states = [info.get("state") for _, _, info in play(environment, seed=2, steps=60)]
        if all(state is None for state in states):
            return
        assert all(isinstance(state, np.ndarray) and state.ndim == 1 for state in states)
        assert len({(state.dtype, state.shape) for state in states if state is not None}) == 1

    def test_recipe_is_json(self, environment: FrameEnvironment) -> None:
        assert environment.name == self.name
        arguments = json.loads(json.dumps(environment.arguments))
        json.dumps(environment.provenance())
        again = make_environment(environment.name, **arguments)
        assert digest(again, seed=5, steps=20) == digest(environment, seed=5, steps=20)

    def test_workers_show_the_same_frames(self, environment: FrameEnvironment) -> None:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawn) as workers:
            there = workers.submit(digest, environment, 6, 40).result(timeout=60)
        assert there == digest(environment, seed=6, steps=40)

    def test_a_replay_shows_any_stretch_of_what_was_played(self, environment: FrameEnvironment) -> None:
        if type(environment).replay is FrameEnvironment.replay:
            with pytest.raises(UserError, match="only by playing"):
                environment.replay(0, np.zeros(0, np.int16))
            return
        played = list(play(environment, seed=7, steps=60))
        actions = np.random.default_rng(1007).integers(environment.action_space.n, size=len(played) - 1)
        environment.reset(seed=8)  # what the environment does by now must not matter
        replay = environment.replay(7, actions.astype(np.int16))
        for start, end in ((0, len(played)), (0, 1), (len(played) - 1, len(played)), (13, 21)):
            frames = np.empty((end - start, *played[0][0].shape), np.uint8)
            replay.frames(start, frames)
            np.testing.assert_array_equal(frames, np.stack([frame for frame, _, _ in played[start:end]]))
            if "state" in played[0][2]:
                expected = np.stack([info["state"] for _, _, info in played[start:end]])
                states = np.empty_like(expected)
                replay.states(start, states)
                np.testing.assert_array_equal(states, expected)
        assert replay.memory > 0

    def test_closing_twice_is_fine(self, environment: FrameEnvironment) -> None:
        environment.reset(seed=0)
        environment.close()
        environment.close()

    def test_gymnasium_finds_no_fault(self, environment: FrameEnvironment) -> None:
        with warnings.catch_warnings():
            # It warns that indexed frames are not H×W×3, which is what `palette` is for.
            warnings.simplefilter("ignore")
            gymnasium.utils.env_checker.check_env(environment, skip_render_check=True)


Seen = tuple[Any, tuple[float, bool, bool], dict[str, Any]]


def play(environment: FrameEnvironment, seed: int, steps: int) -> Iterator[Seen]:
    """Frame, (reward, terminated, truncated), info of one episode of random actions, at most `steps` of them."""
    frame, info = environment.reset(seed=seed)
    yield frame, (0.0, False, False), info
    random = np.random.default_rng(seed + 1000)
    for _ in range(steps):
        frame, *outcome, info = environment.step(int(random.integers(environment.action_space.n)))
        yield frame, tuple(outcome), info
        if outcome[1] or outcome[2]:
            return


def digest(environment: FrameEnvironment, seed: int, steps: int) -> str:
    """One hash over all that an episode shows."""
    seen = hashlib.sha256()
    for frame, outcome, info in play(environment, seed, steps):
        seen.update(frame.tobytes() + repr(outcome).encode())
        if "state" in info:
            seen.update(info["state"].tobytes())
    return seen.hexdigest()
