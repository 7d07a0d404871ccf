"""The whole of framedream in minutes: record, train, evaluate, report, on a laptop without a GPU.

It runs the ordinary commands and shows each, so that they can be repeated with other words. Stopped by Ctrl-C, the
same command goes on where it was.
"""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from framedream.errors import UserError
from framedream.experiments.demo import DEMO

if TYPE_CHECKING:
    from framedream.evaluation.results import Measurement

SHOWN = {
    "model": "the simulator",
    "shuffled actions": "the simulator, told another sequence's actions",
    "last frame": "repeating the last frame seen",
    "mean frame": "the mean of all training frames",
    "blend": "the best blend of these two: what is possible without any dynamics",
}
SHIPPED = "sim:pong"
"""What learnt the same game for longer than anybody wants to wait for a demonstration."""


@dataclass(frozen=True)
class Demo:
    """The command's options."""

    out: Path = Path("runs/demo")
    """Folder for the data set, the run and the report."""


def main(arguments: list[str]) -> None:
    """Run the commands of the demonstration, one after the other, and say what came of it."""
    options = tyro.cli(Demo, args=arguments, prog="framedream demo", description=__doc__)
    started = time.monotonic()
    data, run, page = options.out / "data", options.out / DEMO.name, options.out / "report.html"
    program = os.environ.get("FRAMEDREAM_PROGRAM", "framedream")

    from framedream.cli import collect, evaluate, report, train
    from framedream.evaluation.store import stored_evaluation

    for command, words in (
        (collect, ["collect", DEMO.environment, "--out", str(data), *DEMO.collect]),
        (train, ["train", str(data), "--out", str(run), "--resume", *DEMO.train]),
        (evaluate, ["evaluate", str(run), "--data", str(data), *DEMO.evaluate]),
        (report, ["report", str(run), "--out", str(page), "--overwrite"]),
    ):
        print(f"\n$ {program} {shlex.join(words)}", flush=True)
        command.main(words[1:])

    from framedream.checkpoint.run_folder import find_checkpoint
    from framedream.checkpoint.shipped import shipped_simulators

    evaluation = stored_evaluation(find_checkpoint(run))
    if evaluation is None:
        raise UserError(f"{run} was evaluated, but its results are gone: run framedream demo again.")
    print(f"\n{conclusion(evaluation.measurements[0])}")
    print(f"\nAll of it took {(time.monotonic() - started) / 60:.1f} minutes.")
    print(f"Look at {page} in a browser. To play inside the simulator:\n\n  {program} play {shlex.quote(str(run))}\n")
    if SHIPPED in shipped_simulators():
        print(f"To play inside one that learnt for longer, and ships trained:\n\n  {program} play {SHIPPED}\n")


def conclusion(measurement: Measurement) -> str:
    """Whether something was learnt: five numbers on the same held-out sequences, and what they say."""
    from framedream.evaluation.verdict import sentence, telling_step

    step = telling_step(measurement)
    moving = {name: measurement.curve(name).moving.at(step) for name in SHOWN}
    lines = [f"Error on moving pixels {step} steps ahead, in episodes it has never seen (lower is better):"]
    for name, words in SHOWN.items():
        error = moving[name]
        lines.append(f"  {'–' if error is None else f'{error:.2f}':>8}  {words}")
    lacking = shortcomings(measurement)
    if lacking:
        lines.append(f"The simulator did NOT learn what it should: at step {step}, {' and '.join(lacking)}.")
    else:
        lines.append(f"The simulator {sentence(measurement)}.")
    return "\n".join(lines)


def shortcomings(measurement: Measurement) -> list[str]:
    """What a simulator that has learnt would do and this one does not; nothing if it has learnt."""
    from framedream.evaluation.baselines import NAMES
    from framedream.evaluation.verdict import listens_to_actions, telling_step

    step = telling_step(measurement)
    own = measurement.curve("model").moving.at(step)
    errors = {name: measurement.curve(name).moving.at(step) for name in NAMES}
    unbeaten = [name for name, error in errors.items() if own is None or error is None or own >= error]
    lacking = []
    if unbeaten:
        lacking.append(f"its moving-pixel error is not below that of the {' and the '.join(unbeaten)}")
    if not listens_to_actions(measurement):
        lacking.append("other sequences' actions make no clear difference to it")
    return lacking
