"""Describe a data set: what it is a recording of, how much there is of it, whether it is complete."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from framedream.cli.sizes import size_in_words

if TYPE_CHECKING:
    from framedream.data.dataset import DataSet


@dataclass(frozen=True)
class InfoArguments:
    """What `framedream data info` is told."""

    folder: tyro.conf.Positional[Path]
    """The data set."""
    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    told = tyro.cli(
        InfoArguments,
        args=arguments,
        prog="framedream data info",
        description=__doc__,
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    from framedream.data.dataset import open_data_set

    facts = data_set_facts(open_data_set(told.folder, check=False))
    if told.json:
        print(json.dumps(facts, indent=1))
    else:
        _show(facts)


def data_set_facts(data: DataSet) -> dict[str, Any]:
    """Everything the command says, as JSON values."""
    return {
        "folder": str(data.folder),
        "identity": data.identity,
        **data.recording.as_json(),
        "splits": {name: _split_facts(data, name) for name in data.splits},
    }


def _split_facts(data: DataSet, name: str) -> dict[str, Any]:
    from framedream.data.plan import Amount

    manifest, episodes = data.manifest, data.splits[name].episodes
    frames, stored = manifest.frames_of(name), sum(part.bytes for part in manifest.parts_of(name))
    asked = manifest.asked.get(name)
    facts: dict[str, Any] = {
        "episodes": len(episodes),
        "frames": frames,
        "files": len(manifest.parts_of(name)),
        "bytes": stored,
        "asked": asked,
        "complete": asked is None or Amount(**asked).reached(frames, len(episodes)),
    }
    if len(episodes):
        facts["bytes_per_frame"] = round(stored / frames, 2)
        for key, values in (("length", episodes.length), ("return", episodes.total_reward)):
            facts[key] = {"mean": float(values.mean()), "least": values.min().item(), "most": values.max().item()}
    return facts


def _show(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    options = " ".join(f"{key}={value}" for key, value in facts["arguments"].items())
    height, width = facts["frame_shape"]
    colours = "palette indices" if facts["indexed"] else "RGB"
    replayed = "; not stored, drawn again from seeds and actions" if facts["store"] == "actions" else ""
    repeated = f", each action repeated {facts['action_repeat']} times" if facts["action_repeat"] > 1 else ""
    lines = {
        "environment": f"{facts['environment']} {options}",
        "policy": " ".join(f"{key}={value}" for key, value in facts["policy"].items()),
        "seed": str(facts["seed"]),
        "frames": f"{height}×{width} {colours}{repeated}{replayed}",
        "actions": ", ".join(facts["action_meanings"]),
        "versions": " ".join(f"{key}={value}" for key, value in facts["provenance"].items()),
        "identity": facts["identity"],
    }
    if facts["state_shape"] is not None:
        lines["ground truth"] = f"{facts['state_shape'][0]} numbers of {facts['state_dtype']} per frame"
    console = Console()
    summary = Table.grid(padding=(0, 2))
    summary.add_column(no_wrap=True)
    summary.add_column(overflow="fold")
    for name, line in lines.items():
        if line:
            summary.add_row(f"[bold]{name}", line)
    table = Table("", *facts["splits"])
    for name in ("frames", "episodes", "episode length", "episode return", "files", "size", "bytes per frame", "state"):
        table.add_row(name, *(_split_lines(split)[name] for split in facts["splits"].values()))
    console.print(summary, table, highlight=False, soft_wrap=True)


def _split_lines(split: dict[str, Any]) -> dict[str, str]:
    lines = {
        "frames": f"{split['frames']:,}",
        "episodes": f"{split['episodes']:,}",
        "episode length": "",
        "episode return": "",
        "files": f"{split['files']:,}",
        "size": size_in_words(split["bytes"]),
        "bytes per frame": "",
        "state": "complete",
    }
    if not split["complete"]:
        ((unit, number),) = split["asked"].items()
        lines["state"] = f"interrupted: {number:,} {unit} were asked for"
    if split["episodes"]:
        for key in ("length", "return"):
            values = split[key]
            lines[f"episode {key}"] = f"{values['mean']:,.6g} ({values['least']:,.6g} to {values['most']:,.6g})"
        lines["bytes per frame"] = f"{split['bytes_per_frame']:,.1f}"
    return lines
