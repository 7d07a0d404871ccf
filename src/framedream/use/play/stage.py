"""What all games of one simulator share: the simulator, where dreams begin, the real environment, what is usual."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from framedream.agents import make_policy
from framedream.checkpoint.checkpoint import Checkpoint
from framedream.checkpoint.shipped import shipped_name
from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.envs.frame_environment import FrameEnvironment
from framedream.errors import UserError
from framedream.evaluation.measure import MODEL
from framedream.evaluation.store import stored_evaluation
from framedream.use.dreamer import Dreamer
from framedream.use.opening import open_dream
from framedream.use.play.familiarity import Familiarity
from framedream.use.play.twin import real_environment
from framedream.use.starts import Start, Starts

LIVE_POLICY = "random"
POLICIES = ("scripted", "walk-and-spin", "random", "dithered:0.7")
TRIAL_STEPS = 12
SPARE = 0.8
"""The part of a frame's time that the simulator may take."""
MUCH_FASTER = 1.25


@dataclass
class Stage:
    """Shared by games in several threads; nothing in it changes while they play."""

    dreamer: Dreamer
    starts: Starts
    twin: Callable[[], FrameEnvironment] | None
    """Makes the real environment, where it can be had."""
    no_twin: str | None
    """Why it cannot."""
    usual: tuple[float | None, ...]
    """The simulator's error at every step, as it was evaluated; empty where it was not."""
    familiarity: Familiarity | None
    policies: tuple[str, ...]
    """What can take the controls; nothing else may be asked for, since a policy's name can be a file or a module."""
    meanings: tuple[str, ...]
    title: str
    """The name of what is simulated, or `sim:NAME` of a simulator that ships with the package."""
    fingerprint: str
    """Of the checkpoint: what a session file must agree with."""
    step_seconds: float
    """What a dream's step takes on this machine."""

    @property
    def rate(self) -> int:
        """Frames per second that the machine can keep up, 15 at the most unless told otherwise."""
        return max(1, min(15, int(SPARE / self.step_seconds)))

    def usual_error(self, step: int) -> float | None:
        """What the evaluation measured at this step; beyond its horizon, at its last one."""
        return self.usual[min(step, len(self.usual)) - 1] if self.usual and step else None


def set_stage(
    checkpoint: Checkpoint, data: DataSet | None, *, split: str, warm_up: int, device: str, real: bool
) -> Stage:
    """Everything that games need; `data` None: dreams begin in the real environment."""
    configuration = checkpoint.configuration
    environment = real_environment(configuration) if real else "it was left out"
    twin, no_twin = (None, environment) if isinstance(environment, str) else (environment, None)
    if data is None and twin is None:
        raise UserError(
            f"There is nothing to begin from: the data set {configuration.data['folder']} is not there and the real "
            f"environment cannot be had ({str(no_twin).rstrip('.')}); name a data set with --data."
        )
    opened = open_dream(checkpoint, data, split, LIVE_POLICY if data is None else False, warm_up, device)
    dreamer = opened.dreamer.quickest()
    evaluation = stored_evaluation(checkpoint.folder)
    return Stage(
        dreamer=dreamer,
        starts=opened.starts,
        twin=twin,
        no_twin=no_twin,
        usual=() if evaluation is None else evaluation.measurements[0].curve(MODEL).error.mean,
        familiarity=None if data is None else _habits(data),
        policies=() if twin is None else _fitting_policies(twin()),
        meanings=opened.action_meanings,
        title=shipped_name(checkpoint.folder) or str(configuration.environment["name"]),
        fingerprint=str(opened.provenance["checkpoint"]),
        step_seconds=choose_threads(dreamer, opened.starts),
    )


def _fitting_policies(environment: FrameEnvironment) -> tuple[str, ...]:
    fitting = []
    for policy in POLICIES:
        try:
            make_policy(policy, environment)
        except UserError:
            continue
        fitting.append(policy)
    environment.close()
    return tuple(fitting)


def _habits(data: DataSet) -> Familiarity:
    split = data.split("train")
    with SegmentReader(split, states=False) as reader:
        episodes = [reader.actions(episode) for episode in range(len(split.episodes))]
    return Familiarity(episodes, len(data.recording.action_meanings))


def choose_threads(dreamer: Dreamer, starts: Starts) -> float:
    """Measure a step with one thread and with all; keep whichever is faster, one where it makes little difference.

    A small simulator gains nothing from more threads, and several games at once then share the cores better.
    """
    start = starts.draw(np.random.default_rng(0))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    seconds = {}
    for threads in sorted({1, cores}):
        torch.set_num_threads(threads)
        seconds[threads] = _seconds_per_step(dreamer, [start])
    best = cores if seconds[1] > MUCH_FASTER * seconds[cores] else 1
    torch.set_num_threads(best)
    return seconds[best]


def _seconds_per_step(dreamer: Dreamer, starts: Sequence[Start]) -> float:
    state = dreamer.begin(starts)
    taken = []
    for _ in range(TRIAL_STEPS):
        began = time.perf_counter()
        state = dreamer.step(state, [0])
        dreamer.look(state)
        taken.append(time.perf_counter() - began)
    return float(np.median(taken[2:]))
