"""Finding what a user means by `module:function`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from framedream.errors import UserError, unknown_name


def load_function(name: str) -> Callable[..., Any]:
    """The function (or class) of `module:function`; modules of the current directory count too."""
    module_name, _, function_name = name.partition(":")
    look_here()
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        # Anything at all may go wrong while a user's module runs, and it is theirs to put right.
        raise UserError(
            f"{name!r} could not be loaded, because importing {module_name!r} in {Path.cwd()} failed with "
            f"{type(error).__name__}: {error}."
        ) from error
    function = getattr(module, function_name, None)
    if function is None:
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise unknown_name(f"function in {module_name}", function_name, known, f"{module_name}.py")
    if not callable(function):
        raise UserError(f"{name!r} is a {type(function).__name__}; give a function that can be called.")
    return function  # type: ignore[no-any-return]


def look_here() -> None:
    """Make the modules of the current directory importable: an installed program does not look there by itself."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
