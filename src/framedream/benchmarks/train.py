"""Training, measured: frames per second of the fast path and of the straightforward version, in the same run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from framedream.benchmarks.coverage import FRAME_SIZES, Coverage
from framedream.benchmarks.device import describe_device, precisions_of
from framedream.benchmarks.limit import rates_of
from framedream.benchmarks.machine import OtherPrograms, describe_machine
from framedream.benchmarks.start import measure_start
from framedream.benchmarks.timing import Row, in_one_line
from framedream.benchmarks.updates import (
    ACTIONS,
    HEIGHT,
    RESIDENT,
    STREAMED,
    SYNTHETIC,
    WIDTH,
    Kind,
    Supply,
    measure_updates,
)
from framedream.benchmarks.wanted import wanted_of_updates
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.plan import Amount
from framedream.data.recorder import record
from framedream.errors import UserError
from framedream.model.variants import VARIANTS, variant
from framedream.training.batches import DeviceBatch, StreamedFrames
from framedream.training.resident import ResidentFrames
from framedream.training.specification import RunSpec

SCHEME = "pdt-100"
GAME, RECORDED_FRAMES = "atari/pong", 20_000
MODERN_BATCH, COVERAGE_BATCH = 32, 16

Say = Callable[[str], None]


@dataclass(frozen=True)
class TrainSizes:
    """How much is measured, and how finely."""

    batches: tuple[int, ...]
    modern_batch: int
    coverage_batch: int
    warm_up: int
    prediction_length: int
    seconds: float
    """For every figure."""
    filters: float = 1.0
    """Multiplies the codec's filters: fewer than the paper's are for trying out."""
    recorded_frames: int = RECORDED_FRAMES

    @classmethod
    def usual(cls, device: torch.device, batches: Sequence[int], seconds: float, filters: float) -> TrainSizes:
        """The paper's lengths on a GPU; on a CPU such as it gets through."""
        if device.type == "cuda":
            return cls(tuple(batches) or (16, 64, 256), MODERN_BATCH, COVERAGE_BATCH, 10, 15, seconds, filters)
        chosen = tuple(batches) or (4,)
        return cls(chosen, min(chosen), min(2, *chosen), 4, 4, seconds, filters)

    def __post_init__(self) -> None:
        if not self.batches or min(self.batches) < 1 or not self.seconds > 0:
            raise UserError("Measure batches of at least one sequence, for more than 0 seconds.")

    def applied_to(self, run: RunSpec, batch: int) -> RunSpec:
        return replace(
            run,
            batch_size=batch,
            warm_up=self.warm_up,
            prediction_length=self.prediction_length,
            filters=self.filters,
        )


@dataclass(frozen=True)
class Covered:
    """What else to measure, a few updates each."""

    variants: tuple[str, ...] = ()
    schemes: bool = False
    frame_sizes: tuple[tuple[int, int], ...] = ()

    @classmethod
    def everything(cls) -> Covered:
        return cls(tuple(VARIANTS), schemes=True, frame_sizes=FRAME_SIZES)

    def __post_init__(self) -> None:
        for name in self.variants:
            variant(name)  # or the error that names the nearest ones


