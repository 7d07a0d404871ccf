"""What all benchmarks share: a word of what is being done, then JSON or a table, and whether the machine was busy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

BUSY_CORES_TO_MENTION = 0.1

Measured = dict[str, Any]
Say = Callable[[str], None]


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
