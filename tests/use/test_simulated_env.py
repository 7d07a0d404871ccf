"""A simulator as an environment: the contract of all environments, states to come back to, jumps, rewards and ends."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from contract import EnvironmentContract
from dreamed import counted_frames, dreaming_simulator, random_actions
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

from framedream.checkpoint.checkpoint import open_checkpoint
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.plan import Amount
from framedream.data.reader import SegmentReader
from framedream.data.recorder import record
from framedream.data.segment import SegmentId
from framedream.envs import make_environment
from framedream.envs.counting import read_count
from framedream.errors import UserError
from framedream.use.simulated_env import SimulatedEnv

NAME = "framedream.use.simulated_env:SimulatedEnv"


class TestDream(EnvironmentContract):
    name = NAME

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def of_a_run(cls, run: Path) -> None:
        cls.options = dict(simulator=str(run), time_limit=60)


class TestDreamWithHeadsOutOfALiveEnvironment(EnvironmentContract):
    name = NAME

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def of_a_run(cls, run_with_heads: Path) -> None:
        cls.options = dict(simulator=str(run_with_heads), time_limit=60, live="random", warm_up=5)


@pytest.fixture
def dream(run: Path) -> Iterator[SimulatedEnv]:
    environment = SimulatedEnv(run, time_limit=0)
    yield environment
    environment.close()


def walk(environment: SimulatedEnv, actions: NDArray[np.int64]) -> NDArray[np.uint8]:
    return np.stack([environment.step(int(action))[0] for action in actions])


def test_gymnasium_finds_no_fault_in_rendering_either(run: Path) -> None:
    check_env(SimulatedEnv(run, render_mode="rgb_array", time_limit=20))


def test_frames_are_those_of_the_simulator(dream: SimulatedEnv, run: Path, counting: DataSet) -> None:
    actions = random_actions(12)
    first, info = dream.reset(seed=4)
    origin = info["origin"]
    with SegmentReader(counting.split("test"), states=False) as reader:
        segment = reader.read(SegmentId(origin["episode"], origin["start"], 10))
    simulator = open_checkpoint(run).simulator()
    with torch.no_grad():
        frames = simulator.normalise(torch.from_numpy(segment.frames[None]))
        state = simulator.warm_up(frames, torch.from_numpy(segment.actions[None, :-1]))
        predictions, _ = simulator.unroll(state, torch.from_numpy(actions[None]))
    np.testing.assert_array_equal(first[..., 0], segment.frames[-1])
    np.testing.assert_array_equal(walk(dream, actions), simulator.to_bytes(predictions)[0].numpy())


def test_any_moment_can_be_left_and_come_back_to(dream: SimulatedEnv) -> None:
    """Random walks through a tree of saved states show what fresh dreams with the same actions show."""
    generator = np.random.default_rng(0)
    dream.reset(seed=1)
    saved: list[tuple[Any, list[int]]] = [(dream.get_state(), [])]
    for _ in range(40):
        state, history = saved[generator.integers(len(saved))]
        if generator.random() < 0.2:
            dream.reset()  # somewhere else altogether
        dream.set_state(state)
        actions = generator.integers(3, size=int(generator.integers(1, 5)))
        frame = dream.jump(actions) if generator.random() < 0.5 else walk(dream, actions)[-1]
        history = [*history, *actions.tolist()]
        saved.append((dream.get_state(), history))
        assert saved[-1][0].steps.tolist() == [len(history)]
        np.testing.assert_array_equal(frame, dream.look())
    for state, history in saved[::5]:
        dream.reset(seed=1)
        last = dream.look() if not history else walk(dream, np.array(history))[-1]
        dream.set_state(state)
        np.testing.assert_array_equal(dream.look(), last)


def test_a_saved_state_cannot_be_changed(dream: SimulatedEnv) -> None:
    dream.reset(seed=1)
    state = dream.get_state()
    with pytest.raises(ValueError, match="read-only"):
        state.steps[0] = 5
    with pytest.raises(AttributeError):
        state.steps = np.zeros(1, np.int64)  # type: ignore[misc]


def test_a_jump_draws_one_frame_or_none(independent_run: Path) -> None:
    dream = SimulatedEnv(independent_run, time_limit=0)
    dream.reset(seed=0)
    with counted_frames(dream._opened.dreamer.simulator) as drawn:
        assert dream.jump(random_actions(9), look=False) is None
        assert drawn == []
        frame = dream.jump(random_actions(9, seed=1))
        assert drawn == [1]
        np.testing.assert_array_equal(frame, dream.jump([]))
    dream.reset(seed=0)
    np.testing.assert_array_equal(
        walk(dream, np.concatenate([random_actions(9), random_actions(9, seed=1)]))[-1], frame
    )


def test_a_dream_begins_where_it_is_told(dream: SimulatedEnv, counting: DataSet) -> None:
    frame, info = dream.reset(options={"episode": 2, "start": 5})
    assert read_count(frame).step == 5 + 9  # the last of ten warm-up frames
    again, _ = dream.reset(options=info["origin"])
    np.testing.assert_array_equal(again, frame)
    dream.step(1)
    state = dream.get_state()
    seen = dream.look()
    dream.step(1)
    frame, info = dream.reset(options={"state": state})
    np.testing.assert_array_equal(frame, seen)
    assert (info["origin"]["episode"], info["steps"]) == (2, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"episode": 99, "start": 0}, "no test episode 99"),
        ({"episode": 0, "start": 999}, "No warm-up of 10 frames fits"),
        ({"episode": 0}, "an episode and a start"),
        ({"frame": 3}, "an episode and a start"),
        ({"episode": 0, "start": 0, "split": "train"}, "another data set or split"),
    ],
)
def test_places_that_do_not_exist_are_refused(dream: SimulatedEnv, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        dream.reset(options=options)


def test_without_heads_rewards_are_0_and_only_time_ends(run: Path) -> None:
    dream = SimulatedEnv(run, time_limit=7)
    _, info = dream.reset(seed=0)
    outcomes = []
    for step in range(7):
        assert (info["steps"], info["rewards"], info["ends"]) == (step, "always 0", "time limit only")
        _, *outcome, info = dream.step(1)
        outcomes.append(tuple(outcome))
    assert outcomes == [(0.0, False, False)] * 6 + [(0.0, False, True)]
    with pytest.raises(ResetNeeded, match="has ended"):
        dream.step(1)
    with pytest.raises(ResetNeeded):
        dream.jump([1])
    assert dream.reset()[1]["steps"] == 0


def test_a_jump_counts_its_time(run: Path) -> None:
    dream = SimulatedEnv(run, time_limit=7)
    dream.reset(seed=0)
    dream.jump([0, 1, 2, 0, 1])
    assert dream.step(0)[3] is False
    assert dream.step(0)[3] is True
    dream.reset(seed=0)
    dream.jump([0] * 20)
    assert dream.step(0)[3] is True


def test_heads_decide_rewards_and_ends(run_with_heads: Path) -> None:
    dream = SimulatedEnv(run_with_heads, time_limit=50)
    heads = open_checkpoint(run_with_heads).heads()
    assert heads is not None
    _, info = dream.reset(seed=0)
    assert (info["rewards"], info["ends"]) == ("predicted", "predicted, or time limit")
    rewards, lengths = [], []
    for seed in range(6):
        dream.reset(seed=seed)
        terminated = truncated = False
        while not (terminated or truncated):
            _, reward, terminated, truncated, info = dream.step(int(random_actions(1, seed=len(rewards))[0]))
            hidden = dream.get_state().state.hidden.float()
            with torch.inference_mode():
                said = heads.networks["reward"](hidden).softmax(-1) @ heads.bins
                odds = heads.networks["end"](hidden).sigmoid()
            assert reward == pytest.approx(said.item(), abs=1e-6)
            assert info["end_probability"] == pytest.approx(odds.item(), abs=1e-6)
            assert terminated == (odds.item() > 0.5)
            rewards.append(reward)
        lengths.append(info["steps"])
    assert len(set(lengths)) > 1, "these heads were to end dreams at different times"
    assert np.std(rewards) > 0.05


def test_live_dreams_begin_in_the_real_environment(run: Path) -> None:
    dream = SimulatedEnv(run, live="random", warm_up=6)
    frame, info = dream.reset(seed=8)
    count = read_count(frame)
    assert info["origin"]["environment"] == "counting"
    assert (count.seed, count.step) == (info["origin"]["seed"] % 65536, info["origin"]["start"] + 5)
    with pytest.raises(UserError, match="begin in a data set"):
        dream.reset(options={"episode": 0, "start": 0})
    dream.close()


def test_a_simulator_in_memory_needs_data_and_stays_in_its_process(counting: DataSet, run: Path) -> None:
    simulator = dreaming_simulator(counting, "base")
    with pytest.raises(UserError, match="give data="):
        SimulatedEnv(simulator)
    dream = SimulatedEnv(simulator, data=counting)
    named = SimulatedEnv(run)
    np.testing.assert_array_equal(dream.reset(seed=3)[0], named.reset(seed=3)[0])
    np.testing.assert_array_equal(walk(dream, random_actions(5)), walk(named, random_actions(5)))
    with pytest.raises(TypeError, match="in memory"):
        pickle.dumps(dream)
    again = pickle.loads(pickle.dumps(SimulatedEnv(open_checkpoint(run), data=counting)))
    np.testing.assert_array_equal(again.reset(seed=3)[0], named.reset(seed=3)[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(data="nowhere/at/all"), "nowhere/at/all"),
        (dict(warm_up=0), "at least one real frame"),
        (dict(warm_up=500), "do not fit"),
        (dict(time_limit=-1), "time_limit"),
        (dict(device="tpu"), "cpu, cuda or auto"),
        (dict(live=True), "names the policy"),
        (dict(render_mode="human"), "rgb_array"),
    ],
)
def test_senseless_options_are_refused_in_a_sentence(run: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        SimulatedEnv(run, **options)


def test_states_of_another_simulator_are_refused(dream: SimulatedEnv, counting: DataSet) -> None:
    other = SimulatedEnv(dreaming_simulator(counting, "conv"), data=counting)
    other.reset(seed=0)
    state = other.get_state()
    dream.reset(seed=0)
    with pytest.raises(UserError, match="another's"):
        dream.set_state(state)
    with pytest.raises(UserError, match="holds 2 dreams"):
        dream.set_state(dream.get_state().rows([0, 0]))


def test_nothing_can_be_done_before_the_first_reset(run: Path) -> None:
    dream = SimulatedEnv(run)
    for deed in (lambda: dream.step(0), lambda: dream.jump([0]), dream.get_state, dream.look):
        with pytest.raises(ResetNeeded):
            deed()


def test_gymnasium_makes_it_by_name(run: Path) -> None:
    code = (
        "import sys, framedream.use, gymnasium; assert 'torch' not in sys.modules;"
        f"e = gymnasium.make('framedream/Simulated-v0', simulator={str(run)!r}, time_limit=5);"
        "assert 'torch' in sys.modules; print(e.reset(seed=3)[0].sum(), e.step(1)[0].sum())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    dream = gymnasium.make("framedream.use:framedream/Simulated-v0", simulator=run, time_limit=5)
    first, _ = dream.reset(seed=3)
    assert result.stdout.split() == [str(first.sum()), str(dream.step(1)[0].sum())]


def test_a_data_set_can_be_collected_from_a_dream(run_with_heads: Path, tmp_path: Path) -> None:
    options = dict(simulator=str(run_with_heads), time_limit=25)
    record(NAME, tmp_path / "dreamt", Amount(episodes=2), Amount(episodes=1), options=options, workers=1)
    data = open_data_set(tmp_path / "dreamt")
    assert data.recording.arguments == options
    assert {"checkpoint", "data", "torch"} <= data.recording.provenance.keys()
    split = data.split("train")
    again = make_environment(data.recording.environment, **data.recording.arguments)
    with SegmentReader(split, states=False) as reader:
        for episode, length in enumerate(split.episodes.length):
            played = reader.read(SegmentId(episode, 0, int(length)))
            frame, _ = again.reset(seed=int(split.episodes.seed[episode]))
            np.testing.assert_array_equal(frame, played.frames[0])
            for row in range(int(length) - 1):
                frame, reward, terminated, truncated, _ = again.step(int(played.actions[row]))
                np.testing.assert_array_equal(frame, played.frames[row + 1])
                assert np.float32(reward) == played.rewards[row]
                assert (terminated, truncated) == (played.terminations[row], played.truncations[row])
