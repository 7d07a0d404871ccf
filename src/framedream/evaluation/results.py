"""What an evaluation says, as plain data: written as JSON and CSV, read back by reports and by other programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from framedream.checkpoint.folder import replace_file
from framedream.errors import UserError
from framedream.evaluation.bootstrap import Interval

RESULTS_FILE = "results.json"
STEPS_FILE = "steps.csv"
SCHEMA = 1
SHOWN_STEPS = (1, 5, 10, 30, 60, 100, 200)

Numbers = tuple[float | None, ...]
"""One number per step; None where it is infinite or was not measured."""


def numbers(values: ArrayLike) -> Numbers:
    """An array as JSON can carry it, to seven digits: as many as frames in float32 have."""
    return tuple(float(f"{value:.7g}") if np.isfinite(value) else None for value in np.asarray(values, np.float64))


@dataclass(frozen=True)
class Band:
    """A curve with its interval: 95%, bootstrapped by episode, unless its place says otherwise."""

    mean: Numbers
    low: Numbers
    high: Numbers

    @classmethod
    def of(cls, interval: Interval) -> Self:
        return cls(numbers(interval.mean), numbers(interval.low), numbers(interval.high))

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        return cls(*(tuple(fields[name]) for name in ("mean", "low", "high")))

    def at(self, step: int) -> float | None:
        """The mean at step `step`, counted from 1."""
        return self.mean[step - 1]


@dataclass(frozen=True)
class Curve:
    """How well one way of predicting does, step by step."""

    name: str
    error: Band
    moving: Band
    pixel_error: Numbers
    """Mean squared error per pixel and channel."""
    psnr: Numbers
    ssim: dict[str, float]
    """At a few steps only, by their number: it costs more than the prediction."""

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        return cls(
            name=fields["name"],
            error=Band.from_json(fields["error"]),
            moving=Band.from_json(fields["moving"]),
            pixel_error=tuple(fields["pixel_error"]),
            psnr=tuple(fields["psnr"]),
            ssim=fields["ssim"],
        )


@dataclass(frozen=True)
class Difference:
    """One curve minus another on the same sequences: its interval is narrower than those of the two suggest."""

    name: str
    error: Band
    moving: Band

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        return cls(fields["name"], Band.from_json(fields["error"]), Band.from_json(fields["moving"]))


@dataclass(frozen=True)
class ObjectCurve:
    """Whether a ball or paddle is where it should be in one curve's predictions."""

    object: str
    curve: str
    near: Band
    """Of the real frames that show it: the share in whose prediction it is found within 4 pixels."""
    distance: Band
    """Mean distance in pixels where both frames show it."""
    imagined: Band
    """Of the real frames that do not show it: the share in whose prediction it is seen."""
    ram_agreement: float | None
    """Of the real frames that show it: the share in which the console's memory says the same place."""

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        bands = {name: Band.from_json(fields[name]) for name in ("near", "distance", "imagined")}
        return cls(fields["object"], fields["curve"], **bands, ram_agreement=fields["ram_agreement"])


@dataclass(frozen=True)
class RewardScore:
    """The reward head over some predicted steps."""

    first: int
    last: int
    error: float
    """Mean absolute error, and that of two predictions that need no head."""
    error_of_zero: float
    error_of_mean: float
    """Of always saying the mean reward of the training data."""
    events: int
    """Real rewards other than 0."""
    predictions: int
    """Predicted ones of a size that counts."""
    recall: float | None
    """Of the real ones: the share with a predicted one of its sign at the same step or next to it."""
    precision: float | None
    """Of the predicted ones: the share with a real one of its sign at the same step or next to it."""


@dataclass(frozen=True)
class EndScore:
    """The end head over some predicted steps; an end is predicted where it is more likely than not."""

    first: int
    last: int
    events: int
    base_rate: float
    predictions: int
    recall: float | None
    precision: float | None


@dataclass(frozen=True)
class HeadScores:
    """What the heads beside a simulator are worth, on the same sequences; empty where there is no such head."""

    rewards: tuple[RewardScore, ...]
    ends: tuple[EndScore, ...]

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        rewards = tuple(RewardScore(**score) for score in fields["rewards"])
        return cls(rewards, tuple(EndScore(**score) for score in fields["ends"]))


