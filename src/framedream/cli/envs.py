"""List the environments; the extra that a missing one needs is named beside it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import tyro


@dataclass(frozen=True)
class Environments:
    """What to list."""

    json: bool = False
    """Print JSON instead of a table."""


def main(arguments: list[str]) -> None:
    """Run `framedream envs`."""
    wanted = tyro.cli(Environments, args=arguments, prog="framedream envs", description=__doc__)
    from framedream.envs import list_environments

    entries = list_environments()
    if wanted.json:
        print(json.dumps([asdict(entry) for entry in entries], indent=1))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("environment", "family", "what it is", box=SIMPLE_HEAD)
    table.columns[0].no_wrap = True
    for entry in entries:
        needs = "" if entry.install is None else f" [yellow](needs: {escape(entry.install)})[/]"
        table.add_row(entry.name, entry.family, escape(entry.summary) + needs)
    console = Console()
    console.print(table)
    console.print("Record one with `framedream collect NAME --out DIR`; docs/environments.md explains their options.")
