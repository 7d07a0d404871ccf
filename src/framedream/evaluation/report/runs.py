"""What a report knows of a run: its evaluations and its records, read from its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framedream.checkpoint.run_folder import read_metrics
from framedream.checkpoint.shipped import folder_of
from framedream.errors import UserError
from framedream.evaluation.exploration import PATHS_FILE, Exploration, exploration_folder, read_exploration
from framedream.evaluation.measure import MODEL
from framedream.evaluation.results import Evaluation, Measurement
from framedream.evaluation.store import evaluated_checkpoints, results_folder

_LOOK = re.compile(r"test/error(?P<blend>_blend)?_(?P<step>\d+)")


@dataclass(frozen=True)
class Point:
    """The error at one step after so many frames of training."""

    frames: int
    error: float
    blend: float | None


@dataclass(frozen=True)
class Run:
    """A run to report on."""

    name: str
    number: int
    """Its place in the report, which decides its colour."""
    results: Path
    """The folder with the results, the film and the sheets."""
    evaluation: Evaluation
    exploration: Exploration | None
    """What explorers did with this checkpoint, where they did."""
    paths: Path
    """The picture of their walks."""
    over_training: dict[int, list[Point]]
    """Per step, the error on held-out sequences as training went on."""
    training: list[dict[str, Any]]
    """The training lines of its metrics."""

    @property
    def measurement(self) -> Measurement:
        """What is reported first: held-out sequences where they were measured."""
        return self.evaluation.measurement("test") or self.evaluation.measurements[0]

    @property
    def checkpoint(self) -> dict[str, Any]:
        return self.evaluation.checkpoint


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs of these folders, in their order; refused if they are named twice or were not evaluated."""
    resolved = [folder_of(folder).resolve() for folder in folders]
    for number, folder in enumerate(resolved):
        if folder in resolved[:number]:
            raise UserError(f"{folder} is named twice: name every run once.")
    return [
        _read_run(folder, name, number)
        for number, (folder, name) in enumerate(zip(resolved, _names(resolved), strict=True))
    ]


def _read_run(folder: Path, name: str, number: int) -> Run:
    evaluated = evaluated_checkpoints(folder)
    newest, evaluation = evaluated[-1]
    rows = read_metrics(newest.resolve().parent)
    looks = [row for row in rows if row.get("kind") == "evaluation"]
    return Run(
        name=name,
        number=number,
        results=results_folder(newest),
        evaluation=evaluation,
        exploration=read_exploration(exploration_folder(newest)),
        paths=exploration_folder(newest) / PATHS_FILE,
        over_training=_from_checkpoints([one for _, one in evaluated]) or _from_looks(looks),
        training=[row for row in rows if row.get("kind") == "training"],
    )


def _names(folders: Sequence[Path]) -> list[str]:
    """The shortest ends of their paths that tell them apart."""
    for parts in range(1, max(len(folder.parts) for folder in folders) + 1):
        names = ["/".join(folder.parts[-parts:]) for folder in folders]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]


def _from_checkpoints(evaluations: Sequence[Evaluation]) -> dict[int, list[Point]]:
    """Errors of the checkpoints that were measured like the last one; nothing where that is the only one."""
    last = evaluations[-1]
    alike = [one for one in evaluations if one.settings == last.settings and one.measurement("test") is not None]
    if len(alike) < 2:
        return {}
    points: dict[int, list[Point]] = {}
    for evaluation in alike:
        measurement = evaluation.measurement("test")
        assert measurement is not None
        for step in range(1, measurement.horizon + 1):
            error, blend = measurement.curve(MODEL).error.at(step), measurement.curve("blend").error.at(step)
            if error is not None:
                points.setdefault(step, []).append(Point(evaluation.checkpoint["frames"], error, blend))
    return points


def _from_looks(rows: Iterable[dict[str, Any]]) -> dict[int, list[Point]]:
    """Errors on the few sequences that were looked at during training."""
    points: dict[int, list[Point]] = {}
    for row in rows:
        for name, error in row.items():
            look = _LOOK.fullmatch(name)
            if look and not look["blend"] and error is not None:
                step = int(look["step"])
                points.setdefault(step, []).append(Point(row["frames"], error, row.get(f"test/error_blend_{step}")))
    return points
