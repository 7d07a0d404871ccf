"""Rollouts, measured: simulated frames per second of the fast path and of the straightforward version."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor

from framedream.benchmarks.device import Precision, describe_device, precisions_of, release_memory, wait_for
from framedream.benchmarks.limit import rates_of, rollout_flop
from framedream.benchmarks.machine import OtherPrograms, describe_machine
from framedream.benchmarks.noise import random_simulator
from framedream.benchmarks.ratios import median_ratio
from framedream.benchmarks.straightforward import ordinary_float32, straightforward_rollout
from framedream.benchmarks.timing import Row, Work, contest, in_one_line
from framedream.benchmarks.updates import ACTIONS, HEIGHT, WIDTH
from framedream.benchmarks.wanted import wanted_of_rollouts
from framedream.errors import UserError
from framedream.fast.doubles import faster
from framedream.model.simulator import Simulator, State
from framedream.model.simulator_spec import SimulatorSpec
from framedream.model.variants import variant

VARIANTS = ("base", "pi-h", "pi-zero")
DEPENDENT_BATCHES = {"cuda": (1, 100, 1024), "cpu": (1, 8)}
INDEPENDENT_BATCHES = {"cuda": (1, 100, 4096), "cpu": (1, 100, 1000)}
STEPS = {"cuda": 100, "cpu": 10}
"""Between two looks at the clock."""
COMPARED_STEPS = 10
WARM_UP = 2
"""Frames; a rollout is as fast after few as after many."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class RolloutSizes:
    """How much is measured, and how finely."""

    variants: tuple[str, ...] = VARIANTS
    batches: tuple[int, ...] = ()
    """Simulators at once; none: the usual ones of the device and the kind of simulator."""
    seconds: float = 5.0
    """For every figure."""
    filters: float = 1.0
    """Multiplies the codec's filters: fewer than the paper's are for trying out."""

    def __post_init__(self) -> None:
        if min(self.batches, default=1) < 1 or not self.seconds > 0:
            raise UserError("Roll out at least one simulator at once, for more than 0 seconds.")
        for name in self.variants:
            variant(name)  # or the error that names the nearest ones

    def cases(self, device: torch.device) -> Iterator[tuple[str, int]]:
        """Variants, each with its numbers of simulators at once."""
        for name in self.variants:
            independent = variant(name).transition.prediction_independent
            usual = (INDEPENDENT_BATCHES if independent else DEPENDENT_BATCHES)[device.type]
            for batch in self.batches or usual:
                yield name, batch


def bench_rollout(device: torch.device, sizes: RolloutSizes, say: Say = lambda text: None) -> dict[str, Any]:
    """Everything in one run."""
    others = OtherPrograms()
    machine = describe_machine(("torch", "triton", "numpy")) | describe_device(device)
    torch.backends.cudnn.benchmark = device.type == "cuda"
    say("The machine's own rate")
    rates = rates_of(device, sizes.seconds)
    rows: list[Row] = []
    for name, batch in sizes.cases(device):
        say(f"{name}: {batch:,} at once")
        try:
            rows += measure_rollout(name, batch, sizes.filters, precisions_of(device), sizes.seconds, device)
            release_memory(device)
        except Exception as error:
            rows.append({"variant": name, "batch": batch, "failure": in_one_line(error)})
    for row in rows:
        if "steps_per_second" in row:
            row["share_of_limit"] = row["steps_per_second"] * row["flop_per_step"] / rates[row["precision"]]
        row["wanted"] = wanted_of_rollouts(row, machine["device"])
    return {
        "machine": machine,
        "operations_per_second": rates,
        "rollouts": rows,
        "cores_busy_with_other_programs": others.busy_cores(),
    }


def measure_rollout(
    name: str, batch: int, filters: float, precisions: Sequence[Precision], seconds: float, device: torch.device
) -> list[Row]:
    """A row for the straightforward way, then one for each precision of the fast path.

    Simulators of one variant with random weights go on from random frames by random actions.
    """
    simulator = random_simulator(name, HEIGHT, WIDTH, filters, ACTIONS).to(device)
    frames = torch.randint(256, (batch, WARM_UP, HEIGHT, WIDTH, 3), dtype=torch.uint8, device=device)
    actions = torch.randint(ACTIONS, (batch, STEPS[device.type]), device=device)
    pictures: dict[Precision | None, Tensor] = {}

    def start(precision: Precision | None) -> tuple[Work, Row]:
        began = time.perf_counter()
        own = simulator if precision is None else _double(simulator, precision)
        roll_out = partial(straightforward_rollout if precision is None else fast_rollout, own, _begin(own, frames))
        roll_out(actions)
        wait_for(device)
        facts = {"start_up_seconds": time.perf_counter() - began}
        pictures[precision] = _picture(own, roll_out(actions[:, :COMPARED_STEPS]))
        return partial(roll_out, actions), facts

    ways: tuple[Precision | None, ...] = (None, *precisions)
    rows = {way: _describe(simulator.spec, batch, way, actions.shape[1]) for way in ways}
    taken = contest(rows, start, seconds, device)
    for way, mine in taken.items():
        rows[way]["steps_per_second"] = actions.numel() / median(mine)
        if way is not None and None in taken:
            rows[way]["faster"] = median_ratio(taken[None], mine)
            rows[way] |= _differences(pictures[None], pictures[way])
    return list(rows.values())


def _describe(spec: SimulatorSpec, batch: int, precision: Precision | None, steps: int) -> Row:
    return {
        "variant": spec.variant,
        "prediction_independent": spec.transition.prediction_independent,
        "batch": batch,
        "steps": steps,
        "way": "straightforward" if precision is None else "fast",
        "precision": precision or "float32",
        "flop_per_step": rollout_flop(spec),
    }


def _double(simulator: Simulator, precision: Precision) -> Simulator:
    double = faster(simulator, getattr(torch, precision))
    if double is simulator:
        raise UserError("There is no fast path here: a GPU needs Triton, a CPU a PyTorch with oneDNN.")
    return double


@torch.no_grad()
def _begin(simulator: Simulator, frames: Tensor) -> State:
    """Where all ways begin; prediction-independent simulators go on without the frame."""
    none_yet = torch.zeros(len(frames), WARM_UP - 1, dtype=torch.int64, device=frames.device)
    with ordinary_float32():
        state = simulator.warm_up(simulator.normalise(frames), none_yet)
    return replace(state, frame=None) if simulator.prediction_independent else state


@torch.no_grad()
def fast_rollout(simulator: Simulator, state: State, actions: Tensor) -> State:
    """The states and frames that follow actions (B,T), as every user of simulators asks for them."""
    if simulator.prediction_independent:
        return simulator.jump(state, actions)
    for action in actions.unbind(1):
        state = simulator.step(state, action)
    return state


@torch.no_grad()
def _picture(simulator: Simulator, state: State) -> Tensor:
    with ordinary_float32():
        frames = simulator.decode(state) if state.frame is None else state.frame
        return simulator.picture(frames).float()


def _differences(expected: Tensor, found: Tensor) -> Row:
    """How far the frames are apart, and for comparison how far they are from the background, in levels of 255."""
    return {
        "compared_steps": COMPARED_STEPS,
        "largest_difference": 255 * float((expected - found).abs().max()),
        "largest_value": 255 * float(expected.abs().max()),
    }
