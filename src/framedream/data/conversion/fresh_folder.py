"""Output that is either complete or not there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from framedream.errors import UserError


@contextmanager
def fresh_folder(folder: Path) -> Iterator[Path]:
    """A place to write to that becomes `folder` when all went well, and disappears when not."""
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f"{folder} exists already and is not overwritten: choose another place with --out.")
        shutil.rmtree(unfinished, ignore_errors=True)  # of a run that was killed
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.replace(folder)
    except OSError as error:
        raise UserError(
            f"Cannot write {folder} ({error.strerror or error}): choose another place with --out."
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
