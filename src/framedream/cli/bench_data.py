"""Measure recording and reading.

Records Pong with one worker, then reads random segments of another game with stock h5py, with one thread in place and
with two.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from framedream.cli.bench_output import Measured, Say, measure_and_show, mention_other_programs, read_arguments


@dataclass(frozen=True)
class DataArguments:
    """What `framedream bench data` is told."""

    environment: Annotated[str, tyro.conf.arg(name="env", metavar="ENV")] = "atari/seaquest"
    """Recorded with random actions, then read."""
    frames: Annotated[int, tyro.conf.arg(metavar="N")] = 20_000
    """How many to record."""
    folder: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Keep that data set here, and read it again the next time."""
    lengths: Annotated[tuple[int, ...], tyro.conf.arg(metavar="L …")] = (25,)
    """Frames per segment; 25 is a training sequence, 84 a longer one."""
    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    told = read_arguments(DataArguments, arguments, "data", __doc__)
    from framedream.benchmarks import data

    def measure(say: Say) -> Measured:
        return data.bench_data(told.environment, told.frames, told.folder, told.lengths, say)

    measure_and_show(measure, _show, as_json=told.json)


def _show(measured: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from framedream.benchmarks.machine import machine_in_words

    machine, recording, storage, targets = (measured[key] for key in ("machine", "recording", "storage", "targets"))
    table = Table("", "measured", "wanted", title=None)

    def row(what: str, value: str, wanted: str = "") -> None:
        table.add_row(what, value, wanted)

    row(
        f"recording {recording['environment']}, one worker",
        f"{recording['frames_per_second']:,.0f} frames/s",
        f"≥ {targets['recording_frames_per_second']:,}",
    )
    row(
        "… per second of processor time, start included",
        f"{recording['frames_per_processor_second_with_start']:,.0f} frames/s",
    )
    row(
        "memory of the worker at most",
        f"{recording['worker_megabytes']:,.0f} MB",
        f"< {targets['worker_megabytes_at_most']}",
    )
    row(
        f"{storage['environment']}: bytes per frame",
        f"{storage['frame_bytes_per_frame']:,.0f}",
        f"≤ {targets['seaquest_bytes_per_frame_at_most']:,.0f} (Seaquest)",
    )
    row("with states and everything else", f"{storage['file_bytes_per_frame']:,.0f}")
    for reading in measured["reading"]:
        speeds = reading["frames_per_second"]
        aimed_at = reading["segment_frames"] == targets["segment_frames"]
        table.add_section()
        row(f"random segments of {reading['segment_frames']} frames, h5py", f"{speeds['h5py']:,.0f} frames/s")
        row("in place, one thread", f"{speeds['one_thread']:,.0f} frames/s")
        row("… with states", f"{speeds['one_thread_with_states']:,.0f} frames/s")
        row("in place, two threads", f"{speeds['two_threads']:,.0f} frames/s")
        row(
            "one thread against h5py",
            f"{reading['faster_than_h5py']:.2f}×",
            f"≥ {targets['faster_than_h5py']}×" * aimed_at,
        )
        row(
            "two threads against one",
            f"{reading['two_threads_faster']:.2f}×",
            f"≥ {targets['two_threads_faster']}×" * aimed_at,
        )
    console = Console()
    console.print(table)
    console.print(machine_in_words(machine), highlight=False, soft_wrap=True)
    busy = max(reading["cores_busy_with_other_programs"] or 0 for reading in measured["reading"])
    mention_other_programs(console, busy, "while reading: threads compare fairly on free cores.")
