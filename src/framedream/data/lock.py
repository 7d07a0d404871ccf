"""One recorder at a time: a lock that the system takes back when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from framedream.errors import UserError

LOCK = ".lock"


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder for writing, or refuse because someone else does. The empty lock file stays behind."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"Another recorder is writing into {folder}; wait for it, or choose another folder with --out."
            ) from None
        yield
    finally:
        os.close(handle)
