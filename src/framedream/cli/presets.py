"""List the ready-made training runs; every field can be changed on the command line of `framedream train`."""

from __future__ import annotations

import json
from dataclasses import dataclass

import tyro


@dataclass(frozen=True)
class Presets:
    """What to list."""

    json: bool = False
    """Print JSON, with every field, instead of a table."""


def main(arguments: list[str]) -> None:
    """Run `framedream presets`."""
    wanted = tyro.cli(Presets, args=arguments, prog="framedream presets", description=__doc__)
    from framedream.experiments.presets import PRESETS

    if wanted.json:
        print(json.dumps([preset.to_json(name) for name, preset in PRESETS.items()], indent=1))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table("preset", "variant", "scheme", "updates", "what for", box=SIMPLE_HEAD)
    table.columns[1].no_wrap = True
    for name, preset in PRESETS.items():
        run = preset.run
        table.add_row(name, run.variant, run.scheme, f"{run.updates:,}", preset.summary)
    console = Console()
    console.print(table)
    console.print("`framedream presets --json` shows every field; `framedream train --FIELD VALUE` changes it.")
