"""Folders of episodes: what `data export` writes as NPZ or films, and what people bring of their own games."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from framedream.data.conversion.film import FILM_SUFFIXES, read_film
from framedream.data.conversion.incoming import IncomingEpisode
from framedream.data.conversion.npz import read_npz
from framedream.data.conversion.origin import Origin
from framedream.data.conversion.source import Source
from framedream.data.manifest import MANIFEST, SPLITS
from framedream.errors import UserError

ACTIONS = "actions.json"


def read_folder(folder: Path) -> Source:
    """All episodes of a folder in the order of their names; `train` and `test` inside it are kept apart."""
    try:
        return _read_folder(folder)
    except OSError as error:
        raise UserError(f"{error.filename or folder} cannot be read ({error.strerror or error}).") from error


def _read_folder(folder: Path) -> Source:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: give the one that your episodes are in.")
    if (folder / MANIFEST).exists():
        raise UserError(f"{folder} is a data set already: use it as it is.")
    splits = {split: _files(folder / split) for split in SPLITS if (folder / split).is_dir()}
    loose = _files(folder)
    if loose and splits:
        raise UserError(f"{folder} has episodes beside its train and test folders: move {loose[0].name} into one.")
    if not any((loose, *splits.values())):
        raise UserError(
            f"{folder} has no episodes in it: put .npz files there, or films ({', '.join(FILM_SUFFIXES)}) with a CSV "
            "of actions each."
        )
    files = splits or {"train": loose}
    return Source(
        kind="folder",
        splits={split: [_reader(path)(path) for path in paths] for split, paths in files.items()},
        origin=Origin.read(folder),
        action_names=_read_action_names(folder / ACTIONS),
    )


def _files(folder: Path) -> list[Path]:
    suffixes = (".npz", *FILM_SUFFIXES)
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in suffixes and path.name[0] != ".")


def _reader(path: Path) -> Callable[[Path], IncomingEpisode]:
    return read_npz if path.suffix.lower() == ".npz" else read_film


def _read_action_names(path: Path) -> tuple[str, ...] | None:
    if not path.exists():
        return None
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} cannot be read as JSON ({error}).") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(
            f'{path} must be a list of names in the order of the actions, such as ["noop", "left", "right"].'
        )
    return tuple(names)
