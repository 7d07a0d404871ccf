"""Data sets of the counting environment, played here so that the recorder is not needed to test what reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framedream.data.assembly import write_data_set
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.episode import Episode
from framedream.data.recording import Recording
from framedream.envs.counting import NO_ACTION, CountingEnvironment, read_count


def play(seed: int, **options: Any) -> Episode:
    """One episode with random actions."""
    environment = CountingEnvironment(**options)
    generator = np.random.default_rng(seed)
    frame, info = environment.reset(seed=seed)
    frames, states, actions, rewards = [frame], [info["state"]], [], []
    ended = False
    while not ended:
        action = int(generator.integers(environment.action_space.n))
        frame, reward, terminated, truncated, info = environment.step(action)
        ended = terminated or truncated
        frames.append(frame)
        states.append(info["state"])
        actions.append(action)
        rewards.append(reward)
    return Episode(
        np.stack(frames), np.array(actions), np.array(rewards), terminated, truncated, np.stack(states), seed
    )


def recording_of(environment: CountingEnvironment) -> Recording:
    """What a recorder would say about it."""
    height, width = environment.observation_space.shape[:2]
    return Recording(
        environment=environment.name,
        arguments=environment.arguments,
        action_meanings=environment.action_meanings,
        action_repeat=1,
        frame_shape=(height, width),
        indexed=environment.palette is not None,
        policy={"name": "random"},
        provenance={},
        seed=0,
        state_shape=(3,),
        state_dtype="int32",
    )


def make_data_set(
    folder: Path, train: int = 8, test: int = 3, frames_per_part: int = 50_000, **options: Any
) -> DataSet:
    """A data set of `train` and `test` episodes, in parts of at least `frames_per_part` frames."""
    environment = CountingEnvironment(**options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("framedream.data.assembly.FRAMES_PER_PART", frames_per_part)
        write_data_set(
            folder,
            recording_of(environment),
            environment.palette,
            {
                "train": (play(1000 + number, **options) for number in range(train)),
                "test": (play(2000 + number, **options) for number in range(test)),
            },
        )
    return open_data_set(folder)


def assert_counts(frames: Any, actions: Any, seed: int, start: int) -> None:
    """Every frame says that it is the one expected, and that the action stored before it is the one that led to it."""
    for place, frame in enumerate(frames):
        count = read_count(frame)
        assert (count.seed, count.step) == (seed, start + place)
        if place:
            assert count.action == actions[place - 1]
        elif start == 0:
            assert count.action == NO_ACTION
