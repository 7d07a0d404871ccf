"""A user's own policy by `module:function`."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from framedream.agents.policy import Policy
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.envs.user_function import load_function
from framedream.errors import UserError


def load_policy(name: str, environment: FrameEnvironment) -> Policy:
    """What the function returns when given the environment: a `Policy`, or just a function (frame, info) → action."""
    function = load_function(name)
    made = function(environment)
    if all(callable(getattr(made, method, None)) for method in ("begin", "act", "describe")):
        policy: Policy = made
        return policy
    if not callable(made):
        raise UserError(
            f"{name} returned a {type(made).__name__}; it must return a policy with begin, act and describe, "
            f"or a function of (frame, info) that returns an action."
        )
    return FunctionPolicy(name, function, made)


class FunctionPolicy:
    """A plain function as a policy. It is given no seed, so what it draws at random cannot be drawn again."""

    def __init__(self, name: str, source: Callable[..., Any], choose: Callable[[Frame, dict[str, Any]], int]) -> None:
        self._name, self._source, self._choose = name, source, choose

    def begin(self, seed: int, actions: int) -> None:
        self._actions = actions

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        action = int(self._choose(frame, info))
        if not 0 <= action < self._actions:
            raise UserError(f"{self._name} chose action {action}; return one from 0 to {self._actions - 1}.")
        return action

    def describe(self) -> dict[str, Any]:
        # The file rather than the function: what it calls decides as much as what it says.
        file = inspect.getsourcefile(self._source)
        source = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else None
        return {"name": self._name, "source_sha256": source}
