"""What a data set is a recording of: everything that decides its frames, so that it can be recorded again."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from framedream.errors import UserError, unknown_name

Store = Literal["frames", "actions"]
"""What parts hold: everything, or only what frames and states can be shown again from."""

IMPORTED = "imported"
"""In the place of an environment's name, for recordings that were not made by `collect`."""


@dataclass(frozen=True)
class Recording:
    """The source of a data set's episodes. JSON values only; two recordings with equal fields give equal episodes."""

    environment: str
    arguments: dict[str, Any]
    action_meanings: tuple[str, ...]
    action_repeat: int
    frame_shape: tuple[int, int]
    """Height and width; the colours are a third axis, or a palette where `indexed`."""
    indexed: bool
    policy: dict[str, Any]
    provenance: dict[str, Any]
    seed: int
    state_shape: tuple[int, ...] | None = None
    state_dtype: str | None = None
    store: Store = "frames"

    def __post_init__(self) -> None:
        if not self.action_meanings:
            raise UserError(
                f"The environment {self.environment!r} has 0 actions; a simulator needs at least one to choose from."
            )
        if self.seed < 0:
            raise UserError(f"The seed must be 0 or more, not {self.seed}.")
        if self.store not in get_args(Store):
            raise unknown_name("kind of storage", self.store, get_args(Store), "framedream collect --help")
        # What JSON gives back is what is compared later (it has lists where Python had tuples).
        for name in ("arguments", "policy", "provenance"):
            object.__setattr__(self, name, _as_json(name, getattr(self, name)))
        for name in ("action_meanings", "frame_shape", "state_shape"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else tuple(value))

    @property
    def image_shape(self) -> tuple[int, ...]:
        """The shape of one stored frame."""
        return self.frame_shape if self.indexed else (*self.frame_shape, 3)

    @property
    def state_type(self) -> np.dtype[Any] | None:
        """The type of one stored state, where the environment has states."""
        return None if self.state_dtype is None else np.dtype(self.state_dtype)

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        fields: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return fields

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """The recording whose `as_json` this is."""
        return cls(**fields)

    def differences(self, other: Recording) -> list[str]:
        """One clause per field that is not the same in `other`, for the message that refuses to mix the two."""
        if self.environment != other.environment:
            # Little else is the same then, and none of it says more.
            return [f"environment is {other.environment!r}, not {self.environment!r}"]
        clauses = []
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine == theirs:
                continue
            name = field.name.replace("_", " ")
            if isinstance(mine, dict):
                for key in sorted(mine.keys() | theirs.keys()):
                    now, before = (repr(values[key]) if key in values else "absent" for values in (theirs, mine))
                    if now != before:
                        clauses.append(f"{name} {key} is {now}, not {before}")
            else:
                clauses.append(f"{name} is {theirs!r}, not {mine!r}")
        return clauses


def _as_json(name: str, value: dict[str, Any]) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(json.dumps(value))
    except TypeError as error:
        raise UserError(
            f"The {name} of a recording must be JSON values, so that it can be repeated: {error}."
        ) from None
    return plain
