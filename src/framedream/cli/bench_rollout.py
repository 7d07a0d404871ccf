"""`framedream bench rollout`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from framedream.cli.bench_fast import prepare, say_failure, say_what_it_ran_on, times, wanted_in_words, way_in_words
from framedream.cli.bench_output import Measured, Say, measure_and_show, read_arguments

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class RolloutArguments:
    """What `framedream bench rollout` is told."""

    batches: Annotated[tuple[int, ...], tyro.conf.arg(metavar="N …")] = ()
    """Simulators at once; unless told, some that suit the device and the variant."""
    variants: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME …")] = ("base", "pi-h", "pi-zero")
    """Which to roll out (`framedream variants`)."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute; auto: on a GPU where there is one."""
    seconds: float = 5.0
    """How long to measure each figure."""
    filters: float = 1.0
    """Multiplies the codec's filters; fewer than the paper's are for trying out."""
    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Measure rollouts: simulated steps per second of the fast path against plain eager float32 PyTorch.

    Simulators of Atari frames with random weights. Prediction-dependent ones draw every frame; prediction-independent
    ones jump without drawing any. The frames after ten steps are compared.
    """
    told = read_arguments(RolloutArguments, arguments, "rollout", main.__doc__)
    from framedream.benchmarks import rollout
    from framedream.model.device import chosen_device

    device = chosen_device(told.device)
    sizes = rollout.RolloutSizes(told.variants, told.batches, told.seconds, told.filters)

    def measure(say: Say) -> Measured:
        return rollout.bench_rollout(device, sizes, say)

    measure_and_show(measure, _show, as_json=told.json)


def _show(measured: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console()
    console.print(*_rollouts(measured["rollouts"]), sep="\n")
    say_what_it_ran_on(console, measured)


def _rollouts(rows: list[dict[str, Any]]) -> Iterator[Table]:
    """A table for each number of simulators of a variant, a line for each way of computing them."""
    from rich.table import Table

    for title, own in groupby(rows, lambda row: f"{row['variant']}, {row['batch']:,} at once"):
        table = Table("", "steps/s", "times", "of limit", "frames differ by", "wanted")
        prepare(table, title)
        for row in own:
            if "failure" in row:
                say_failure(table, way_in_words(row), row["failure"])
                continue
            difference = ""
            if "largest_difference" in row:
                difference = f"{row['largest_difference']:.2g} of {row['largest_value']:.0f} levels"
            table.add_row(
                way_in_words(row),
                f"{row['steps_per_second']:,.0f}",
                times(row),
                f"{row['share_of_limit']:.1%}",
                difference,
                wanted_in_words(row),
            )
        yield table
