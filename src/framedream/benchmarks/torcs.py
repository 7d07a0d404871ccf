"""TORCS, measured: frames per second of one process and of two, resets, and what the first start costs."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from framedream.benchmarks.machine import OtherPrograms, describe_machine
from framedream.envs.torcs.environment import TorcsEnvironment
from framedream.errors import UserError

TARGETS = dict(frames_per_second=80, reset_seconds_at_most=0.3)
"""What the project asks of itself, for g-track-1 from the road camera at 180×180, on two cores without a GPU."""
RESETS = 9
VIEWS: dict[str, dict[str, Any]] = {
    "road": {},
    "bonnet": dict(camera="bonnet"),
    "chase": dict(camera="chase"),
    "road, 2×2 samples": dict(supersample=2),
}

Say = Callable[[str], None]


def bench_torcs(frames: int, say: Say = lambda text: None) -> dict[str, Any]:
    """Everything in one run, `frames` for each figure."""
    if frames < 1:
        raise UserError(f"Play at least 1 frame, not {frames}.")
    machine, others = describe_machine(("numpy",)), OtherPrograms()
    speeds = {}
    for name, options in VIEWS.items():
        say(f"Driving: {name}")
        speeds[name] = _drive(frames, options)
    say("Driving with two processes")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as workers:
        of_two = list(workers.map(_drive, [frames] * 2, [{}] * 2))
    say("Driving once more, for the processor's time")
    before = _processor_seconds_of_children()
    _drive(frames, {})
    processor_seconds = _processor_seconds_of_children() - before
    say("Starting over")
    environment = TorcsEnvironment()
    start = _seconds(partial(environment.reset, seed=0))
    resets = [_seconds(partial(environment.reset, seed=seed)) for seed in range(RESETS)]
    provenance, megabytes = environment.provenance(), resident_megabytes(environment.host_pid)
    environment.close()
    return {
        "machine": machine,
        "torcs": provenance["torcs"],
        "renderer": provenance["renderer"],
        "frames": frames,
        "frames_per_second": speeds,
        "frames_per_second_of_two": median(of_two),
        "processor_seconds_per_frame": processor_seconds / frames,
        "reset_seconds": median(resets),
        "start_seconds": start,
        "host_megabytes": megabytes,
        "cores_busy_with_other_programs": others.busy_cores(),
        "targets": TARGETS,
    }


def _drive(frames: int, options: dict[str, Any]) -> float:
    """Frames a second with random actions. The resets in between are measured apart."""
    environment = TorcsEnvironment(**options)
    actions = np.random.default_rng(0).integers(len(environment.action_meanings), size=frames).tolist()
    environment.reset(seed=0)
    seconds = 0.0
    for number, action in enumerate(actions):
        began = time.perf_counter()
        *_, terminated, truncated, _ = environment.step(action)
        seconds += time.perf_counter() - began
        if terminated or truncated:
            environment.reset(seed=number)
    environment.close()
    return frames / seconds


def resident_megabytes(process: int) -> float:
    """The memory that a process has in use."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _processor_seconds_of_children() -> float:
    """Of those that have ended, hosts included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
