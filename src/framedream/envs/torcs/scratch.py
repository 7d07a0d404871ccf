"""The folder that a running host has to itself; those of processes that were killed are removed by the next one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from framedream.envs.torcs.disk import cannot_write
from framedream.errors import UserError

PREFIX = "framedream-torcs-"


class ScratchFolder:
    """A new folder, locked as long as this process lives: the lock is what tells it from a forgotten one."""

    def __init__(self) -> None:
        place = temporary_folder()
        remove_forgotten(place)
        try:
            self.path, self._lock = _new_locked(place)
        except OSError as error:
            raise cannot_write(place, error, "TMPDIR") from error

    def write(self, files: dict[str, str]) -> None:
        """Text files by their path inside the folder."""
        try:
            for name, text in files.items():
                file = self.path / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise cannot_write(self.path, error, "TMPDIR") from error

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _new_locked(place: Path) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        # Someone who is cleaning up may find it before it is locked.
        try:
            lock = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return path, lock
        os.close(lock)


def temporary_folder() -> Path:
    """Where temporary files go."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        # Python tries several, by writing into them.
        raise UserError("No temporary folder can be written; make room in /tmp, or set TMPDIR to a folder.") from error


def remove_forgotten(place: Path) -> None:
    """Remove this user's scratch folders that no living process has locked."""
    for path in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
