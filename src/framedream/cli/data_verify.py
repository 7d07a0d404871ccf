"""Check every checksum of a data set.

Reads everything: the manifest, every part file, every frame; compares the episodes' content with the data set's
identity. Names each bad file. Exit code 0: all is well; 1: something is not; 2: wrong usage.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass(frozen=True)
class VerifyArguments:
    """What `framedream data verify` is told."""

    folder: tyro.conf.Positional[Path]
    """The data set."""
    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    told = tyro.cli(
        VerifyArguments,
        args=arguments,
        prog="framedream data verify",
        description=__doc__,
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    from rich.console import Console
    from rich.progress import Progress

    from framedream.data.verify import verify

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"Checking {told.folder}", total=None)
        verified = verify(told.folder, lambda done, total: progress.update(bar, completed=done, total=total))
    manifest = verified.manifest
    if told.json:
        print(
            json.dumps(
                {
                    "folder": str(told.folder),
                    "clean": not verified.findings,
                    "findings": [{"file": finding.file, "problem": finding.problem} for finding in verified.findings],
                    "identity": None if manifest is None else manifest.overall_identity,
                },
                indent=1,
            )
        )
    else:
        for finding in verified.findings:
            print(f"{finding}.")
        if manifest is not None and not verified.findings:
            parts = len(manifest.parts)
            frames = sum(part.frames for part in manifest.parts)
            episodes = sum(part.episodes for part in manifest.parts)
            print(f"{told.folder} is clean: {frames:,} frames in {episodes:,} episodes in {parts:,} files.")
            print(f"identity {manifest.overall_identity}")
    if verified.findings:
        sys.exit(1)
