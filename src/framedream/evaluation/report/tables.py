"""The report's tables, as rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framedream.evaluation import heads
from framedream.evaluation.baselines import BLEND, LAST, MEAN
from framedream.evaluation.measure import MODEL, OVER_OWN_ACTIONS, SHUFFLED
from framedream.evaluation.moving import FROM_MEDIAN
from framedream.evaluation.report.drawing import short_count
from framedream.evaluation.report.runs import Run
from framedream.evaluation.results import Band, Measurement, Numbers

NOTHING = "–"


@dataclass(frozen=True)
class Cell:
    """A number, perhaps with its interval below."""

    text: str
    below: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    """A line of a table; `run` is the place of the run it is about, which gives it its colour."""

    name: str
    cells: tuple[Cell, ...]
    run: int | None = None
    bar: bool = False
    """Whether this is the bar to beat."""


@dataclass(frozen=True)
class Table:
    """Rows under a caption."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def error_tables(runs: Sequence[Run]) -> list[Table]:
    """Errors of all runs beside the baselines at the usual steps, the best of every column marked."""
    steps = runs[0].measurement.shown_steps
    bands = (("Prediction error, whole frame", "error"), ("Prediction error, moving pixels", "moving"))
    return [_error_table(caption, what, runs, steps) for caption, what in bands] + [_picture_table(runs, steps)]


def _error_table(caption: str, what: str, runs: Sequence[Run], steps: Sequence[int]) -> Table:
    named: list[tuple[str, Band, int | None]] = [
        (run.name, getattr(run.measurement.curve(MODEL), what), run.number) for run in runs
    ]
    named += [(name, getattr(runs[0].measurement.curve(name), what), None) for name in (BLEND, LAST, MEAN)]
    least = [_least([band.at(step) for _, band, _ in named]) for step in steps]
    rows = [
        Row(
            name=name,
            cells=tuple(_cell(band, step, best) for step, best in zip(steps, least, strict=True)),
            run=number,
            bar=name == BLEND and number is None,
        )
        for name, band, number in named
    ]
    return Table(caption, _step_columns(steps), tuple(rows))


def _picture_table(runs: Sequence[Run], steps: Sequence[int]) -> Table:
    """PSNR and SSIM, as other papers give them."""
    rows = []
    for run in runs:
        curve = run.measurement.curve(MODEL)
        similarity: Numbers = tuple(curve.ssim.get(str(step)) for step in steps)
        psnr: Numbers = tuple(curve.psnr[step - 1] for step in steps)
        rows.append(Row(f"{run.name}, PSNR in dB", tuple(Cell(_fixed(value, 1)) for value in psnr), run.number))
        rows.append(Row(f"{run.name}, SSIM", tuple(Cell(_fixed(value, 3)) for value in similarity), run.number))
    return Table("The same frames in other measures", _step_columns(steps), tuple(rows))


def action_table(runs: Sequence[Run]) -> Table | None:
    """The moving-pixel error with own and with other sequences' actions."""
    steps = runs[0].measurement.shown_steps
    rows = []
    for run in runs:
        difference = run.measurement.difference(OVER_OWN_ACTIONS)
        if difference is None:
            continue
        own, others = (run.measurement.curve(name).moving for name in (MODEL, SHUFFLED))
        rows.append(Row(run.name, tuple(Cell(short(own.at(step))) for step in steps), run.number))
        rows.append(Row("with other sequences’ actions", tuple(Cell(short(others.at(step))) for step in steps)))
        rows.append(Row("difference", tuple(_cell(difference.moving, step, None) for step in steps)))
    return Table("Moving-pixel error", _step_columns(steps), tuple(rows)) if rows else None


def other_data_table(run: Run) -> Table | None:
    """The run on all data that it was measured on, beside the blend on the same."""
    if len(run.evaluation.measurements) < 2:
        return None
    steps = run.measurement.shown_steps
    rows = []
    for measurement in run.evaluation.measurements:
        for name in (MODEL, BLEND):
            band = measurement.curve(name).moving
            shown = tuple(_cell(band, step, None) if step <= measurement.horizon else Cell(NOTHING) for step in steps)
            label = data_words(measurement) if name == MODEL else "the blend there"
            rows.append(Row(label, shown, run.number if name == MODEL else None))
    return Table(f"Moving-pixel error of {run.name}", _step_columns(steps), tuple(rows))


def head_tables(runs: Sequence[Run]) -> list[Table]:
    """What the heads of each run that has any are worth."""
    found = []
    for run in runs:
        for title, columns, rows in () if run.measurement.heads is None else heads.tables(run.measurement.heads):
            shown = (
                Row(f"steps {steps}", tuple(Cell(_counted(number)) for number in numbers), run.number)
                for steps, numbers in rows
            )
            found.append(Table(f"{title} of {run.name}", columns[1:], tuple(shown)))
    return found


def data_words(measurement: Measurement) -> str:
    """What the data are, for people."""
    policy = policy_words(measurement.source["policy"])
    words = {
        "test": "held-out episodes",
        "train": "training episodes",
        "other": f"episodes of another policy ({policy})",
    }
    return words[measurement.data]


def memory_words(measurement: Measurement) -> str:
    """How well colours and the console's memory agree on where things are, where both are known."""
    agreements = {curve.object: curve.ram_agreement for curve in measurement.objects}
    shares = [f"{name} {share:.0%}" for name, share in agreements.items() if share is not None]
    return f"The console's memory gives the same places for the real frames: {', '.join(shares)}." if shares else ""


def moving_words(measurement: Measurement) -> str:
    """Which pixels count as moving, after "those where"."""
    if measurement.moving_rule == FROM_MEDIAN:
        return "the real frame, or the last observed one, differs from the median training image"
    return "the real frame differs from the last observed one"


def policy_words(policy: dict[str, object]) -> str:
    """A policy's description in one line."""
    arguments = [f"{name} {value}" for name, value in policy.items() if name != "name" and not isinstance(value, dict)]
    return ", ".join([str(policy.get("name", "unknown")), *arguments])


def short(value: float | None) -> str:
    """Three significant digits: more would pretend too much."""
    if value is None:
        return NOTHING
    return short_count(value) if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".").replace("-", "−")


def _counted(value: float | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else short(value)


def _fixed(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _cell(band: Band, step: int, best: float | None) -> Cell:
    mean, low, high = band.mean[step - 1], band.low[step - 1], band.high[step - 1]
    below = "" if low is None or high is None else f"{short(low)} – {short(high)}"
    return Cell(short(mean), below, best is not None and mean == best)


def _least(values: Sequence[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _step_columns(steps: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"step {step}" for step in steps)
