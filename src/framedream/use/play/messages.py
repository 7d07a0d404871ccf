"""What the page may say and what it is answered, checked word by word: it comes from the network.

The page sends JSON objects with a `do`; it gets JSON objects with a `kind`, and bytes that begin with a kind's number.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

from framedream.errors import UserError
from framedream.use.play.game import Seen

LARGEST_MESSAGE = 2**20
"""A session file of 200,000 actions; everything else is far smaller."""
LARGEST_ORDINARY = 1024
FRAME, FILM, EPISODE = 1, 2, 3
FASTEST_RATE = 60
LONGEST_LATENCY = 60_000.0
NUMBERS = struct.Struct("<BBHHHIIffff")
"""Kind, flags, height, width, number of pictures, step, the last input seen, error, usual error, strangeness, rate."""
NOT_KNOWN = float("nan")
REAL_OVER, STRANGE_NOW, PAUSED, POLICY_PLAYS = 1, 2, 4, 8

_NUMBER_OF = {
    "act": ("action", 0, 65_535),
    "rate": ("value", 1, FASTEST_RATE),
    "back": ("to", 1, 2**31),
}
_WORDLESS = ("step", "save", "session", "score", "mark")


@dataclass(frozen=True)
class Message:
    """One wish of the player."""

    do: str
    number: int = 0
    input: int = 0
    """Counts key presses, so that the page can tell which frame answered which."""
    on: bool = False
    text: str | None = None
    content: Any = None


def read_message(text: str) -> Message:
    """What the page said; UserError where it makes no sense."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError("That is not JSON.") from error
    if not isinstance(said, dict) or not isinstance(said.get("do"), str):
        raise UserError("A message is an object with a word `do`.")
    do = said["do"]
    if do != "replay" and len(text) > LARGEST_ORDINARY:
        raise UserError("That message is too long.")
    if do in _NUMBER_OF:
        name, least, most = _NUMBER_OF[do]
        return Message(do, number=_whole(said, name, least, most), input=_whole(said, "input", 0, 2**32 - 1, 0))
    if do in _WORDLESS:
        return Message(do, text=_text(said, "words", 200))
    if do in ("pause", "record"):
        if not isinstance(said.get("on"), bool):
            raise UserError(f"`{do}` needs `on`: true or false.")
        return Message(do, on=said["on"])
    if do == "restart":
        return Message(do, number=_whole(said, "seed", 0, 2**63 - 1, -1))
    if do == "policy":
        return Message(do, text=_text(said, "name", 100))
    if do == "latency":
        value = said.get("milliseconds")
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= LONGEST_LATENCY:
            raise UserError("A latency is a number of milliseconds.")
        return Message(do, content=float(value))
    if do == "replay":
        return Message(do, content=said.get("session"))
    raise UserError("There is no such wish.")


def pack_frame(seen: Seen, *, answered: int, paused: bool, policy: bool, rate: float) -> bytes:
    """A frame for the page: numbers, then the dream's and perhaps the real picture, as RGB bytes."""
    pictures = [seen.dream] + ([] if seen.real is None else [seen.real])
    flags = REAL_OVER * seen.real_over | STRANGE_NOW * seen.strange | PAUSED * paused | POLICY_PLAYS * policy
    height, width = seen.dream.shape[:2]
    numbers = (NOT_KNOWN if value is None else value for value in (seen.error, seen.usual, seen.strangeness))
    head = NUMBERS.pack(FRAME, flags, height, width, len(pictures), seen.step, answered, *numbers, rate)
    return head + b"".join(picture.tobytes() for picture in pictures)


def _whole(said: dict[str, Any], name: str, least: int, most: int, otherwise: int | None = None) -> int:
    value = said.get(name)
    if value is None and otherwise is not None:
        return otherwise
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UserError(f"`{name}` must be a whole number from {least} to {most}.")
    return value


def _text(said: dict[str, Any], name: str, longest: int) -> str | None:
    value = said.get(name)
    if value is not None and (not isinstance(value, str) or len(value) > longest):
        raise UserError(f"`{name}` must be a text of at most {longest} letters.")
    return value
