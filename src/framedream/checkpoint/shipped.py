"""Simulators that ship with the package, named `sim:NAME` wherever a run is: folders that `framedream export` wrote."""

from __future__ import annotations

from pathlib import Path

from framedream.errors import unknown_name

PREFIX = "sim:"
SIMULATORS = Path(__file__).parents[1] / "simulators"
"""Holds a folder per simulator and nothing else; a new one ships as soon as it lies there."""


def shipped_simulators() -> dict[str, Path]:
    """Their folders, by name."""
    # A dot marks what an export that is still at work, or was killed, has not finished.
    folders = sorted(path for path in SIMULATORS.glob("*") if path.is_dir() and path.name[0] != ".")
    return {PREFIX + folder.name: folder for folder in folders}


def folder_of(run: Path) -> Path:
    """The folder of a run: where the package keeps it when it is named `sim:NAME`, else what was given."""
    name = str(run)
    if not name.startswith(PREFIX):
        return run
    shipped = shipped_simulators()
    if name not in shipped:
        raise unknown_name("simulator", name, shipped, "framedream simulators")
    return shipped[name]


def shipped_name(checkpoint: Path) -> str | None:
    """The name `sim:NAME` of a checkpoint that ships with the package; None for everybody's own."""
    folder = checkpoint.resolve()
    return next((name for name, path in shipped_simulators().items() if folder.is_relative_to(path.resolve())), None)
