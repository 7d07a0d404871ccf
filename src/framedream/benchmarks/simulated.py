"""Simulated environments, measured: steps per second of one dream and of a thousand, with frames and without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from framedream.benchmarks.machine import OtherPrograms, describe_machine
from framedream.benchmarks.noise import NoiseStarts, random_simulator
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
REPETITIONS = 5

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
        "device": _device_in_words(chosen_device(device)),
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
    starts = NoiseStarts(codec.height, codec.width)
    dreams = SimulatedVectorEnv(simulator, batch, data=starts, time_limit=0)
    dreams.reset(seed=0)
    chosen = np.random.default_rng(0).integers(actions, size=(batch, JUMP))
    with_frames = _rate(lambda: dreams.step(chosen[:, 0]), batch, seconds)
    without = _rate(lambda: dreams.jump(chosen, look=False), batch * JUMP, seconds)
    return {"with_frames": with_frames, "without_frames": without}


def _rate(work: Callable[[], object], steps: int, seconds: float) -> float:
    """Steps per second: the median of repetitions that last about so long altogether, after a first one."""
    once = _timed(work, 1)
    repetitions = min(REPETITIONS, max(1, int(seconds / once)))
    times = max(1, int(seconds / repetitions / once))
    return median(steps * times / _timed(work, times) for _ in range(repetitions))


def _timed(work: Callable[[], object], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began


def _device_in_words(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
