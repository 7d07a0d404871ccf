"""Simulated environments, measured: steps per second of one dream and of a thousand, with frames and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from framedream.benchmarks.device import device_in_words
from framedream.benchmarks.machine import OtherPrograms, describe_machine
from framedream.benchmarks.noise import NoiseStarts, random_simulator
from framedream.benchmarks.timing import seconds_per_call
from framedream.checkpoint.checkpoint import open_checkpoint
from framedream.errors import UserError
from framedream.model.device import chosen_device
from framedream.model.simulator import Simulator
from framedream.use.simulated_vector import SimulatedVectorEnv

SIZE, ACTIONS, FILTERS = 64, 6, 0.25
"""Of the random simulators: the demo's."""
VARIANTS = ("h-iz2816-2conv-a", "pi-h-iz2816-zero")
JUMP = 15
"""Actions of one jump: T of the paper's predictions."""

Say = Callable[[str], None]


def bench_simulated(
    run: Path | None, batches: Sequence[int], device: str, seconds: float, say: Say = lambda text: None
) -> dict[str, Any]:
    """Everything in one run: the simulator of `run`, or two small ones with random weights."""
    if not batches or min(batches) < 1 or not seconds > 0:
        raise UserError("Measure at least one batch of at least one dream, for more than 0 seconds.")
    others = OtherPrograms()
    measured = []
    for name, simulator in _simulators(run, chosen_device(device)):
        speeds = []
        for batch in batches:
            say(f"{name}: {batch:,} at once")
            speeds.append({"batch": batch} | _measure(simulator, batch, seconds))
        codec = simulator.spec.codec
        measured.append(
            {
                "name": name,
                "prediction_independent": simulator.prediction_independent,
                "parameters": sum(parameter.numel() for parameter in simulator.parameters()),
                "frame_size": [codec.height, codec.width],
                "steps_per_second": speeds,
            }
        )
    return {
        "machine": describe_machine(("torch", "numpy", "gymnasium")),
        "device": device_in_words(chosen_device(device)),
        "threads": torch.get_num_threads(),
        "jump": JUMP,
        "simulators": measured,
        "cores_busy_with_other_programs": others.busy_cores(),
    }


def _simulators(run: Path | None, device: torch.device) -> Iterator[tuple[str, Simulator]]:
    if run is not None:
        yield str(run), open_checkpoint(run).simulator(device)
        return
    for variant in VARIANTS:
        yield f"{variant}, random weights", random_simulator(variant, SIZE, SIZE, FILTERS, ACTIONS).to(device)


def _measure(simulator: Simulator, batch: int, seconds: float) -> dict[str, float]:
    codec, actions = simulator.spec.codec, simulator.spec.actions
    device = simulator.background.device
    starts = NoiseStarts(codec.height, codec.width)
    dreams = SimulatedVectorEnv(simulator, batch, data=starts, time_limit=0)
    dreams.reset(seed=0)
    chosen = np.random.default_rng(0).integers(actions, size=(batch, JUMP))
    with_frames = seconds_per_call(lambda: dreams.step(chosen[:, 0]), seconds, device)
    without = seconds_per_call(lambda: dreams.jump(chosen, look=False), seconds, device)
    return {"with_frames": batch / with_frames, "without_frames": batch * JUMP / without}
