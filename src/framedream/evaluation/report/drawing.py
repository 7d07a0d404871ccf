"""Matplotlib figures that become part of the page: they take its fonts and colours, by day and by night."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from framedream.evaluation.results import Band, Numbers

RUN_COLOURS = 8
"""How many runs have a colour of their own; style.css gives them one for light and one for dark pages."""
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "framedream",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.linewidth": 0.7,
    "lines.solid_capstyle": "round",
}
# Placeholders: matplotlib wants numbers, the page wants variables that follow its scheme.
INK, FAINT, GRID = "#010203", "#020304", "#030405"
_VARIABLES = {INK: "var(--ink)", FAINT: "var(--soft)", GRID: "var(--line)"}
_VARIABLES |= {f"#0a0b{number:02x}": f"var(--run-{number})" for number in range(RUN_COLOURS)}
_PARTS_OF_A_FILE = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>| xmlns(:xlink)?=\"[^\"]*\"", re.S)
_SIZE = re.compile(r' (width|height)="[\d.]+pt"')


def run_colour(number: int) -> str:
    """The colour of a run, as a placeholder."""
    return f"#0a0b{number % RUN_COLOURS:02x}"


class Drawing:
    """A row of panels, drawn with matplotlib and handed over as SVG."""

    def __init__(self, panels: int, height: float = 2.7, width: float = 4.9) -> None:
        with matplotlib.rc_context(_STYLE):
            self.figure = Figure(figsize=(width * panels, height), layout="constrained")
            self.panels: list[Axes] = list(np.ravel(self.figure.subplots(1, panels, squeeze=False)))
        for panel in self.panels:
            panel.tick_params(colors=FAINT, length=3, width=0.7, labelsize=8.5)
            for spine in panel.spines.values():
                spine.set_color(GRID)
            panel.grid(axis="y", color=GRID, linewidth=0.6)
            panel.set_axisbelow(True)

    def svg(self, name: str, words: str) -> str:
        """The picture for the page; `name` keeps its parts apart from other pictures', `words` say what it shows."""
        with matplotlib.rc_context(_STYLE):
            file = io.StringIO()
            self.figure.savefig(file, format="svg", transparent=True)
        text = _PARTS_OF_A_FILE.sub("", file.getvalue())
        text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
        text = _SIZE.sub("", text)
        for placeholder, variable in _VARIABLES.items():
            text = text.replace(placeholder, variable)
        return text.replace("<svg", f'<svg role="img" aria-label="{words}"', 1).strip()


def title(panel: Axes, text: str) -> None:
    """What the panel shows, above its left edge."""
    panel.set_title(text, color=INK, pad=8, loc="left")


def steps_axis(panel: Axes, horizon: int) -> None:
    """Steps after the last observed frame."""
    panel.set_xlim(1, max(horizon, 2))
    panel.set_xlabel("step", color=FAINT)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))


def counts_axis(panel: Axes, label: str) -> None:
    """Frames or updates: many."""
    panel.set_xlim(left=0)
    panel.set_xlabel(label, color=FAINT)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=5))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))


def error_axis(panel: Axes, curves: Sequence[Numbers | Sequence[float | None]]) -> None:
    """Logarithmic where the errors differ so much that a linear axis would flatten the good ones, else from zero."""
    values = [value for curve in curves for value in curve if value is not None]
    positive = [value for value in values if value > 0]
    if positive and len(positive) == len(values) and max(values) > 12 * min(values):
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.yaxis.set_minor_locator(NullLocator())
    else:
        panel.set_ylim(0, 1.08 * max(positive, default=1.0))


def line(panel: Axes, x: Sequence[float], values: Sequence[float | None], **style: Any) -> None:
    """A curve, with gaps where nothing was measured."""
    panel.plot(x, [np.nan if value is None else value for value in values], **style)


def band(panel: Axes, values: Band, colour: str) -> None:
    """A curve over steps 1, 2, … within its interval."""
    steps = range(1, len(values.mean) + 1)
    low, high = (np.array([np.nan if v is None else v for v in edge], float) for edge in (values.low, values.high))
    panel.fill_between(steps, low, high, color=colour, alpha=0.18, linewidth=0)
    line(panel, steps, values.mean, color=colour, linewidth=1.7)


def short_count(value: float) -> str:
    """12.5k, 3M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
