"""Measure the speeds of this machine.

    framedream bench data
    framedream bench maze
    framedream bench torcs
    framedream bench train
    framedream bench rollout
    framedream bench simulated
    framedream bench play
    framedream bench all --json

Compares with the straightforward way of doing the same, or with what the project asks of itself, all in one run.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from framedream.errors import unknown_name


@dataclass(frozen=True)
class Bench:
    """Where a benchmark lives (`main(arguments)` of that module) and what it measures."""

    module: str
    summary: str


BENCHES = {
    "data": Bench("bench_data", "recording and reading"),
    "maze": Bench("bench_maze", "the mazes: drawing, walking, replaying"),
    "torcs": Bench("bench_torcs", "the race track: frames, resets, starts"),
    "train": Bench("bench_train", "training: frames a second of the fast path and of plain PyTorch"),
    "rollout": Bench("bench_rollout", "rollouts: steps a second of the fast path and of plain PyTorch"),
    "simulated": Bench("bench_simulated", "simulated environments: steps a second, alone and in thousands"),
    "play": Bench("bench_play", "playing: from a key to a drawn frame, many players at once"),
    "all": Bench("bench_all", "all of these, one after the other"),
}


def main(arguments: list[str]) -> None:
    """Run the command: the first word says what is measured."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview())
        return
    if arguments[0] not in BENCHES:
        raise unknown_name("benchmark", arguments[0], BENCHES, "framedream bench --help")
    importlib.import_module(f"framedream.cli.{BENCHES[arguments[0]].module}").main(arguments[1:])


def _overview() -> str:
    lines = ["usage: framedream bench WHAT …", "", (__doc__ or "").strip(), ""]
    lines += [f"  {name:10}{bench.summary}" for name, bench in BENCHES.items()]
    lines += ["", "framedream bench WHAT --help tells the rest."]
    return "\n".join(lines)
