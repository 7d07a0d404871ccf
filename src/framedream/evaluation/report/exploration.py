"""The report's part on exploration: what explorers covered of mazes, where they walked, and why."""

from __future__ import annotations

import io
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from framedream.evaluation.exploration import (
    ENVIRONMENT,
    RANDOM,
    SIMULATOR,
    Estimate,
    Exploration,
)
from framedream.evaluation.report.drawing import FAINT, INK, Drawing, band, run_colour, title
from framedream.evaluation.report.tables import NOTHING, Cell, Row, Table, short

TITLES = {RANDOM: "random explorer", SIMULATOR: "with the simulator", ENVIRONMENT: "with the real environment"}
"""How explorers are called in figures and tables."""
PICTURE_COLOURS = {RANDOM: "#6b7079", SIMULATOR: "#2457d6", ENVIRONMENT: "#0f7b6c"}


def exploration_figure(name: str, exploration: Exploration, run: int) -> str:
    """Area over steps, in the colours of the page."""
    colours = {RANDOM: FAINT, SIMULATOR: run_colour(run), ENVIRONMENT: INK}
    drawing = Drawing(2)
    draw_area(drawing.panels, exploration, colours)
    return drawing.svg(name, "Cells visited, and their ratio to the random explorer's, against step")


def exploration_tables(exploration: Exploration, run: int) -> list[Table]:
    """What was covered, why, and what the numbers of the method do."""
    return [_area_table(exploration, run), *_outlook_tables(exploration), *_sweep_tables(exploration)]


def draw_area(panels: Sequence[Axes], exploration: Exploration, colours: dict[str, str]) -> None:
    """Cells visited by each explorer, and the ratio to the random one, over the steps."""
    areas, ratios = panels
    for explorer in exploration.explorers:
        band(areas, explorer.area, colours[explorer.name])
        if explorer.name != RANDOM:
            band(ratios, explorer.ratio, colours[explorer.name])
    ratios.axhline(1, color=colours[RANDOM], linewidth=1.2)
    title(areas, "Cells visited")
    title(ratios, "… over the random explorer's")
    areas.set_ylim(bottom=0)
    ratios.yaxis.set_major_formatter(lambda ratio, _: f"{ratio:g}×")
    for panel in panels:
        panel.set_xlim(0, exploration.settings["steps"])
        panel.set_xlabel("step", color=FAINT)


def area_picture(exploration: Exploration) -> bytes:
    """The same figure as a PNG."""
    figure = Figure(figsize=(9.8, 3.2), layout="constrained", dpi=150)
    panels = list(figure.subplots(1, 2))
    draw_area(panels, exploration, PICTURE_COLOURS)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#e3e3df", linewidth=0.6)
    names = [explorer.name for explorer in exploration.explorers]
    lines = [panels[0].plot([], [], color=PICTURE_COLOURS[name])[0] for name in names]
    panels[0].legend(lines, [TITLES[name] for name in names], frameon=False, loc="upper left")
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _area_table(exploration: Exploration, run: int) -> Table:
    """What each explorer covered by the end."""
    rows = [
        Row(
            TITLES[explorer.name],
            (
                _estimate(Estimate.last(explorer.area)),
                Cell(f"{explorer.free_share:.1%}"),
                Cell(NOTHING) if explorer.name == RANDOM else _estimate(Estimate.last(explorer.ratio), "×"),
                Cell(NOTHING) if explorer.name == RANDOM else Cell(f"{short(explorer.ratio_of_mazes)}×"),
                Cell(short(explorer.path)),
                Cell(f"{explorer.turning:.0%}"),
                Cell(f"{explorer.at_walls:.0%}"),
            ),
            run if explorer.name == SIMULATOR else None,
        )
        for explorer in exploration.explorers
    ]
    columns = ("cells visited", "of free cells", "over random", "mean of ratios", "cells walked", "turning", "at walls")
    return Table(f"After {exploration.settings['steps']} steps", columns, tuple(rows))


def _outlook_tables(exploration: Exploration) -> list[Table]:
    """The paper's figures that explain what depth does."""
    rows = []
    for explorer in exploration.planners:
        assert explorer.planning is not None
        for outlook in explorer.planning.outlooks:
            numbers = (outlook.error, outlook.change, outlook.least, outlook.greatest, outlook.agreement)
            label = f"{TITLES[explorer.name]}, {outlook.depth} steps ahead"
            rows.append(Row(label, tuple(Cell(short(number)) for number in numbers)))
    columns = ("imagined to real", "now to real", "least novelty", "greatest novelty", "agreement")
    return [Table("Distances between frames, per pixel and channel", columns, tuple(rows))] if rows else []


def _sweep_tables(exploration: Exploration) -> list[Table]:
    rows = [
        Row(
            f"{point.option} {point.value}",
            (
                _estimate(point.area),
                _estimate(point.ratio, "×"),
                Cell(short(point.planning.least)),
                Cell(short(point.planning.greatest)),
                Cell(short(point.planning.surprise)),
                Cell(f"{point.turning:.0%}"),
            ),
        )
        for point in exploration.sweep
    ]
    columns = ("cells visited", "over random", "least novelty", "greatest novelty", "surprise", "turning")
    return [Table("One number of the method changed at a time", columns, tuple(rows))] if rows else []


def _estimate(estimate: Estimate, unit: str = "") -> Cell:
    if estimate.low is None or estimate.high is None:
        return Cell(short(estimate.mean) + unit)
    return Cell(short(estimate.mean) + unit, f"{short(estimate.low)} – {short(estimate.high)}")