@dataclass(frozen=True)
class Measurement:
    """Everything measured on one set of sequences."""

    data: str
    """`test`, `train`, or `other` for the data of another policy."""
    source: dict[str, Any]
    """Folder, identity, split, environment and policy of the data."""
    sequences: int
    episodes: int
    warm_up: int
    horizon: int
    moving_rule: str
    moving_share: float
    """The mean share of the frame that moves."""
    curves: tuple[Curve, ...]
    differences: tuple[Difference, ...]
    objects: tuple[ObjectCurve, ...]
    notes: tuple[str, ...]
    heads: HeadScores | None = None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        parts = {
            "curves": tuple(Curve.from_json(curve) for curve in fields["curves"]),
            "differences": tuple(Difference.from_json(difference) for difference in fields["differences"]),
            "objects": tuple(ObjectCurve.from_json(curve) for curve in fields["objects"]),
            "notes": tuple(fields["notes"]),
            "heads": HeadScores.from_json(fields["heads"]) if fields.get("heads") else None,
        }
        return cls(**{**fields, **parts})

    def curve(self, name: str) -> Curve:
        """The curve of that name."""
        return next(curve for curve in self.curves if curve.name == name)

    def has(self, name: str) -> bool:
        """Whether there is a curve of that name."""
        return any(curve.name == name for curve in self.curves)

    def difference(self, name: str) -> Difference | None:
        """The difference of that name, where it was measured."""
        return next((difference for difference in self.differences if difference.name == name), None)

    @property
    def shown_steps(self) -> list[int]:
        """The steps for tables: the usual ones, and the last."""
        return sorted({step for step in SHOWN_STEPS if step < self.horizon} | {self.horizon})


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of one checkpoint."""

    checkpoint: dict[str, Any]
    settings: dict[str, Any]
    measurements: tuple[Measurement, ...]
    showcase: dict[str, Any] | None
    """The film and the sheets of salient frames, files beside the results."""
    code_version: str
    finished: str
    environment_check: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives the same evaluation back."""
        content: dict[str, Any] = json.loads(json.dumps({"schema": SCHEMA, **asdict(self)}))
        return content

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        fields = {name: value for name, value in content.items() if name != "schema"}
        measurements = tuple(Measurement.from_json(measurement) for measurement in content["measurements"])
        return cls(**{**fields, "measurements": measurements})

    def measurement(self, data: str) -> Measurement | None:
        """The measurement on `test`, `train` or `other` data, where it was made."""
        return next((measurement for measurement in self.measurements if measurement.data == data), None)


def write_results(evaluation: Evaluation, folder: Path) -> None:
    """`results.json` with everything and `steps.csv` with a row per data, curve and step."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / STEPS_FILE).open("w", newline="") as file:
        csv.writer(file).writerows(_rows(evaluation))
    replace_file(folder / RESULTS_FILE, json.dumps(evaluation.as_json(), ensure_ascii=False) + "\n")


def read_results(folder: Path) -> Evaluation:
    """The evaluation written to a folder."""
    path = folder / RESULTS_FILE
    try:
        return Evaluation.from_json(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} cannot be read as an evaluation ({error!r}): run `framedream evaluate` again with --overwrite."
        ) from error


def _rows(evaluation: Evaluation) -> Iterable[list[str | float | int | None]]:
    bands = [f"{band}{edge}" for band in ("error", "moving") for edge in ("", "_low", "_high")]
    yield ["data", "curve", "step", *bands, "pixel_error", "psnr", "ssim"]
    for measurement in evaluation.measurements:
        for curve in measurement.curves:
            columns = [getattr(band, edge) for band in (curve.error, curve.moving) for edge in ("mean", "low", "high")]
            for step in range(1, measurement.horizon + 1):
                values = [column[step - 1] for column in (*columns, curve.pixel_error, curve.psnr)]
                yield [measurement.data, curve.name, step, *values, curve.ssim.get(str(step))]
