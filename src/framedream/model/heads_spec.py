"""What a simulator predicts beside frames, as data. No torch here: the command line checks names with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from framedream.errors import UserError, unknown_name

REWARD, END = "reward", "end"
HEADS = (REWARD, END)


@dataclass(frozen=True)
class HeadsSpec:
    """Which heads there are, and the sizes that rebuild them."""

    names: tuple[str, ...]
    state_size: int
    """Numbers in h."""
    largest_reward: float = 1.0
    """The largest size of a reward in the training data: what the reward head can say at most."""
    width: int = 128
    """Units of the one layer between the state and what is said of it."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        try:
            return cls(**{**data, "names": tuple(data["names"])})
        except (TypeError, KeyError) as error:
            raise UserError(
                f"The heads' configuration cannot be read ({error}); "
                "it is damaged or was written by another version of framedream."
            ) from error


def read_head_names(text: str) -> tuple[str, ...]:
    """`reward,end` as ("reward", "end"), in their usual order."""
    asked = [name.strip() for name in text.split(",")]
    for name in asked:
        if name not in HEADS:
            raise unknown_name("head", name, HEADS, "framedream train --help")
    return tuple(name for name in HEADS if name in asked)
