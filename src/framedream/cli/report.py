"""Write one self-contained HTML page about one or several evaluated runs.

The page holds its figures, tables and films itself: it can be mailed, opened without a network, and printed. Runs
that were measured on the same sequences are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from framedream.errors import UserError


@dataclass(frozen=True)
class Report:
    """The command's options."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN …")]
    """Runs (their newest evaluated checkpoints) or single checkpoints, RUN/step-N."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE.html")]
    """The page to write, FILE.html."""
    overwrite: bool = False
    """Replace the page if it exists."""


def main(arguments: list[str]) -> None:
    """Run `framedream report`."""
    options = tyro.cli(
        Report, args=arguments, prog="framedream report", description=__doc__, config=(tyro.conf.FlagCreatePairsOff,)
    )
    if not options.runs:
        raise UserError("Name the run to report on, for example: framedream report runs/pong --out pong.html.")
    _refuse_target(options.out, options.overwrite)

    from rich.console import Console

    from framedream.evaluation.report.page import write_report
    from framedream.evaluation.report.runs import read_runs

    with Console(stderr=True).status("Drawing the page"):
        write_report(read_runs(options.runs), options.out)
    print(f"Written: {options.out} ({options.out.stat().st_size / 1e6:.1f} MB)")


def _refuse_target(page: Path, overwrite: bool) -> None:
    """Refuse a place for the page that cannot be meant, before anything is drawn."""
    try:
        is_folder, exists, has_folder = page.is_dir(), page.exists(), page.parent.is_dir()
    except OSError as error:
        raise UserError(f"The page {page} cannot be written ({error.strerror}): choose another --out.") from error
    if is_folder:
        raise UserError(f"{page} is a folder: name the page to write in it, such as {page / 'report.html'}.")
    if exists and not overwrite:
        raise UserError(f"{page} exists: add --overwrite to replace it, or choose another --out.")
    if not has_folder:
        raise UserError(f"The folder {page.parent} does not exist: make it, or choose another --out.")
