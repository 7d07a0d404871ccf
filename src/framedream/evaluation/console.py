"""An evaluation in a terminal: a bar while it is measured, short tables afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from framedream.evaluation import heads
from framedream.evaluation.measure import MODEL
from framedream.evaluation.results import Band, Evaluation, Measurement
from framedream.evaluation.verdict import sentence


class EvaluationProgress:
    """A bar per task, on standard error: standard output is for results."""

    def __init__(self, name: str, counted: str = "frames") -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[counted]}"),
            TimeRemainingColumn(),
        )
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self._name, self._counted = name, counted
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, task: str, total: int, done: int) -> None:
        """Say how far a task has come; a total of 0 stands for an unknown one."""
        if task not in self._tasks:
            for earlier in self._tasks.values():
                self._bars.remove_task(earlier)
            self._tasks = {task: self._bars.add_task(f"{self._name}: {task}", total=total or None, counted="")}
        counted = f"{done:,} of {total:,} {self._counted}" if total else ""
        self._bars.update(self._tasks[task], completed=done, counted=counted)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()


def show(evaluations: Sequence[Evaluation]) -> None:
    """Print the tables of the last evaluation and, of several, how the errors went down."""
    console = Console()
    for measurement in evaluations[-1].measurements:
        _show_measurement(console, measurement)
    if len(evaluations) > 1:
        console.print(_over_training(evaluations))


def _show_measurement(console: Console, measurement: Measurement) -> None:
    console.print(
        f"\n[bold]{measurement.data}[/bold]: {measurement.sequences:,} sequences of {measurement.episodes:,} episode"
        f"{'' if measurement.episodes == 1 else 's'} "
        f"in {measurement.source['folder']}"
    )
    console.print(_table(measurement, "Prediction error", "error"))
    console.print(_table(measurement, "The same on moving pixels", "moving"))
    scores = measurement.heads
    for title, columns, rows in () if scores is None else heads.tables(scores):
        table = _numbers_table(title, [column.replace(" ", "\n") for column in columns])
        for steps, numbers in rows:
            table.add_row(steps, *(_counted(number) for number in numbers))
        console.print(table)
    for note in measurement.notes + (() if scores is None else heads.notes(scores)):
        console.print(note)
    console.print(f"The simulator {sentence(measurement)}.")


def _table(measurement: Measurement, title: str, what: str) -> Table:
    bands: list[Band] = [getattr(curve, what) for curve in measurement.curves]
    own = bands[0]
    table = _numbers_table(title, ("step", "model", "95% interval"))
    for curve in measurement.curves[1:]:
        table.add_column(curve.name.replace(" ", "\n"), justify="right")
    for step in measurement.shown_steps:
        low, high = own.low[step - 1], own.high[step - 1]
        interval = "–" if low is None else f"{_short(low)} to {_short(high)}"
        model, *others = (_short(band.at(step)) for band in bands)
        table.add_row(str(step), model, interval, *others)
    return table


def _numbers_table(title: str, columns: Sequence[str]) -> Table:
    table = Table(*columns, title=title, title_justify="left", box=SIMPLE_HEAD)
    for column in table.columns:
        column.justify = "right"
    return table


def _over_training(evaluations: Sequence[Evaluation]) -> Table:
    measurements = [evaluation.measurements[0] for evaluation in evaluations]
    steps = measurements[-1].shown_steps
    table = Table(
        "updates", "frames seen", title="Prediction error over training", title_justify="left", box=SIMPLE_HEAD
    )
    for step in steps:
        table.add_column(f"step {step}", justify="right")
    for evaluation, measurement in zip(evaluations, measurements, strict=True):
        counts = (evaluation.checkpoint[name] for name in ("updates", "frames_with_warm_up"))
        errors = (_short(measurement.curve(MODEL).error.at(step)) for step in steps)
        table.add_row(*(f"{count:,}" for count in counts), *errors)
    return table


def _counted(value: float | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else _short(value)


def _short(value: float | None) -> str:
    """Three significant digits: more would pretend too much."""
    return "–" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
