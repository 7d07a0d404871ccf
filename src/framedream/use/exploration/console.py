"""An exploration in a terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from framedream.evaluation.exploration import RANDOM, Estimate, Exploration


def show(exploration: Exploration) -> None:
    """Print what was covered, what explains it, and the sweep."""
    console = Console()
    settings = exploration.settings
    console.print(
        f"\n{settings['mazes']} mazes, {settings['walks']} walks of {settings['steps']} steps in each; "
        "intervals are over mazes",
        highlight=False,
    )
    console.print(_areas(exploration))
    if exploration.planners:
        console.print(_outlooks(exploration))
        speeds = [
            f"{explorer.name} {explorer.planning.sequences_per_second:,.0f}"
            for explorer in exploration.explorers
            if explorer.planning is not None
        ]
        console.print(f"Sequences imagined and compared per second: {', '.join(speeds)}.", highlight=False)
    if exploration.sweep:
        console.print(_sweep(exploration))


def _areas(exploration: Exploration) -> Table:
    table = _table("Area visited", "explorer", "cells", "68%", "free", "ratio", "68%", "turns", "walls")
    for explorer in exploration.explorers:
        ratio = Estimate.last(explorer.ratio)
        table.add_row(
            explorer.name,
            *_estimate(Estimate.last(explorer.area), 1),
            f"{explorer.free_share:.1%}",
            *(("", "") if explorer.name == RANDOM else _estimate(ratio, 2)),
            f"{explorer.turning:.0%}",
            f"{explorer.at_walls:.0%}",
        )
    return table


def _outlooks(exploration: Exploration) -> Table:
    table = _table(
        "Distances between frames, per pixel and channel",
        *("explorer", "steps", "imagined\nto real", "now\nto real", "least\nnovelty", "greatest\nnovelty", "agreement"),
    )
    for explorer in exploration.planners:
        assert explorer.planning is not None
        for outlook in explorer.planning.outlooks:
            agreement = "–" if outlook.agreement is None else f"{outlook.agreement:.2f}"
            numbers = (outlook.error, outlook.change, outlook.least, outlook.greatest)
            table.add_row(explorer.name, str(outlook.depth), *(f"{number:.3f}" for number in numbers), agreement)
    return table


def _sweep(exploration: Exploration) -> Table:
    table = _table(
        "One number of the method changed at a time", *("", "cells", "68%", "ratio", "68%", "novelty", "surprise")
    )
    for point in exploration.sweep:
        planning = point.planning
        table.add_row(
            f"{point.option} {point.value}",
            *_estimate(point.area, 1),
            *_estimate(point.ratio, 2),
            f"{planning.least:.2f}–{planning.greatest:.2f}",
            f"{planning.surprise:.3f}",
        )
    return table


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _estimate(estimate: Estimate, digits: int) -> tuple[str, str]:
    """A number and its interval."""
    interval = "–" if estimate.low is None else f"{estimate.low:.{digits}f}–{estimate.high:.{digits}f}"
    return f"{estimate.mean:.{digits}f}", interval
