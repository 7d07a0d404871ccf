"""Seeds belong to episode numbers, so that the data do not depend on who plays which episode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from framedream.data.manifest import SPLITS


class EpisodeSeeds(NamedTuple):
    """What an episode's environment and policy are seeded with."""

    environment: int
    policy: int


def episode_seeds(seed: int, split: str, number: int) -> EpisodeSeeds:
    """The seeds of episode `number` of a split in a recording with `seed`.

    Environments get 31 bits, which every one accepts. The lowest bit says the split, so that no test episode can share
    its environment's seed with a training episode, not even by chance.
    """
    half = SPLITS.index(split)
    environment, policy = np.random.SeedSequence((seed, half, number)).generate_state(2, np.uint32).tolist()
    return EpisodeSeeds(environment=(environment & 0x7FFF_FFFE) | half, policy=policy)
