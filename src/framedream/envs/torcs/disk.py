"""What to tell a user whose disk refuses to be written."""

from __future__ import annotations

import errno
from pathlib import Path

from framedream.errors import UserError


def cannot_write(folder: Path, error: OSError, variable: str) -> UserError:
    """The error for a folder whose place an environment variable decides."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(f"The disk that holds {folder} is full; make room, or set {variable} to another folder.")
    return UserError(f"Cannot write in {folder} ({error.strerror}); set {variable} to a folder that can be written.")
