"""List the paper's state transitions: their sizes at 18 actions with the Atari codec, and their equations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

ACTIONS = 18  # the Atari machine's; the paper's sizes are for its 210x160 frames


@dataclass
class Variants:
    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[NAME ...]")] = ()
    """Only these, with their equations; all of them by default."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the rows for programs."""


def main(arguments: list[str]) -> None:
    choice = tyro.cli(Variants, args=arguments, prog="framedream variants", description=__doc__)
    rows = variant_rows(choice.names)
    if choice.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        _print_table(rows)


def variant_rows(names: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What there is to say about each variant, sizes computed without allocating a parameter."""
    from framedream.model.codec_spec import ATARI
    from framedream.model.equations import equations
    from framedream.model.simulator import SimulatorSpec, parameter_count
    from framedream.model.variants import VARIANTS, variant

    rows = []
    for name in names or VARIANTS:
        row = variant(name)
        independent = row.transition.prediction_independent
        rows.append(
            {
                "name": name,
                "parameters": parameter_count(SimulatorSpec.named(name, ATARI, ACTIONS)),
                "paper_millions": row.paper_millions,
                "kind": "prediction-independent" if independent else "prediction-dependent",
                "paper_name": row.paper_name,
                "paper": row.paper_section,
                "equations": equations(row.transition),
                "note": row.note,
            }
        )
    return rows


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("name", "in the paper", "section", title="State transitions", title_justify="left")
    table.add_column("millions", justify="right")
    table.add_column("paper's", justify="right")
    for row in rows:
        paper_millions = "–" if row["paper_millions"] is None else str(row["paper_millions"])
        table.add_row(row["name"], row["paper_name"], _section(row), f"{row['parameters'] / 1e6:.1f}", paper_millions)
    console.print(table)
    console.print(f"Millions of parameters, with {ACTIONS} actions and the Atari codec.")
    for row in rows:
        console.print(f"\n{row['name']} (section {_section(row)}, {row['kind']})", style="bold")
        for line in (*row["equations"], row["note"]):
            if line:
                console.print(f"    {line}", markup=False, soft_wrap=True)


def _section(row: dict[str, Any]) -> str:
    number: str = row["paper"].split(" ", 1)[0]
    return number
