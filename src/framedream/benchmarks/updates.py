"""One kind of update in every way of computing it: the straightforward one, and the fast path on given data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import torch
from torch import Tensor

from framedream.benchmarks.device import PeakMemory, Precision, release_memory, wait_for
from framedream.benchmarks.limit import flop_per_frame
from framedream.benchmarks.ratios import median_ratio
from framedream.benchmarks.straightforward import StraightforwardLearner
from framedream.benchmarks.timing import Row, Work, contest
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics
from framedream.training.fast_updates import EAGER_UPDATES
from framedream.training.learner import Learner
from framedream.training.scheme import Phase
from framedream.training.specification import RunSpec

Supply = Callable[[], tuple[Tensor, Tensor]]
"""Gives the frames (B,L,…), as bytes on the device, and the actions (B,L) of the next update."""
Learn = Callable[[Tensor, Tensor], Tensor]
"""Makes one update on frames and actions; returns the loss."""

HEIGHT, WIDTH, ACTIONS = 210, 160, 6
"""Of the paper's Atari frames, and of Pong."""
SYNTHETIC, RESIDENT, STREAMED = "synthetic", "resident", "streamed"
UPDATES_TO_START = EAGER_UPDATES + 1
"""After these, every update is a captured one where there are such."""


@dataclass(frozen=True)
class Kind:
    """A kind of update: what is trained, how, and on how much at once."""

    run: RunSpec
    phase: Phase
    spec: SimulatorSpec
    statistics: FrameStatistics

    @classmethod
    def for_any_frames(cls, run: RunSpec, height: int, width: int, actions: int, phase: Phase | None = None) -> Kind:
        """For any frames of palette indices; the phase is the scheme's last, unless told.

        The palette and the background are made up: how long an update takes does not depend on them.
        """
        spec = run.simulator(height, width, actions)
        phase = phase or run.phases(spec.transition.prediction_independent).phases[-1]
        generator = torch.Generator().manual_seed(0)
        palette = torch.randint(256, (256, 3), dtype=torch.uint8, generator=generator)
        size = (1, 1) if run.background == "channel-mean" else (height, width)
        return cls(run, phase, spec, FrameStatistics(torch.full((3, *size), 0.5), palette))

    def simulator(self, device: torch.device) -> Simulator:
        """Its parameters are the same each time."""
        torch.manual_seed(0)
        return Simulator(self.spec, self.statistics).to(device).train()

    def noise(self, device: torch.device) -> Supply:
        """The same random indices and actions for every update."""
        batch, length, codec = self.run.batch_size, self.phase.sequence_length, self.spec.codec
        frames = torch.randint(256, (batch, length, codec.height, codec.width), dtype=torch.uint8, device=device)
        actions = torch.randint(self.spec.actions, (batch, length), device=device)
        return lambda: (frames, actions)

    @property
    def frames(self) -> int:
        """Of one update, those of the warm-up included."""
        return self.run.batch_size * self.phase.sequence_length

    def describe(self) -> Row:
        run, phase, codec = self.run, self.phase, self.spec.codec
        return {
            "variant": run.variant,
            "frame_size": [codec.height, codec.width],
            "scheme": run.scheme,
            "feed": phase.feed,
            "warm_up": phase.warm_up,
            "batch": run.batch_size,
            "optimiser": run.optimiser,
            "rrelu": run.rrelu,
            "flop_per_frame": flop_per_frame(self.spec, phase),
        }


@dataclass(frozen=True)
class Way:
    """A way of computing updates, on data of some kind."""

    precision: Precision | None
    """Of the fast path; None: the straightforward way, which is float32."""
    data: str

    def describe(self) -> Row:
        way = "straightforward" if self.precision is None else "fast"
        return {"way": way, "precision": self.precision or "float32", "data": self.data}


def measure_updates(
    kind: Kind, supplies: Mapping[str, Supply], precisions: Sequence[Precision], seconds: float, device: torch.device
) -> list[Row]:
    """A row for the straightforward way, on synthetic data, and for each precision one for every supply of data."""
    ways = [Way(None, SYNTHETIC), *(Way(precision, data) for precision in precisions for data in supplies)]
    rows = {way: kind.describe() | way.describe() for way in ways}
    learners: dict[Precision | None, tuple[Learn, Row]] = {}

    def start(way: Way) -> tuple[Work, Row]:
        supply = supplies[way.data]
        if way.precision not in learners:
            learners[way.precision] = _started(kind, way.precision, supply, device)
        learn, facts = learners[way.precision]
        return lambda: learn(*supply()), facts

    # Threads that read ahead go on while others are timed, and would seem faster than they are: they come last, alone.
    together = {way: row for way, row in rows.items() if way.data != STREAMED}
    alone = {way: row for way, row in rows.items() if way.data == STREAMED}
    taken = contest(together, start, seconds, device) | contest(alone, start, seconds, device)
    for way in taken:
        rows[way] |= _speeds(kind, way, taken)
    learners.clear()
    release_memory(device)
    return list(rows.values())


def _started(kind: Kind, precision: Precision | None, supply: Supply, device: torch.device) -> tuple[Learn, Row]:
    """A learner after its first updates: on the fast path its kernels are compiled and its graph is captured."""
    memory, began = PeakMemory(device), time.perf_counter()
    learn = _straightforward_learner(kind, device) if precision is None else fast_learner(kind, precision, device)
    losses = [learn(*supply()) for _ in range(1 if precision is None else UPDATES_TO_START)]
    wait_for(device)
    return learn, {
        "start_up_seconds": time.perf_counter() - began,
        "peak_megabytes": memory.megabytes(),
        "first_loss": losses[0].item(),  # the same in all ways, but for random slopes
    }


def _straightforward_learner(kind: Kind, device: torch.device) -> Learn:
    learner = StraightforwardLearner(kind.simulator(device), kind.run)
    return lambda frames, actions: learner.learn(frames, actions, kind.phase, kind.run.learning_rate)


def fast_learner(kind: Kind, precision: Precision, device: torch.device) -> Learn:
    """What makes one update after another on the fast path."""
    run = replace(kind.run, precision=precision)
    learner = Learner(kind.simulator(device), run, fast=True)

    def learn(frames: Tensor, actions: Tensor) -> Tensor:
        learnt = learner.learn(frames, actions, None, kind.phase, run.learning_rate)
        learner.position.updates += 1  # random slopes depend on it
        return learnt.loss

    return learn


def _speeds(kind: Kind, way: Way, taken: Mapping[Way, list[float]]) -> Row:
    """Of one way, and how many times as fast it is as the others that have something to say about it."""
    mine = median(taken[way])
    speeds: Row = {"frames_per_second": kind.frames / mine, "milliseconds_per_update": 1000 * mine}
    if way.precision is None:
        return speeds
    straightforward, synthetic = (taken.get(Way(precision, SYNTHETIC)) for precision in (None, way.precision))
    if straightforward is not None and way.data != STREAMED:
        speeds["faster"] = median_ratio(straightforward, taken[way])
    if synthetic is not None and way.data != SYNTHETIC:
        speeds["of_synthetic"] = median(synthetic) / mine
    return speeds
