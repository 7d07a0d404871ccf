"""Measure the speeds of this machine.

    framedream bench data

Compares with the straightforward way of doing the same, on the same files in the same run.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from framedream.cli.bench_simulated import bench_simulated
from framedream.errors import unknown_name

BUSY_CORES_TO_MENTION = 0.1


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


def bench_data(arguments: list[str]) -> None:
    """Measure recording and reading.

    Records Pong with one worker, then reads random segments of another game with stock h5py, with one thread in place
    and with two.
    """
    told = tyro.cli(
        DataArguments,
        args=arguments,
        prog="framedream bench data",
        description=inspect.getdoc(bench_data),
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    from rich.console import Console

    from framedream.benchmarks import data

    with Console(stderr=True).status("Preparing") as status:
        measured = data.bench_data(told.environment, told.frames, told.folder, told.lengths, status.update)
    if told.json:
        print(json.dumps(measured, indent=1))
    else:
        _show_data(measured)


def _show_data(measured: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    machine, recording, storage, targets = (measured[key] for key in ("machine", "recording", "storage", "targets"))
    versions = ", ".join(f"{package} {version}" for package, version in machine["versions"].items())
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
    console.print(f"{machine['processor']}, {machine['cores']} cores, {machine['system']}", highlight=False)
    console.print(versions, highlight=False, soft_wrap=True)
    busy = max(reading["cores_busy_with_other_programs"] or 0 for reading in measured["reading"])
    if busy > BUSY_CORES_TO_MENTION:
        console.print(f"Other programs kept {busy:.1f} cores busy while reading: threads compare fairly on free cores.")


BENCHES: dict[str, Callable[[list[str]], None]] = {"data": bench_data, "simulated": bench_simulated}


def main(arguments: list[str]) -> None:
    """Run the command: the first word says what is measured."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview())
        return
    if arguments[0] not in BENCHES:
        raise unknown_name("benchmark", arguments[0], BENCHES, "framedream bench --help")
    BENCHES[arguments[0]](arguments[1:])


def _overview() -> str:
    lines = ["usage: framedream bench WHAT …", "", (__doc__ or "").strip(), ""]
    lines += [f"  {name:10}{(bench.__doc__ or '').splitlines()[0]}" for name, bench in BENCHES.items()]
    lines += ["", "framedream bench WHAT --help tells the rest."]
    return "\n".join(lines)
