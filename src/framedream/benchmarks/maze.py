"""The mazes, measured: frames per second on one core and two, layouts, and what the first use costs."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from framedream.benchmarks.machine import describe_machine
from framedream.envs.maze.environment import MazeEnvironment, starting_state
from framedream.errors import UserError

TARGETS = dict(
    frames_per_second=6_500,
    layout_milliseconds_at_most=3.0,
    two_processes_faster=1.8,
    first_start_seconds_at_most=25.0,
)
"""What the project asks of itself, at 48×48 pixels and 2×2 samples."""
AGENTS = 256
REPLAYED_EPISODES, REPLAYED_SEGMENTS, SEGMENT_FRAMES = 64, 64, 25
START = "import time; t = time.perf_counter(); from framedream.envs import make_environment as m; m('maze')"

Say = Callable[[str], None]


def bench_maze(episodes: int = 4, repetitions: int = 9, say: Say = lambda text: None) -> dict[str, Any]:
    """Everything in one run; each repetition walks `episodes` episodes at random."""
    if min(episodes, repetitions) < 1:
        raise UserError(f"Measure at least 1 episode and 1 repetition, not {episodes} and {repetitions}.")
    machine = describe_machine(("numba", "numpy"))
    say("Starting with nothing compiled, and again")
    first, later = _measure_start()
    say("Drawing layouts")
    environment = MazeEnvironment()
    layouts = [_seconds(partial(environment.draw_layout, seed)) for seed in range(300)]
    say("Walking with one process and with two")
    walking = _measure_walking(episodes, repetitions)
    say("Many agents at once")
    vector = [_measure_vector(environment) for _ in range(repetitions)]
    say("Replaying recorded walks")
    prepared, replayed = zip(*(_measure_replay(environment) for _ in range(repetitions)), strict=True)
    return {
        "machine": machine,
        **walking,
        "agents": AGENTS,
        "vector_frames_per_second": median(vector),
        "replay_milliseconds": 1000 * median(prepared),
        "replay_segment_frames": SEGMENT_FRAMES,
        "replay_frames_per_second": median(replayed),
        "layout_milliseconds": 1000 * median(layouts),
        "first_start_seconds": first,
        "later_start_seconds": later,
        "targets": TARGETS,
    }


def _measure_walking(episodes: int, repetitions: int) -> dict[str, float]:
    """One worker, then two at once, in turn, so that all meet the same disturbances.

    The ratio of elapsed times needs two idle cores; that of processor times shows what the two take from each other
    even where other programs use a core.
    """
    frames = episodes * 900
    one: list[tuple[float, float]] = []
    two: list[tuple[float, float]] = []
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as workers:
        list(workers.map(_walk, [1, 1]))
        for _ in range(repetitions):
            for measured, told in ((one, [episodes]), (two, [episodes, episodes])):
                began = time.perf_counter()
                processor = sum(workers.map(_walk, told))
                measured.append((time.perf_counter() - began, processor))
    elapsed, processor_seconds = (min(column) for column in zip(*one, strict=True))
    return {
        "frames_per_second": frames / median(seconds for seconds, _ in one),
        "best_frames_per_second": frames / elapsed,
        "frames_per_processor_second": frames / processor_seconds,
        "two_processes_faster": median(2 * alone[0] / both[0] for alone, both in zip(one, two, strict=True)),
        "two_processes_faster_by_processor_time": median(
            4 * alone[1] / both[1] for alone, both in zip(one, two, strict=True)
        ),
    }


def _walk(episodes: int) -> float:
    """Whole episodes of random actions, layouts included; the processor's seconds."""
    environment = MazeEnvironment()
    actions = np.random.default_rng(0).integers(5, size=899).tolist()
    began = time.process_time()
    for seed in range(episodes):
        environment.reset(seed=seed)
        for action in actions:
            environment.step(action)
    return time.process_time() - began


def _measure_vector(environment: MazeEnvironment) -> float:
    layouts = [environment.draw_layout(seed) for seed in range(AGENTS)]
    mazes, numbers = environment.vector(layouts), np.random.default_rng(0)
    states = np.concatenate([starting_state(layout, numbers.random(4)) for layout in layouts])
    return AGENTS / _seconds(lambda: mazes.frames(mazes.step(states, [0] * AGENTS)))


def _measure_replay(environment: MazeEnvironment) -> tuple[float, float]:
    """Seconds to work out an episode of 900 frames from its seed and actions; then frames a second of parts of it."""
    random = np.random.default_rng(0)
    actions = random.integers(5, size=(REPLAYED_EPISODES, 899))
    began = time.perf_counter()
    episodes = [environment.replay(seed, actions[seed]) for seed in range(REPLAYED_EPISODES)]
    prepared = (time.perf_counter() - began) / REPLAYED_EPISODES
    frames = np.empty((SEGMENT_FRAMES, 48, 48, 3), np.uint8)
    starts = random.integers(900 - SEGMENT_FRAMES, size=REPLAYED_SEGMENTS).tolist()
    began = time.perf_counter()
    for number, start in enumerate(starts):
        episodes[number % REPLAYED_EPISODES].frames(start, frames)
    return prepared, REPLAYED_SEGMENTS * SEGMENT_FRAMES / (time.perf_counter() - began)


def _measure_start() -> tuple[float, float]:
    """Seconds until a new process has an environment: before anything was ever compiled, and afterwards."""
    with tempfile.TemporaryDirectory(prefix="framedream-bench-") as nothing_compiled:
        command = [sys.executable, "-c", f"{START}; print(time.perf_counter() - t)"]
        surroundings = os.environ | {"NUMBA_CACHE_DIR": nothing_compiled}
        run = [subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True) for _ in range(2)]
    return float(run[0].stdout), float(run[1].stdout)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
