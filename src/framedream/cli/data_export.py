"""Convert a data set to Minari, NPZ or MP4.

    framedream data export datasets/pong --to npz --out exported/pong

npz: one file per episode, every array in it. mp4: one lossless film per episode (H.264 in RGB; VLC and mpv play it,
browsers do not) and a CSV of actions and rewards. minari: one Minari data set per split, colours as they are, JPEG
off. `framedream data import` reads each of them back, frame for frame the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from framedream.errors import UserError


@dataclass(frozen=True)
class ExportArguments:
    """What `framedream data export` is told."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """The data set."""
    to: Literal["minari", "npz", "mp4"]
    """The format."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")]
    """A new folder."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    told = tyro.cli(ExportArguments, args=arguments, prog="framedream data export", description=__doc__)
    from rich.console import Console
    from rich.progress import Progress

    from framedream.data.conversion.export import export_folder
    from framedream.data.dataset import open_data_set

    data_set = open_data_set(told.folder)
    if not data_set.manifest.parts:
        raise UserError(f"{told.folder} has no episodes to export; record some with `framedream collect`.")
    out = told.out.absolute()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("Exporting", total=sum(split.frames for split in data_set.splits.values()))
        if told.to == "minari":
            from framedream.data.conversion.minari_storage import export_minari

            export_minari(data_set, out, lambda frames: progress.advance(bar, frames))
        else:
            export_folder(data_set, out, told.to, lambda frames: progress.advance(bar, frames))
    print(f"{told.out} has every episode of {told.folder} as {told.to}.")
    if told.to == "minari":
        print(f'With MINARI_DATASETS_PATH={out.parent}: minari.load_dataset("{out.name}/train-v0")')
