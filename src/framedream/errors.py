"""Errors a user can act on: one sentence that says what to do, never a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Wrong usage or input. The message is one sentence that says what to do; the program exits with code 2."""


def unknown_name(kind: str, name: str, known: Iterable[str], where_listed: str) -> UserError:
    """The error for a name that does not exist, with the nearest names that do."""
    known = list(known)
    nearest = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    if nearest:
        hint = f"did you mean {' or '.join(repr(n) for n in nearest)}?"
    else:
        hint = f"`{where_listed}` lists what exists."
    return UserError(f"There is no {kind} named {name!r}; {hint}")
