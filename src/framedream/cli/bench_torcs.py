"""`framedream bench torcs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from framedream.cli.bench_output import Measured, Say, measure_and_show, mention_other_programs, read_arguments


@dataclass(frozen=True)
class TorcsArguments:
    """What `framedream bench torcs` is told."""

    frames: Annotated[int, tyro.conf.arg(metavar="N")] = 500
    """How many to play for each figure."""
    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Measure TORCS on g-track-1.

    Plays with random actions from the road camera: frames a second of one process and of two at once, resets, the
    first start; then the other cameras and the finer pictures.
    """
    told = read_arguments(TorcsArguments, arguments, "torcs", main.__doc__)
    from framedream.benchmarks import torcs

    def measure(say: Say) -> Measured:
        return torcs.bench_torcs(told.frames, say)

    measure_and_show(measure, _show, as_json=told.json)


def _show(measured: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    machine, targets = measured["machine"], measured["targets"]
    table = Table("", "measured", "wanted")
    for name, speed in measured["frames_per_second"].items():
        wanted = f"≥ {targets['frames_per_second']}" if name == "road" else ""
        table.add_row(f"frames a second, {name}", f"{speed:,.0f}", wanted)
    table.add_row("… of each of two processes, road", f"{measured['frames_per_second_of_two']:,.0f}")
    table.add_row("processor time per frame, road", f"{1000 * measured['processor_seconds_per_frame']:.1f} ms")
    table.add_row("reset", f"{measured['reset_seconds']:.2f} s", f"≤ {targets['reset_seconds_at_most']} s")
    table.add_row("until the first frame of a new process", f"{measured['start_seconds']:.2f} s")
    table.add_row("memory of the host", f"{measured['host_megabytes']:,.0f} MB")
    console = Console()
    console.print(table)
    console.print(f"{machine['processor']}, {machine['cores']} cores, {machine['system']}", highlight=False)
    console.print(f"TORCS {measured['torcs']}, {measured['renderer']}", highlight=False, soft_wrap=True)
    busy = measured["cores_busy_with_other_programs"]
    mention_other_programs(console, busy, "meanwhile: on an idle machine it is faster.")
