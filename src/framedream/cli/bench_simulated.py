"""`framedream bench simulated`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from framedream.cli.bench_output import Measured, Say, measure_and_show, mention_other_programs, read_arguments


@dataclass(frozen=True)
class SimulatedArguments:
    """What `framedream bench simulated` is told."""

    run: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """A run or a checkpoint; unless told, two small simulators of 64x64 frames with random weights."""
    batches: Annotated[tuple[int, ...], tyro.conf.arg(metavar="N …")] = (1, 100, 1000)
    """Dreams at once."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute; auto: on a GPU where there is one."""
    seconds: float = 5.0
    """How long to measure each figure."""
    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Measure simulated environments.

    Steps per second of SimulatedVectorEnv: with frames, every step is decoded and given out as bytes; without, jumps
    of 15 actions, on which prediction-independent simulators decode nothing and the others what they read themselves.
    """
    told = read_arguments(SimulatedArguments, arguments, "simulated", main.__doc__)
    from framedream.benchmarks import simulated

    def measure(say: Say) -> Measured:
        return simulated.bench_simulated(told.run, told.batches, told.device, told.seconds, say)

    measure_and_show(measure, _show, as_json=told.json)


def _show(measured: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for simulator in measured["simulators"]:
        kind = "prediction-independent" if simulator["prediction_independent"] else "prediction-dependent"
        height, width = simulator["frame_size"]
        said = f"{simulator['name']}: {kind}, {simulator['parameters']:,} parameters, {height}x{width}"
        console.print(said, highlight=False, soft_wrap=True)
        table = Table("dreams at once", "steps/s with frames", f"in jumps of {measured['jump']}, without")
        for column in table.columns:
            column.justify = "right"
        for speed in simulator["steps_per_second"]:
            table.add_row(f"{speed['batch']:,}", f"{speed['with_frames']:,.0f}", f"{speed['without_frames']:,.0f}")
        console.print(table)
    machine = measured["machine"]
    console.print(
        f"On {measured['device']}; {machine['processor']}, {machine['cores']} cores, {measured['threads']} threads, "
        f"torch {machine['versions'].get('torch')}",
        highlight=False,
    )
    busy = measured["cores_busy_with_other_programs"]
    mention_other_programs(console, busy, "meanwhile: alone, this is faster.")
