"""Folders that exist whole or not at all, and that notice when a byte of them has changed.

A folder is filled under a temporary name, flushed to the disk, given a list of its files with their SHA-256
(`files.json`), and then renamed: whatever kills the program, under its own name there is only ever a complete one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from framedream.errors import UserError

FILE_LIST = "files.json"
FORMAT = "framedream checkpoint"
VERSION = 1
_OTHERWISE = "name another step folder, or remove this one to go on from the one before"
_WRITING, _REMOVING = ".writing-", ".removing-"


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill; it becomes `target` when the block ends, and vanishes when the block fails."""
    temporary = target.with_name(_WRITING + target.name)
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        files = {path.name: _describe(path) for path in sorted(temporary.iterdir())}
        (temporary / FILE_LIST).write_text(_canonical({"format": FORMAT, "version": VERSION, "files": files}))
        mode = (temporary / FILE_LIST).stat().st_mode
        for path in temporary.iterdir():
            path.chmod(mode)  # safetensors writes files that nobody else may read
            _flush(path)
        _flush(temporary)
        temporary.rename(target)
        _flush(target.parent)
    except OSError as error:
        raise UserError(f"The checkpoint {target} cannot be written: {error.strerror}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder so that, if stopped halfway, nothing half removed keeps its name."""
    doomed = folder.with_name(_REMOVING + folder.name)
    folder.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def remove_leftovers(parent: Path) -> None:
    """Remove what a killed program left half written or half removed."""
    for prefix in (_WRITING, _REMOVING):
        for leftover in parent.glob(prefix + "*"):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink()


def check_folder(folder: Path) -> None:
    """Refuse a folder that was not written by `new_folder`, or of which a byte has changed since."""
    listed = _read_file_list(folder)
    present = {path.name for path in folder.iterdir()} - {FILE_LIST}
    for name in sorted(set(listed) - present):
        raise UserError(f"The checkpoint {folder} is damaged: {name} is missing; {_OTHERWISE}.")
    for name in sorted(present - set(listed)):
        raise UserError(f"The checkpoint {folder} holds a file that is not its own, {name}: remove it.")
    for name, described in listed.items():
        if _describe(folder / name) != described:
            raise UserError(f"The checkpoint {folder} is damaged: {name} has changed; {_OTHERWISE}.")


def replace_file(path: Path, text: str) -> None:
    """Replace a small text file in one step."""
    temporary = path.with_name(_WRITING + path.name)
    temporary.write_text(text)
    _flush(temporary)
    temporary.replace(path)
    _flush(path.parent)


def _read_file_list(folder: Path) -> dict[str, Any]:
    path = folder / FILE_LIST
    if not path.is_file():
        raise UserError(f"{folder} is not a framedream checkpoint: it has no {FILE_LIST}; {_OTHERWISE}.")
    damaged = UserError(f"The checkpoint {folder} is damaged: {FILE_LIST} has changed; {_OTHERWISE}.")
    try:
        text = path.read_text()
        content = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise damaged from error
    # A change that still reads as JSON (in a key, in a blank) shows as a text that we would not have written.
    if not isinstance(content, dict) or text != _canonical(content) or not isinstance(content.get("files"), dict):
        raise damaged
    if content.get("format") != FORMAT or content.get("version") != VERSION:
        raise UserError(
            f"{folder} says it is {content.get('format')!r} version {content.get('version')!r}; "
            f"this program reads {FORMAT!r} version {VERSION}."
        )
    files: dict[str, Any] = content["files"]
    return files


def _canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def _describe(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
