"""Compiled functions: numba where it is installed, results kept on disk, and a word to whoever waits the first time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar, cast

from framedream.errors import UserError

try:
    import numba
    from numba.core import event
except ImportError as error:
    raise UserError("The mazes need numba: pip install 'framedream[maze]'.") from error

COMPILING = "framedream: compiling the maze renderer, once, about 5 s"

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """The function as machine code, made when it is first called.

    No fast arithmetic: every process and every machine is to get the same frames. Numba notices changes only in the
    file a function is in, so compiled functions use nothing from other files, constants included.
    """
    try:
        return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError as error:  # numba's word for "no folder to keep the result in"
        raise UserError("Set NUMBA_CACHE_DIR to a folder that can be written: compiled code is kept there.") from error


class Announcement(event.Listener):
    """Says on stderr, once, that something is being compiled; numba tells it when nothing is found on disk."""

    said = False

    def on_start(self, event: event.Event) -> None:
        if not self.said:
            print(COMPILING, file=sys.stderr, flush=True)
        self.said = True

    def on_end(self, event: event.Event) -> None:
        pass


def announced() -> AbstractContextManager[object]:
    """Within it, whoever waits for compilation is told so."""
    return cast(AbstractContextManager[object], event.install_listener("numba:compile", Announcement()))
