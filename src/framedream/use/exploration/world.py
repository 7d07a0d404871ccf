"""The mazes that explorers walk in: layouts that no training episode has, and the starts of several walks in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from framedream.data.seeds import episode_seeds
from framedream.envs.frame_environment import Frame
from framedream.envs.maze.dynamics import States
from framedream.envs.maze.environment import MazeEnvironment, starting_state
from framedream.envs.maze.vector import MazeVector

HELD_OUT = "test"


class WalkSeeds(NamedTuple):
    """What decides one walk: everything is drawn for itself, so walks do not depend on how many there are."""

    start: np.random.SeedSequence
    random_explorer: np.random.SeedSequence
    sequences: np.random.SeedSequence
    probes: np.random.SeedSequence


@dataclass(frozen=True)
class World:
    """Walk n is in layout `which[n]`. All explorers begin walk n in the same place."""

    mazes: MazeVector
    which: NDArray[np.int64]
    starts: States
    seeds: tuple[WalkSeeds, ...]
    layout_seeds: tuple[int, ...]
    """The environment's seeds that the layouts belong to, as in a data set: odd, which training episodes' never are."""

    def __len__(self) -> int:
        return len(self.which)

    def walk(self, places: States, actions: NDArray[np.int64]) -> NDArray[np.float32]:
        """The places (E,k,6) after each of the actions (E,k)."""
        walked = []
        for taken in actions.T:
            places = self.mazes.step(places, taken, self.which)
            walked.append(places)
        return np.stack(walked, axis=1)

    def see(self, places: NDArray[np.float32]) -> Frame:
        """The frames (E,k,H,W,3) seen from places (E,k,6)."""
        agents, count, _ = places.shape
        frames = self.mazes.frames(places.reshape(agents * count, -1), np.repeat(self.which, count))
        return frames.reshape(agents, count, *frames.shape[1:])

    @property
    def free_cells(self) -> NDArray[np.int64]:
        """How many cells there are to visit in each walk."""
        return np.array([layout.free.sum() for layout in self.mazes.layouts])[self.which]


def make_world(environment: MazeEnvironment, mazes: int, walks: int, seed: int, threads: int = 1) -> World:
    """`walks` walks in each of the first `mazes` mazes of the test episodes of recordings with `seed`."""
    layout_seeds = tuple(episode_seeds(seed, HELD_OUT, number).environment for number in range(mazes))
    layouts = []
    for layout_seed in layout_seeds:
        environment.reset(seed=layout_seed)
        layouts.append(environment.layout)
    which = np.repeat(np.arange(mazes), walks)
    numbers = [(maze, walk) for maze in range(mazes) for walk in range(walks)]
    seeds = [WalkSeeds(*np.random.SeedSequence((seed, *number)).spawn(len(WalkSeeds._fields))) for number in numbers]
    starts = [
        starting_state(layouts[maze], np.random.default_rng(own.start).random(4))
        for (maze, _), own in zip(numbers, seeds, strict=True)
    ]
    return World(
        mazes=environment.vector(layouts, threads),
        which=which,
        starts=np.concatenate(starts),
        seeds=tuple(seeds),
        layout_seeds=layout_seeds,
    )
