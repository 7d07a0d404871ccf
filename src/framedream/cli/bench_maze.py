"""Measure the mazes.

Walks with one process and with two, draws layouts, moves many agents at once, replays recorded walks, and starts with
nothing compiled, at 48×48 pixels and 2×2 samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from framedream.cli.bench_output import Measured, Say, measure_and_show, read_arguments


@dataclass(frozen=True)
class MazeArguments:
    """What `framedream bench maze` is told."""

    repetitions: Annotated[int, tyro.conf.arg(metavar="N")] = 9
    """How often each is measured; the median counts."""
    episodes: Annotated[int, tyro.conf.arg(metavar="N")] = 4
    """Episodes of 900 frames that each process walks in each repetition."""
    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    told = read_arguments(MazeArguments, arguments, "maze", __doc__)
    from framedream.benchmarks import maze

    def measure(say: Say) -> Measured:
        return maze.bench_maze(told.episodes, told.repetitions, say)

    measure_and_show(measure, _show, as_json=told.json)


def _show(measured: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from framedream.benchmarks.machine import machine_in_words

    targets, table = measured["targets"], Table("", "measured", "wanted")
    for what, value, wanted in (
        (
            "walking, one process, resets included",
            f"{measured['frames_per_second']:,.0f} frames/s",
            f"≥ {targets['frames_per_second']:,}",
        ),
        ("… in the best repetition", f"{measured['best_frames_per_second']:,.0f} frames/s", ""),
        ("… per second of processor time", f"{measured['frames_per_processor_second']:,.0f} frames/s", ""),
        (
            "two processes against one",
            f"{measured['two_processes_faster']:.2f}×",
            f"≥ {targets['two_processes_faster']}×",
        ),
        ("… by processor time", f"{measured['two_processes_faster_by_processor_time']:.2f}×", ""),
        (
            "a new layout",
            f"{measured['layout_milliseconds']:.2f} ms",
            f"≤ {targets['layout_milliseconds_at_most']:g} ms",
        ),
        (
            f"{measured['agents']} agents in as many mazes, one thread",
            f"{measured['vector_frames_per_second']:,.0f} frames/s",
            "",
        ),
        ("replaying: to prepare an episode", f"{measured['replay_milliseconds']:.2f} ms", ""),
        (
            f"… then random segments of {measured['replay_segment_frames']} frames",
            f"{measured['replay_frames_per_second']:,.0f} frames/s",
            "",
        ),
        (
            "until the first environment exists, nothing compiled",
            f"{measured['first_start_seconds']:.1f} s",
            f"≤ {targets['first_start_seconds_at_most']:g} s",
        ),
        ("… compiled before", f"{measured['later_start_seconds']:.1f} s", ""),
    ):
        table.add_row(what, value, wanted)
    console = Console()
    console.print(table)
    console.print(machine_in_words(measured["machine"]), highlight=False, soft_wrap=True)
