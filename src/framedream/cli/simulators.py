"""List the simulators that ship with the package; their names stand for a run in every command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from framedream.cli.sizes import folder_size, size_in_words


@dataclass(frozen=True)
class Simulators:
    """What to list."""

    json: bool = False
    """Print JSON instead of a table."""


def main(arguments: list[str]) -> None:
    """Run `framedream simulators`."""
    wanted = tyro.cli(Simulators, args=arguments, prog="framedream simulators", description=__doc__)
    from framedream.checkpoint.shipped import shipped_simulators

    entries = [_describe(name, folder) for name, folder in shipped_simulators().items()]
    if wanted.json:
        print(json.dumps(entries, indent=1, ensure_ascii=False))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not entries:
        console.print("No simulators ship with this version; docs/simulators.md says how to make one.")
        return
    table = Table("simulator", "environment", "frames", "variant", "size", box=SIMPLE_HEAD)
    for entry in entries:
        frames = "×".join(map(str, entry["frame_size"]))
        table.add_row(entry["name"], entry["environment"], frames, entry["variant"], size_in_words(entry["bytes"]))
    console.print(table)
    console.print(f"Play inside one with `framedream play {entries[0]['name']}`; `framedream simulators --json` names")
    console.print("their folders, where card.md says what each was made of, how far off it is, and where it fails.")


def _describe(name: str, folder: Path) -> dict[str, Any]:
    from framedream.checkpoint.configuration import Configuration
    from framedream.checkpoint.run_folder import find_checkpoint, read_training

    checkpoint = find_checkpoint(folder)
    configuration, training = Configuration.read(checkpoint), read_training(checkpoint)
    return {
        "name": name,
        "folder": str(folder),
        "environment": configuration.environment["name"],
        "arguments": configuration.environment.get("arguments", {}),
        "frame_size": list(configuration.frame_size),
        "actions": configuration.action_meanings,
        "variant": configuration.simulator["variant"],
        "heads": [] if configuration.heads is None else configuration.heads["names"],
        "updates": training["updates"],
        "bytes": folder_size(folder),
    }
