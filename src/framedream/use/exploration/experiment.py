"""Explorers side by side: the same walks in the same mazes, with what each covered of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framedream.agents.random_walks import WALK_DITHERING
from framedream.envs.maze.dynamics import LEFT, RIGHT
from framedream.envs.maze.environment import MazeEnvironment
from framedream.errors import UserError
from framedream.evaluation.bootstrap import EpisodeBootstrap
from framedream.evaluation.exploration import INSIDE, RANDOM, Estimate, Explorer, Planning, SweepPoint
from framedream.evaluation.results import Band
from framedream.use.exploration.area import cells_visited, share_at_walls
from framedream.use.exploration.explorer import Method, Walks, walk_at_random, walk_to_the_unfamiliar
from framedream.use.exploration.imagination import Imagination
from framedream.use.exploration.probing import Probing
from framedream.use.exploration.world import make_world

SWEPT = ("sequences", "length", "memory")

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps there are and how many are done."""


@dataclass(frozen=True)
class Settings:
    """Where and how long explorers walk; the paper's ten mazes and 900 steps."""

    mazes: int = 10
    walks: int = 3
    """Walks in each maze, by different starts and random numbers."""
    steps: int = 900
    seed: int = 0
    dithering: float = WALK_DITHERING
    """Of the random explorer."""

    def __post_init__(self) -> None:
        for name in ("mazes", "walks", "steps"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name} must be at least 1, not {getattr(self, name)}.")
        if self.seed < 0:
            raise UserError(f"--seed must be 0 or more, not {self.seed}.")
        if not 0 <= self.dithering <= 1:
            raise UserError(f"--random-dithering is a probability from 0 to 1, not {self.dithering:g}.")

    def refuse_length(self, length: int) -> None:
        """Refuse sequences that are longer than the walk."""
        if length > self.steps:
            raise UserError(
                f"Sequences of {length} actions do not fit into {self.steps} steps: "
                "make --length smaller or --steps larger."
            )


@dataclass(frozen=True)
class Explored:
    """One explorer's walks and what they come to."""

    explorer: Explorer
    walks: Walks


class Experiment:
    """The world, and the random explorer in it that all others are compared with."""

    def __init__(self, environment: MazeEnvironment, settings: Settings, threads: int = 1) -> None:
        self.settings = settings
        self.arguments = environment.arguments
        self.world = make_world(environment, settings.mazes, settings.walks, settings.seed, threads)
        # Mazes are what is drawn again, each with all of its walks and both of the explorers that are compared.
        self._bootstrap = EpisodeBootstrap(self.world.which, inside=INSIDE)
        walks = walk_at_random(self.world, settings.steps, settings.dithering)
        self._random_cells = cells_visited(walks.places)[:, 1:]
        self.random = self._explored(RANDOM, walks, None)

    def explore(self, name: str, imagination: Imagination, method: Method, progress: Progress) -> Explored:
        """The walks of the explorer that plans with `imagination`."""
        self.settings.refuse_length(method.length)
        steps = self.settings.steps
        probing = Probing(self.world, imagination, method, steps)
        progress(name, steps, 0)
        walks = walk_to_the_unfamiliar(
            self.world, imagination, method, steps, look=probing, progress=lambda done: progress(name, steps, done)
        )
        return self._explored(name, walks, probing.result())

    def sweep(
        self, imagination: Imagination, method: Method, values: Mapping[str, Sequence[int]], progress: Progress
    ) -> tuple[SweepPoint, ...]:
        """Change one number of the method at a time; those not named keep their value."""
        points = []
        for name, value in ((name, value) for name, row in values.items() for value in row):
            changed = replace(method, **{name: value})
            explorer = self.explore(f"{name} {value}", imagination, changed, progress).explorer
            assert explorer.planning is not None
            area, ratio = Estimate.last(explorer.area), Estimate.last(explorer.ratio)
            points.append(SweepPoint(name, value, area, ratio, explorer.turning, explorer.planning))
        return tuple(points)

    def settings_as_json(self) -> dict[str, Any]:
        """Everything that decides the walks besides the method."""
        return {
            "mazes": self.settings.mazes,
            "walks": self.settings.walks,
            "steps": self.settings.steps,
            "seed": self.settings.seed,
            "random_dithering": self.settings.dithering,
            "environment": self.arguments,
            "layout_seeds": list(self.world.layout_seeds),
            "free_cells": [int(layout.free.sum()) for layout in self.world.mazes.layouts],
        }

    def _explored(self, name: str, walks: Walks, planning: Planning | None) -> Explored:
        cells = cells_visited(walks.places)[:, 1:]
        steps = np.diff(walks.places[:, :, :2].astype(np.float64), axis=1)
        explorer = Explorer(
            name=name,
            area=Band.of(self._bootstrap.mean(cells)),
            free_share=float((cells[:, -1] / self.world.free_cells).mean()),
            ratio=Band.of(self._bootstrap.ratio(cells, self._random_cells)),
            ratio_of_mazes=float((self._per_maze(cells) / self._per_maze(self._random_cells)).mean()),
            cells=tuple(cells[:, -1].tolist()),
            path=float(np.linalg.norm(steps, axis=2).sum(1).mean()),
            turning=float(np.isin(walks.actions, (LEFT, RIGHT)).mean()),
            at_walls=share_at_walls(self.world, walks.places),
            planning=planning,
        )
        return Explored(explorer, walks)

    def _per_maze(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Cells at the end, the mean of each maze's walks."""
        return np.asarray(cells[:, -1].reshape(self.settings.mazes, self.settings.walks).mean(1))
