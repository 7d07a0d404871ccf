"""Options as people write them on a command line, checked before an environment stumbles over them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from framedream.errors import UserError, unknown_name

WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", dict: "a JSON object"}
PLURALS = {int: "a list of whole numbers", str: "a list of texts"}


def check_options(name: str, maker: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that `maker` does not declare (unless it takes any), and values of another type than declared."""
    parameters = inspect.signature(maker).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    function = maker.func if isinstance(maker, partial) else maker
    types = get_type_hints(function.__init__ if inspect.isclass(function) else function)
    for option, value in options.items():
        if option not in known:
            if takes_any:
                continue
            raise unknown_name(f"option of {name}", option, known, "docs/environments.md")
        if not fits(value, types[option]):
            raise UserError(f"The option {option} of {name} must be {in_words(types[option])}, not {value!r}.")


def fits(value: Any, kind: Any) -> bool:
    """Whether a JSON value is of the declared type. True is no number here, and text no list."""
    if isinstance(kind, UnionType):
        return any(fits(value, one) for one in get_args(kind))
    if kind is Any:
        return True
    if kind is int or kind is float:
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if get_origin(kind) is Sequence:
        return isinstance(value, list | tuple) and all(fits(one, *get_args(kind)) for one in value)
    return isinstance(value, get_origin(kind) or kind)


def in_words(kind: Any) -> str:
    """What to write for a value of this type."""
    if isinstance(kind, UnionType):
        return " or ".join(in_words(one) for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is Sequence:
        return PLURALS.get(get_args(kind)[0], "a list")
    return WORDS[get_origin(kind) or kind]
