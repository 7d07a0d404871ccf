"""Draw frames of a data set: a contact sheet and a video.

    framedream data preview datasets/pong --out pictures/pong

Writes frames.png (random frames of random episodes) and beginnings.mp4 (how four episodes begin), with the action
taken on each frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class PreviewArguments:
    """What `framedream data preview` is told."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """The data set."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
    """Where the pictures go; those of the same name are replaced."""
    split: Literal["train", "test"] = "train"
    """Which half of the data set."""
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0
    """Decides which frames and episodes are drawn."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    told = tyro.cli(PreviewArguments, args=arguments, prog="framedream data preview", description=__doc__)
    from rich.console import Console
    from rich.progress import Progress

    from framedream.data.dataset import open_data_set
    from framedream.data.preview import draw_preview, film_length

    data_set = open_data_set(told.folder)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("Drawing", total=film_length(data_set.split(told.split)))
        paths = draw_preview(data_set, told.out, told.split, told.seed, on_frame=lambda: progress.advance(bar))
    for path in paths:
        print(path)
