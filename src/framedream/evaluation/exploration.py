"""What an exploration says, as plain data: measured by `framedream explore`, shown by reports, read by other programs.

It lies in `RUN/exploration/step-N/` for the checkpoint `RUN/step-N`. Distances between frames are Euclidean, per pixel
and channel: ‖x − y‖ / √(3HW) on frames scaled to 0…1.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from framedream.errors import UserError
from framedream.evaluation.results import RESULTS_FILE, Band

EXPLORATION_FOLDER = "exploration"
PATHS_FILE = "paths.png"
SCHEMA = 1
RANDOM, SIMULATOR, ENVIRONMENT = "random", "simulator", "environment"
INSIDE = 0.68
"""Intervals are those of the paper's figure."""


@dataclass(frozen=True)
class Estimate:
    """A number within its 68% interval; the edges are None where there is a single maze."""

    mean: float | None
    low: float | None
    high: float | None

    @classmethod
    def last(cls, band: Band) -> Self:
        """The end of a curve."""
        return cls(band.mean[-1], band.low[-1], band.high[-1])


@dataclass(frozen=True)
class Outlook:
    """What imagination is worth so many steps ahead, on random sequences from places that the explorer came to."""

    depth: int
    error: float
    """Mean distance of imagined last frames to the real ones."""
    change: float
    """Mean distance of the real last frames to the current one: the error of imagining that nothing changes."""
    least: float
    """Mean over places of the least distance that a sequence's imagined frame has to its nearest memory."""
    greatest: float
    """The same for the greatest: between these two lies what there is to choose from."""
    agreement: float | None
    """Correlation, over the sequences of a place, of those distances with what they would be for the real frames."""


@dataclass(frozen=True)
class Planning:
    """How an explorer planned."""

    least: float
    """Over all plans, the mean least distance of an imagined last frame to its nearest memory."""
    greatest: float
    surprise: float
    """Mean distance of the chosen sequence's imagined last frame to the one then seen."""
    sequences_per_second: float
    outlooks: tuple[Outlook, ...]

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        return cls(**{**fields, "outlooks": tuple(Outlook(**outlook) for outlook in fields["outlooks"])})


@dataclass(frozen=True)
class Explorer:
    """What one explorer covered; curves have a number per step."""

    name: str
    """`random`, `simulator`, or `environment` for the real one as its own simulator."""
    area: Band
    """Cells visited, the mean over all walks."""
    free_share: float
    """At the end, the mean share of the free cells."""
    ratio: Band
    """Area over the random explorer's."""
    ratio_of_mazes: float
    """At the end, each maze's ratio for itself, averaged over the mazes: the paper's words for its figure."""
    cells: tuple[int, ...]
    """Cells visited at the end of each walk."""
    path: float
    """Mean length of the path walked, in cells."""
    turning: float
    """Share of actions that turn."""
    at_walls: float
    """Share of the time at which the agent touches a wall."""
    planning: Planning | None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        parts = {
            "area": Band.from_json(fields["area"]),
            "ratio": Band.from_json(fields["ratio"]),
            "cells": tuple(fields["cells"]),
            "planning": None if fields["planning"] is None else Planning.from_json(fields["planning"]),
        }
        return cls(**{**fields, **parts})


@dataclass(frozen=True)
class SweepPoint:
    """The same walks with one number of the method changed."""

    option: str
    value: int
    area: Estimate
    ratio: Estimate
    turning: float
    planning: Planning

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        estimates = {name: Estimate(**fields[name]) for name in ("area", "ratio")}
        return cls(**{**fields, **estimates, "planning": Planning.from_json(fields["planning"])})


@dataclass(frozen=True)
class Exploration:
    """Explorers that began the same walks in the same mazes."""

    checkpoint: dict[str, Any] | None
    """`folder` and `name`; None where only the real environment was asked."""
    method: dict[str, Any]
    """Sequences, their length, memory and dithering, of all explorers that plan; a sweep changes one at a time."""
    settings: dict[str, Any]
    """Mazes, walks in each, steps, seed, the environment's arguments, the seeds of the layouts."""
    explorers: tuple[Explorer, ...]
    sweep: tuple[SweepPoint, ...]
    code_version: str
    finished: str

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives the same exploration back."""
        content: dict[str, Any] = json.loads(json.dumps({"schema": SCHEMA, **asdict(self)}))
        return content

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        fields = {name: value for name, value in content.items() if name != "schema"}
        parts = {
            "explorers": tuple(Explorer.from_json(explorer) for explorer in content["explorers"]),
            "sweep": tuple(SweepPoint.from_json(point) for point in content["sweep"]),
        }
        return cls(**{**fields, **parts})

    @property
    def planners(self) -> tuple[Explorer, ...]:
        """The explorers that plan."""
        return tuple(explorer for explorer in self.explorers if explorer.planning is not None)


def exploration_folder(checkpoint: Path) -> Path:
    """Where the exploration with a checkpoint is written."""
    checkpoint = checkpoint.resolve()
    return checkpoint.parent / EXPLORATION_FOLDER / checkpoint.name


def read_exploration(folder: Path) -> Exploration | None:
    """The exploration written to a folder, where there is one."""
    path = folder / RESULTS_FILE
    if not path.exists():
        return None
    try:
        return Exploration.from_json(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read as an exploration ({error!r}): run `framedream explore` again with --overwrite."
        ) from error
