"""`framedream bench train`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from framedream.cli.bench_fast import prepare, say_failure, say_what_it_ran_on, times, wanted_in_words, way_in_words
from framedream.cli.bench_output import Measured, Say, measure_and_show, read_arguments
from framedream.experiments.presets import preset

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class TrainArguments:
    """What `framedream bench train` is told."""

    batches: Annotated[tuple[int, ...], tyro.conf.arg(metavar="N …")] = ()
    """Sequences per update; unless told, 16, 64 and 256 on a GPU, and 4 shorter ones on a CPU."""
    variants: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME …")] = ()
    """Measure these variants too, a few updates each."""
    all_variants: bool = False
    """Measure all variants, schemes and several sizes of frames, a few updates each."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute; auto: on a GPU where there is one."""
    seconds: float = 5.0
    """How long to measure each figure."""
    filters: float = 1.0
    """Multiplies the codec's filters; fewer than the paper's are for trying out."""
    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Measure training: frames per second of the fast path against plain eager float32 PyTorch.

    The paper's baseline on Atari frames (210x160, six actions, warm-up 10, T = 15, 100% PDT; on a CPU warm-up 4 and
    T = 4) with synthetic and with recorded data, AdamW with the modern preset's settings, the time a start takes,
    memory, and how much of the machine's own rate of multiplying is used.
    """
    told = read_arguments(TrainArguments, arguments, "train", main.__doc__)
    from framedream.benchmarks import train
    from framedream.model.device import chosen_device

    device = chosen_device(told.device)
    sizes = train.TrainSizes.usual(device, told.batches, told.seconds, told.filters)
    covered = train.Covered.everything() if told.all_variants else train.Covered(told.variants)

    def measure(say: Say) -> Measured:
        return train.bench_train(device, sizes, preset("paper-atari").run, preset("modern").run, covered, say)

    measure_and_show(measure, _show, as_json=told.json)


def _show(measured: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console()
    console.print(*_updates(measured["updates"]), sep="\n")
    for title in ("variants", "schemes", "frame_sizes"):
        if measured[title]:
            console.print(_covered(title.replace("_", " "), measured[title]))
    start = measured["start"]
    if "failure" in start:
        console.print(f"A start: {start['failure']}")
    else:
        first, later = start["first_start_seconds"], start["later_start_seconds"]
        console.print(f"A new process needs {first:.1f} s to its first captured update, {later:.1f} s the next time")
    if "missing" in measured["real_data"]:
        console.print(f"No recorded data: {measured['real_data']['missing']}")
    say_what_it_ran_on(console, measured)


def _updates(rows: list[dict[str, Any]]) -> Iterator[Table]:
    """A table for each kind of update, a line for each way of computing it."""
    from rich.table import Table

    for title, own in groupby(rows, _title):
        table = Table("", "frames/s", "times", "of synthetic", "of limit", "memory", "wanted")
        prepare(table, title)
        for row in own:
            how = f"… {row['data']} data" if row.get("data") in ("resident", "streamed") else way_in_words(row)
            if "failure" in row:
                say_failure(table, how, row["failure"])
                continue
            table.add_row(
                how,
                f"{row['frames_per_second']:,.0f}",
                times(row),
                f"{row['of_synthetic']:.3f}" if "of_synthetic" in row else "",
                f"{row['share_of_limit']:.1%}",
                f"{row['peak_megabytes'] / 1000:,.1f} GB" if row["peak_megabytes"] is not None else "",
                wanted_in_words(row),
            )
        yield table


def _title(row: dict[str, Any]) -> str:
    lengths = f"{row['warm_up']} frames to warm up and {len(row['feed'])} to predict"
    return f"{row['variant']}, {row['optimiser']}, batch {row['batch']}, {lengths}"


def _covered(title: str, rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table("", "fast, frames/s", "times", "of limit", "start", "note")
    prepare(table, title)
    for row in rows:
        if "failure" in row:
            say_failure(table, row["name"], row["failure"])
            continue
        faster = row.get("straightforward_failure") or times(row)
        share, start = f"{row['share_of_limit']:.1%}", f"{row['start_up_seconds']:.1f} s"
        table.add_row(row["name"], f"{row['frames_per_second']:,.0f}", faster, share, start, row["note"])
    return table