def bench_train(
    device: torch.device,
    sizes: TrainSizes,
    paper: RunSpec,
    modern: RunSpec,
    covered: Covered,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """Everything in one run: training by the paper's recipe and by the modern one, at these sizes and 100% PDT."""
    others = OtherPrograms()
    machine = describe_machine(("torch", "triton", "numpy", "ale-py")) | describe_device(device)
    torch.backends.cudnn.benchmark = device.type == "cuda"  # as in training
    paper = replace(paper, scheme=SCHEME)
    say("The machine's own rate")
    rates = rates_of(device, sizes.seconds)
    say("Starting with nothing compiled, and again")
    start = _start(sizes.applied_to(paper, sizes.batches[0]), device)
    with ExitStack() as stack:
        say(f"Recording {GAME}")
        data, real_data = _recorded(stack, sizes.recorded_frames)
        rows = []
        for kind in _kinds(sizes, paper, modern):
            say(f"{kind.run.variant}, {kind.run.optimiser}, batch {kind.run.batch_size}")
            rows += _measure(kind, data, sizes.seconds, device)
    covering = sizes.applied_to(paper, sizes.coverage_batch)
    coverage = Coverage(covering, (HEIGHT, WIDTH), sizes.seconds, device, say)
    measured = {
        "updates": rows,
        "variants": coverage.variants(covered.variants),
        "schemes": coverage.schemes() if covered.schemes else [],
        "frame_sizes": coverage.frame_sizes(covered.frame_sizes),
    }
    for row in (row for rows in measured.values() for row in rows):
        if "frames_per_second" in row:
            row["share_of_limit"] = row["frames_per_second"] * row["flop_per_frame"] / rates[row["precision"]]
    for row in rows:
        row["wanted"] = wanted_of_updates(row, machine["device"])
    return {
        "machine": machine,
        "operations_per_second": rates,
        "start": start,
        "real_data": real_data,
        **measured,
        "cores_busy_with_other_programs": others.busy_cores(),
    }


def _kinds(sizes: TrainSizes, paper: RunSpec, modern: RunSpec) -> Iterator[Kind]:
    for batch in sizes.batches:
        yield Kind.for_any_frames(sizes.applied_to(paper, batch), HEIGHT, WIDTH, ACTIONS)
    # The modern optimiser, slopes and background on the paper's baseline, then the preset as it is.
    run = sizes.applied_to(modern, sizes.modern_batch)
    yield Kind.for_any_frames(replace(run, variant=paper.variant, scheme=SCHEME), HEIGHT, WIDTH, ACTIONS)
    for phase in run.phases(prediction_independent=False).phases:
        yield Kind.for_any_frames(run, HEIGHT, WIDTH, ACTIONS, phase)


def _measure(kind: Kind, data: DataSet | None, seconds: float, device: torch.device) -> list[Row]:
    try:
        with ExitStack() as stack:
            supplies = {SYNTHETIC: kind.noise(device)}
            if data is not None:
                supplies |= stack.enter_context(_real_supplies(kind, data, device))
            return measure_updates(kind, supplies, precisions_of(device), seconds, device)
    except Exception as error:
        return [kind.describe() | {"failure": in_one_line(error)}]


def _start(run: RunSpec, device: torch.device) -> dict[str, Any]:
    try:
        return measure_start(replace(run, precision=precisions_of(device)[0]), device)
    except Exception as error:
        return {"failure": in_one_line(error)}


def _recorded(stack: ExitStack, frames: int) -> tuple[DataSet | None, dict[str, Any]]:
    """A data set that lasts as long as the stack, or what it takes to have one."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="framedream-bench-"))) / "data"
    try:
        record(GAME, folder, Amount(frames=frames), options={})
    except Exception as error:
        return None, {"environment": GAME, "missing": in_one_line(error)}
    data = open_data_set(folder)
    return data, {"environment": GAME, "frames": data.split("train").frames}


@contextmanager
def _real_supplies(kind: Kind, data: DataSet, device: torch.device) -> Iterator[dict[str, Supply]]:
    """Batches of recorded frames, as training gets them."""
    with ExitStack() as stack:
        supplies: dict[str, Supply] = {}
        for name, source in ((RESIDENT, ResidentFrames), (STREAMED, StreamedFrames)):
            opened = stack.enter_context(source(data.split("train"), kind.run, device))
            batches = stack.enter_context(opened.open(kind.phase.sequence_length, 0))
            supplies[name] = partial(_next, batches)
        yield supplies


def _next(batches: Iterator[DeviceBatch]) -> tuple[Tensor, Tensor]:
    batch = next(batches)
    return batch.frames, batch.actions
