"""Where dreams begin: a few real frames and the actions between them, from a recording or a live environment."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from framedream.agents.policy import Policy
from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.data.sampler import AdmissibleStarts
from framedream.data.segment import SegmentId
from framedream.envs.frame_environment import FrameEnvironment
from framedream.errors import UserError

LONGEST_WAY_IN = 60
"""A live start lies at most so many steps behind the reset, so that not all dreams begin at the beginning."""


@dataclass(frozen=True)
class Start:
    """x_1…x_τ and a_1…a_{τ-1}: what a simulator sees before it goes on by itself."""

    frames: NDArray[np.uint8]
    """(τ, H, W) palette indices or (τ, H, W, 3) colours."""
    actions: NDArray[np.int64]
    """(τ-1,)"""
    origin: dict[str, Any]
    """Where it comes from, in JSON values, so that it can be found again."""
    seed: int
    """What the real environment was reset with, …"""
    way: NDArray[np.int64]
    """… and all actions from its reset to x_τ: the real environment can be brought to the same place."""


class Starts(Protocol):
    """A supply of starts."""

    def draw(self, generator: np.random.Generator) -> Start:
        """One start, decided by the generator alone."""

    def close(self) -> None:
        """Let go of files or of the environment."""


class RecordedStarts:
    """Starts out of a data set: every place where a warm-up fits is equally likely."""

    def __init__(self, data: DataSet, split: str, warm_up: int) -> None:
        self._data, self._split = data, data.split(split)
        self._places = AdmissibleStarts(self._split.episodes.length, warm_up)
        self._reader = SegmentReader(self._split, states=False)

    def draw(self, generator: np.random.Generator) -> Start:
        (place,) = self._places.segments(generator.integers(self._places.count, size=1))
        return self.at(place.episode, place.start)

    def at(self, episode: int, start: int) -> Start:
        """The start at one place of the recording."""
        length = self._places.segment_length
        if not 0 <= episode < len(self._split.episodes):
            raise UserError(f"{self._data.folder} has no {self._split.name} episode {episode}.")
        if not 0 <= start <= int(self._split.episodes.length[episode]) - length:
            raise UserError(f"No warm-up of {length} frames fits at frame {start} of episode {episode}.")
        segment = self._reader.read(SegmentId(episode, start, length))
        origin = {"data": self._data.identity, "split": self._split.name, "episode": episode, "start": start}
        seed, way = int(self._split.episodes.seed[episode]), self._reader.actions(episode, start + length - 1)
        return Start(segment.frames, segment.actions[:-1], origin, seed, way)

    def close(self) -> None:
        self._reader.close()


class LiveStarts:
    """Starts played on the spot: an episode of the real environment, entered a random way by a policy."""

    def __init__(self, environment: FrameEnvironment, policy: Policy, warm_up: int) -> None:
        self._environment, self._policy, self._warm_up = environment, policy, warm_up
        self._one_at_a_time = threading.Lock()

    def draw(self, generator: np.random.Generator) -> Start:
        with self._one_at_a_time:
            return self._play(generator)

    def close(self) -> None:
        self._environment.close()

    def _play(self, generator: np.random.Generator) -> Start:
        seed = int(generator.integers(2**31))
        way_in = int(generator.integers(LONGEST_WAY_IN + 1))
        environment, policy = self._environment, self._policy
        frame, info = environment.reset(seed=seed)
        policy.begin(seed, int(environment.action_space.n))
        frames, actions = [frame], []
        while len(frames) < way_in + self._warm_up:
            actions.append(policy.act(frame, info))
            frame, _, terminated, truncated, info = environment.step(actions[-1])
            frames.append(frame)
            if terminated or truncated:
                break
        if len(frames) < self._warm_up:
            raise UserError(
                f"An episode of {environment.name} ended after {len(frames)} frames, before a warm-up of "
                f"{self._warm_up}: give another seed, or start from a data set."
            )
        first = len(frames) - self._warm_up
        way = np.array(actions, np.int64)
        origin = {"environment": environment.name, "seed": seed, "start": first}
        return Start(np.stack(frames[first:]), way[first:], origin, seed, way)


def stacked(starts: Sequence[Start]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Frames (B, τ, …) and actions (B, τ-1) of several starts."""
    return np.stack([start.frames for start in starts]), np.stack([start.actions for start in starts])
