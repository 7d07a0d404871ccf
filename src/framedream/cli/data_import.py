"""Make a data set of your own recordings or of a Minari data set.

    framedream data import my_game/ --out datasets/my_game

A folder of episodes: walk.npz with arrays `frames` (N, H, W, 3) or (N, H, W) of uint8 and `actions`, one per step
from a frame to the next; or walk.mp4 with walk.csv beside it, whose header is `action` or `action,reward`. Names of
the actions may stand in actions.json. docs/own-recordings.md tells the rest.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class ImportArguments:
    """What `framedream data import` is told."""

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SOURCE")]
    """A folder of episodes, or a Minari data set: its folder or its name."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """The new data set."""
    format: Literal["auto", "folder", "minari"] = "auto"
    """What the source is."""
    test_fraction: Annotated[float, tyro.conf.arg(metavar="F")] = 0.1
    """How many of the episodes are kept for testing, where the source does not say which."""
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0
    """Decides which ones."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    told = tyro.cli(ImportArguments, args=arguments, prog="framedream data import", description=__doc__)
    from rich.console import Console
    from rich.progress import Progress

    from framedream.data.conversion.folder import read_folder
    from framedream.data.conversion.minari_storage import is_minari, read_minari
    from framedream.data.conversion.source import write_source

    kind = told.format
    if kind == "auto":
        kind = "minari" if is_minari(told.source) else "folder"
    source = read_minari(told.source) if kind == "minari" else read_folder(Path(told.source))
    source = source.divided(told.test_fraction, told.seed)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("Importing", total=source.frames)
        manifest = write_source(
            source, Path(told.source).name, told.out.absolute(), lambda frames: progress.advance(bar, frames)
        )
    for split in ("train", "test"):
        print(f"{split}: {manifest.frames_of(split):,} frames in {manifest.episodes_of(split):,} episodes")
    print(", ".join(manifest.recording.action_meanings))
    if not manifest.episodes_of("test"):
        print("There are no test episodes, which measuring a simulator needs: record at least two episodes.")
    print(f"Next: framedream data preview {shlex.quote(str(told.out))} --out pictures")
