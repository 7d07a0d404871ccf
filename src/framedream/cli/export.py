"""Write a simulator for others: a folder with its weights, frames to begin in, its evaluation and a card.

    framedream export runs/pong --out shared/pong --precision bfloat16 --failures failures.md

The folder is used like a run: `framedream play shared/pong`. Only its training cannot be resumed.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from framedream.cli.sizes import folder_size, size_in_words
from framedream.errors import UserError


@dataclass(frozen=True)
class ExportArguments:
    """What `framedream export` is told."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run (its newest checkpoint), one of its checkpoints, RUN/step-N, or sim:NAME."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
    """A new folder."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """What the weights are kept in: as they were trained, or rounded to half the size."""
    shard_size: Annotated[int | None, tyro.conf.arg(metavar="MB")] = None
    """Largest megabytes of one file of weights; unless told, one file."""
    starts: Annotated[int, tyro.conf.arg(metavar="N")] = 2_000
    """Frames to begin in, of test and of training episodes each, at least: whole episodes; 0 for none."""
    store: Literal["frames", "actions"] | None = None
    """How they are kept, unless told as in their data set; actions: tiny, for mazes."""
    data: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Where they come from; unless told, the data set that the simulator was trained on."""
    failures: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """What goes wrong in it, for the card, in the words of somebody who looked."""


def main(arguments: list[str]) -> None:
    """Run `framedream export`."""
    told = tyro.cli(ExportArguments, args=arguments, prog="framedream export", description=__doc__)
    if told.shard_size is not None and told.shard_size < 1:
        raise UserError(f"--shard-size must be at least 1, not {told.shard_size}.")
    if told.starts < 0:
        raise UserError(f"--starts must be at least 0, not {told.starts}.")
    failures = None if told.failures is None else _read(told.failures)

    from rich.console import Console

    from framedream.checkpoint.checkpoint import open_checkpoint
    from framedream.data.dataset import open_data_set
    from framedream.use.export import Contents, export

    with Console(stderr=True).status("Exporting"):
        checkpoint = open_checkpoint(told.run)
        facts = export(
            checkpoint,
            told.out,
            Contents(
                precision=told.precision,
                shard_bytes=None if told.shard_size is None else told.shard_size * 1_000_000,
                starts=told.starts,
                store=told.store,
            ),
            data=None if told.data is None else open_data_set(told.data),
            differences=_differences(checkpoint.configuration.run),
            failures=failures,
        )
    print(f"{told.out} has {checkpoint.folder.name} of {told.run}: {size_in_words(folder_size(told.out))}.")
    if facts.evaluation is None:
        print(f"Its card has no errors: before an export, framedream evaluate {shlex.quote(str(told.run))}.")
    if facts.failures is None:
        print("Its card has no known failures: play it, and export it with --failures FILE.")
    print(f"To play inside it: framedream play {shlex.quote(str(told.out))}")


def _read(failures: Path) -> str:
    try:
        text = failures.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{failures} cannot be read ({error}): name a text file with --failures.") from error
    if not text:
        raise UserError(f"{failures} is empty: write down what goes wrong, or leave --failures out.")
    return text


def _differences(run: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a run that are not its preset's; None where this version has no preset of that name."""
    from framedream.experiments.presets import PRESETS

    preset = PRESETS.get(str(run.get("preset")))
    if preset is None:
        return None
    usual = preset.run.to_json()
    return {name: value for name, value in run.items() if name in usual and value != usual[name]}
