"""Numbered actions for any action space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from framedream.errors import UserError


def discrete_actions(space: spaces.Space[Any], actions: Sequence[Any] | None, name: str) -> list[Any]:
    """What the environment is given for action 0, 1, …: the listed values, or all those of a Discrete space."""
    if actions is None:
        if not isinstance(space, spaces.Discrete):
            raise UserError(
                f"{name} has the action space {space}, which cannot be numbered: "
                f"declare the actions to choose from, for example actions=[{example(space)}]."
            )
        values: list[Any] = [int(space.start) + number for number in range(int(space.n))]
    else:
        values = [in_space(space, action, name) for action in actions]
    if not values:
        raise UserError(f"{name} has no actions; give it at least one.")
    return values


def in_space(space: spaces.Space[Any], action: Any, name: str) -> Any:
    """A JSON value as an element of the action space."""
    try:
        value = shaped(space, action)
        fits = space.contains(value)
    except (TypeError, ValueError, KeyError):
        fits = False
    if not fits:
        raise UserError(f"The action {action} does not lie in the action space of {name}, {space}; correct `actions`.")
    return value


def shaped(space: spaces.Space[Any], action: Any) -> Any:
    """Lists become the arrays that Box, MultiDiscrete and MultiBinary want, also inside a Dict."""
    if isinstance(space, spaces.Dict):
        return {key: shaped(part, action[key]) for key, part in space.spaces.items()}
    return action if isinstance(space, spaces.Discrete) else np.asarray(action, space.dtype)


def example(space: spaces.Space[Any]) -> str:
    """Two elements of a space, as one would write them."""
    if isinstance(space, spaces.Dict):
        return "{" + ", ".join(f"'{key}': …" for key in space.spaces) + "}, …"
    length = int(np.prod(space.shape)) if space.shape is not None else 1
    return ", ".join(str([number] + [0] * (length - 1)) for number in (0, 1))
