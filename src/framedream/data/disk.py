"""Changes to files that a power cut or a kill leaves either undone or done; and what a failing disk means."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from framedream.errors import UserError


def rename_durably(temporary: Path, final: Path) -> None:
    """Give a complete, synced file its name; an existing file of that name is replaced in one step."""
    temporary.replace(final)
    # The new name is an entry of the folder, and is on disk only when the folder is.
    handle = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(path: Path, text: str) -> None:
    """Replace a small text file in one step."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    rename_durably(temporary, path)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error means a full disk. HDF5 says so only in the text of its own."""
    full = (errno.ENOSPC, errno.EDQUOT)
    return getattr(error, "errno", None) in full or any(f"errno = {number}" in str(error) for number in full)


def cannot_write(folder: Path, error: BaseException) -> UserError:
    """What to tell a user whose disk refuses to be written."""
    if is_disk_full(error):
        return UserError(
            f"The disk that holds {folder} is full; make room and run the same command again: "
            f"the data set is valid and finished episodes are kept."
        )
    reason = getattr(error, "strerror", None) or str(error)
    return UserError(f"Cannot write in {folder} ({reason}); choose another folder with --out.")
