"""The report's figures."""

from __future__ import annotations

from collections.abc import Sequence

from framedream.evaluation.baselines import BLEND, LAST, MEAN
from framedream.evaluation.measure import MODEL, SHUFFLED
from framedream.evaluation.report.drawing import (
    FAINT,
    INK,
    Drawing,
    band,
    counts_axis,
    error_axis,
    line,
    run_colour,
    steps_axis,
    title,
)
from framedream.evaluation.report.runs import Run

BASELINE_STYLES = {
    BLEND: {"color": INK, "linewidth": 1.4, "linestyle": (0, (5, 2))},
    LAST: {"color": FAINT, "linewidth": 1.1, "linestyle": (0, (1, 1.6))},
    MEAN: {"color": FAINT, "linewidth": 1.1, "linestyle": (0, (4, 1.5, 1, 1.5))},
}
TRAINING_STEPS = (5, 10, 100)
SMOOTHED_OVER = 25


def errors_over_steps(name: str, runs: Sequence[Run]) -> str:
    """The whole frame and the moving pixels, every run between the same baselines."""
    drawing = Drawing(2)
    horizon = max(run.measurement.horizon for run in runs)
    for panel, what, words in zip(drawing.panels, ("error", "moving"), ("whole frame", "moving pixels"), strict=True):
        shown = []
        for baseline, style in BASELINE_STYLES.items():
            values = getattr(runs[0].measurement.curve(baseline), what)
            line(panel, range(1, len(values.mean) + 1), values.mean, **style)
            shown.append(values.mean)
        for run in runs:
            values = getattr(run.measurement.curve(MODEL), what)
            band(panel, values, run_colour(run.number))
            shown.append(values.mean)
        title(panel, f"Prediction error, {words}")
        steps_axis(panel, horizon)
        error_axis(panel, shown)
    return drawing.svg(name, "Prediction error against step, on the whole frame and on moving pixels")


def action_evidence(name: str, runs: Sequence[Run]) -> str | None:
    """How many times the error is with actions of other sequences."""
    shuffled = [run for run in runs if run.measurement.has(SHUFFLED)]
    if not shuffled:
        return None
    drawing = Drawing(2)
    horizon = max(run.measurement.horizon for run in shuffled)
    for panel, what, words in zip(drawing.panels, ("error", "moving"), ("whole frame", "moving pixels"), strict=True):
        panel.axhline(1, color=INK, linewidth=1)
        highest = 1.0
        for run in shuffled:
            own, others = (getattr(run.measurement.curve(curve), what).mean for curve in (MODEL, SHUFFLED))
            ratios = [b / a if a and b is not None else None for a, b in zip(own, others, strict=True)]
            line(panel, range(1, len(ratios) + 1), ratios, color=run_colour(run.number), linewidth=1.7)
            highest = max([highest, *(ratio for ratio in ratios if ratio is not None)])
        title(panel, f"Times the error with its own actions, {words}")
        steps_axis(panel, horizon)
        panel.yaxis.set_major_formatter(lambda ratio, _: f"{ratio:g}×")
        panel.set_ylim(bottom=min(0.9, panel.get_ylim()[0]), top=1 + 1.1 * max(highest - 1, 0.1))
    return drawing.svg(name, "Ratio of the errors with shuffled and with own actions against step")


def errors_over_training(name: str, runs: Sequence[Run]) -> str | None:
    """Error against frames seen at a few steps, as in the paper's figures."""
    known = sorted({step for run in runs for step in run.over_training})
    steps = [step for step in TRAINING_STEPS if step in known]
    if known and len(steps) < len(TRAINING_STEPS):
        # The horizon stands in for the steps beyond it.
        steps = sorted({*steps, known[-1]})
    if not steps:
        return None
    drawing = Drawing(len(steps), width=9.8 / len(steps))
    for panel, step in zip(drawing.panels, steps, strict=True):
        shown = []
        for run in runs:
            points = run.over_training.get(step, [])
            frames, errors = [point.frames for point in points], [point.error for point in points]
            line(panel, frames, errors, color=run_colour(run.number), linewidth=1.7, marker="o", markersize=2.6)
            blends = [point.blend for point in points]
            line(panel, frames, blends, **BASELINE_STYLES[BLEND])
            shown += [errors, [blend for blend in blends if blend is not None]]
        title(panel, f"Prediction error at step {step}")
        counts_axis(panel, "frames predicted in training")
        error_axis(panel, shown)
    return drawing.svg(name, "Prediction error against frames seen in training")


def training_curves(name: str, runs: Sequence[Run]) -> str | None:
    """Loss and learning rate."""
    trained = [run for run in runs if len(run.training) > 1]
    if not trained:
        return None
    drawing = Drawing(2, height=2.3)
    losses, rates = drawing.panels
    shown = []
    for run in trained:
        updates = [row["updates"] for row in run.training]
        smooth = smoothed([row["loss"] for row in run.training])
        line(losses, updates, smooth, color=run_colour(run.number), linewidth=1.4)
        line(
            rates, updates, [row["learning_rate"] for row in run.training], color=run_colour(run.number), linewidth=1.4
        )
        shown.append(smooth)
    title(losses, "Training loss")
    title(rates, "Learning rate")
    error_axis(losses, shown)
    rates.set_ylim(bottom=0)
    for panel in drawing.panels:
        counts_axis(panel, "updates")
    return drawing.svg(name, "Training loss and learning rate against updates")


def objects_over_steps(name: str, runs: Sequence[Run]) -> str | None:
    """How often every ball and paddle is where it should be."""
    names = list(dict.fromkeys(curve.object for run in runs for curve in run.measurement.objects))
    if not names:
        return None
    drawing = Drawing(len(names), width=9.8 / len(names), height=2.5)
    horizon = max(run.measurement.horizon for run in runs)
    for panel, thing in zip(drawing.panels, names, strict=True):
        for run in reversed(runs):
            for curve in run.measurement.objects:
                if curve.object != thing:
                    continue
                if curve.curve == MODEL:
                    band(panel, curve.near, run_colour(run.number))
                elif run is runs[0]:
                    line(panel, range(1, horizon + 1), curve.near.mean, **BASELINE_STYLES[LAST])
        title(panel, f"{thing.capitalize()} within 4 pixels")
        steps_axis(panel, horizon)
        panel.set_ylim(0, 1.02)
        panel.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return drawing.svg(name, "Share of sequences in which each object is where it should be, against step")


def smoothed(values: Sequence[float]) -> list[float]:
    """A running mean, so that several runs can be told apart."""
    result: list[float] = []
    for number in range(len(values)):
        window = values[max(0, number - SMOOTHED_OVER + 1) : number + 1]
        result.append(sum(window) / len(window))
    return result
