"""How long something takes: again and again, in turn with what it is compared with, on a GPU until it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from statistics import median
from typing import Any, TypeVar

import torch

from framedream.benchmarks.device import wait_for
from framedream.errors import UserError

REPETITIONS = 5

Work = Callable[[], object]
Row = dict[str, Any]
"""What was measured of one thing, for JSON."""
Name = TypeVar("Name", bound=Hashable)


def in_turn(ways: Mapping[Name, Work], seconds: float, device: torch.device) -> dict[Name, list[float]]:
    """Seconds per call of each way, about `seconds` of each in all; each has been called before, to warm up.

    Measured in turn, again and again, so that all meet the same disturbances.
    """
    once = {name: elapsed(work, 1, device) for name, work in ways.items()}
    repetitions = min(REPETITIONS, max(1, int(seconds / max(once.values(), default=seconds))))
    times = {name: max(1, int(seconds / repetitions / taken)) for name, taken in once.items()}
    measured: dict[Name, list[float]] = {name: [] for name in ways}
    for _ in range(repetitions):
        for name, work in ways.items():
            measured[name].append(elapsed(work, times[name], device) / times[name])
    return measured


def contest(
    rows: Mapping[Name, Row], start: Callable[[Name], tuple[Work, Row]], seconds: float, device: torch.device
) -> dict[Name, list[float]]:
    """Start every way, and time in turn those that could be started: their seconds per call.

    `start` gives what to time and what to add to the way's row. What fails says so in its row, and the others go on.
    """
    ways: dict[Name, Work] = {}
    for name, row in rows.items():
        try:
            ways[name], facts = start(name)
        except Exception as error:
            row["failure"] = in_one_line(error)
        else:
            row.update(facts)
    try:
        return in_turn(ways, seconds, device)
    except Exception as error:
        for name in ways:
            rows[name]["failure"] = in_one_line(error)
        return {}


def seconds_per_call(work: Work, seconds: float, device: torch.device) -> float:
    """The median of repetitions that last about so long altogether, after a first call."""
    work()
    return median(in_turn({"it": work}, seconds, device)["it"])


def elapsed(work: Work, times: int, device: torch.device) -> float:
    """Seconds of so many calls together."""
    wait_for(device)
    began = time.perf_counter()
    for _ in range(times):
        work()
    wait_for(device)
    return time.perf_counter() - began


def in_one_line(error: Exception) -> str:
    """What a table says in the place of a figure."""
    words = str(error).strip().splitlines()
    if words and isinstance(error, UserError):
        return words[0]
    return f"{type(error).__name__}: {words[0]}" if words else type(error).__name__
