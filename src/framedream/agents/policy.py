"""What plays: a policy is begun once per episode, then asked for one action per frame."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from framedream.envs.frame_environment import Frame

# Environments seed their own generator with the episode's seed; without a key of ours the two would draw alike.
POLICY_STREAM = 0x504F4C


class Policy(Protocol):
    """Chooses actions. Within an episode everything is a function of its seed and of what the policy is shown."""

    def begin(self, seed: int, actions: int) -> None:
        """Start an episode of an environment with `actions` actions."""

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        """The action to take on seeing `frame`."""

    def describe(self) -> dict[str, Any]:
        """Name and arguments, as JSON: what a data set records of where its actions came from."""


def policy_generator(seed: int) -> np.random.Generator:
    """The random numbers of a policy in the episode of this seed, independent of the environment's."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(POLICY_STREAM,)))
