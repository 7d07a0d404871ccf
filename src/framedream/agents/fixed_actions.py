"""A list of actions from a file, played as it stands."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from framedream.envs.frame_environment import Frame
from framedream.errors import UserError


class FixedActionsPolicy:
    """The same actions in every episode; when the list ends it starts over."""

    def __init__(self, actions: list[int], path: Path) -> None:
        self._list, self._path = actions, path

    def begin(self, seed: int, actions: int) -> None:
        self._step = 0

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        action = self._list[self._step % len(self._list)]
        self._step += 1
        return action

    def describe(self) -> dict[str, Any]:
        content = hashlib.sha256(json.dumps(self._list).encode()).hexdigest()
        return {"name": "file", "file": self._path.name, "actions": len(self._list), "sha256": content}


def read_actions(path: Path, actions: int) -> list[int]:
    """The actions in a `.json` list, an `.npy` array, or a text file of numbers; each from 0 to `actions` - 1."""
    if not path.is_file():
        raise UserError(f"There is no action file {path}; give the path of a .json, .npy or .txt file.")
    try:
        if path.suffix == ".json":
            values = np.asarray(json.loads(path.read_text()))
        elif path.suffix == ".npy":
            values = np.load(path, allow_pickle=False)
        else:
            values = np.array([int(word) for word in path.read_text().replace(",", " ").split()])
    except ValueError as error:
        raise UserError(f"{path} is not a list of whole numbers ({error}); write one action per step.") from error
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "iu":
        raise UserError(f"{path} must hold one flat list of at least one whole number, one action per step.")
    if values.min() < 0 or values.max() >= actions:
        raise UserError(
            f"{path} holds actions from {values.min()} to {values.max()}, "
            f"but this environment has 0 to {actions - 1}; remove the others."
        )
    return [int(value) for value in values]
