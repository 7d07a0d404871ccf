"""What all benchmarks share: arguments, a word of what is being done, then JSON or a table, and other programs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import tyro

if TYPE_CHECKING:
    from rich.console import Console

BUSY_CORES_TO_MENTION = 0.1

Measured = dict[str, Any]
Say = Callable[[str], None]
Told = TypeVar("Told")


def read_arguments(kind: type[Told], arguments: list[str], name: str, words: str | None) -> Told:
    """What `framedream bench NAME` is told; `words` is what its --help says."""
    return tyro.cli(
        kind,
        args=arguments,
        prog=f"framedream bench {name}",
        description=None if words is None else inspect.cleandoc(words),
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def measure_and_show(measure: Callable[[Say], Measured], show: Callable[[Measured], None], *, as_json: bool) -> None:
    """Measure, saying what, and then show what came of it, or print it as JSON."""
    from rich.console import Console

    with Console(stderr=True).status("Preparing") as status:
        measured = measure(status.update)
    if as_json:
        print(json.dumps(measured, indent=1))
    else:
        show(measured)


def mention_other_programs(console: Console, busy_cores: float | None, words: str) -> None:
    """Say that other programs ran beside; `words` ends the sentence with what that means."""
    if busy_cores is not None and busy_cores > BUSY_CORES_TO_MENTION:
        console.print(f"Other programs kept {busy_cores:.1f} cores busy {words}")
