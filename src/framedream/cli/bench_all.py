"""`framedream bench all`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from framedream.cli.bench import BENCHES
from framedream.cli.bench_output import Measured, Say, measure_and_show, read_arguments
from framedream.errors import unknown_name

ALL = tuple(name for name in BENCHES if name != "all")
WITH_DEVICE = ("simulated", "train", "rollout")


@dataclass(frozen=True)
class AllArguments:
    """What `framedream bench all` is told."""

    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="WHAT …")] = ()
    """Run these benchmarks; unless told, all of them."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where simulators compute; auto: on a GPU where there is one."""
    json: bool = False
    """Print one JSON object for programs."""


def main(arguments: list[str]) -> None:
    """Run all benchmarks at their usual sizes, one after the other, each in a process of its own.

    Where one fails, for want of an emulator or of memory, it says why in its place, and the others go on.
    """
    told = read_arguments(AllArguments, arguments, "all", main.__doc__)
    from framedream.benchmarks.everything import bench_all, show_all

    benches = [usual_words(name, told.device) for name in told.only or ALL]
    if not told.json:
        show_all(benches)
        return

    def measure(say: Say) -> Measured:
        return bench_all(benches, say)

    measure_and_show(measure, lambda measured: None, as_json=True)


def usual_words(name: str, device: str) -> list[str]:
    """What a benchmark is told, its own name first."""
    if name not in ALL:
        raise unknown_name("benchmark", name, ALL, "framedream bench --help")
    words = [name]
    if name in WITH_DEVICE:
        words += ["--device", device]
    if name == "train":
        words.append("--all-variants")
    return words
