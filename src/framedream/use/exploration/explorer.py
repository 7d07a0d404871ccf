"""The two explorers: one that walks at random, and one that goes where it imagines the least familiar view.

The second is the algorithm of section 3.3. From where it stands, many random sequences of actions are imagined; the
one whose last frame is farthest from its nearest frame in memory is followed to its end; then comes the next plan.
Everything is done for all walks of a world at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from framedream.agents.random_walks import WALK_DITHERING, DitheredPolicy
from framedream.envs.frame_environment import Frame
from framedream.envs.maze.dynamics import ACTIONS
from framedream.errors import UserError
from framedream.evaluation.frames import as_floats
from framedream.use.exploration.imagination import Actions, Imagination
from framedream.use.exploration.world import World

FRAMES_AT_ONCE = 4096

Progress = Callable[[int], None]
"""Called with the number of steps that all walks have behind them."""


@dataclass(frozen=True)
class Method:
    """The numbers of the algorithm, by default the paper's."""

    sequences: int = 100
    """N: Monte-Carlo sequences per plan."""
    length: int = 6
    """d: actions in each."""
    memory: int = 10
    """Frames remembered, the current one included."""
    dithering: float = 1.0
    """The probability that an action of a sequence is drawn anew rather than that before it again."""

    def __post_init__(self) -> None:
        for name in ("sequences", "length", "memory"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name} must be at least 1, not {getattr(self, name)}.")
        if not 0 <= self.dithering <= 1:
            raise UserError(f"--dithering is a probability from 0 to 1, not {self.dithering:g}.")


@dataclass(frozen=True)
class Walks:
    """What was done and where it led: actions (E,T), and the places (E,T+1,6) before, between and after them."""

    places: NDArray[np.float32]
    actions: Actions


@dataclass(frozen=True)
class Plan:
    """One decision of every walk, with all that was imagined for it."""

    state: Any
    places: NDArray[np.float32]
    remembered: Tensor
    """Numbers 0…1 (E,M,P), the current frame last."""
    novelty: NDArray[np.float64]
    """The distance of each sequence's last frame to its nearest memory (E,N)."""
    surprise: NDArray[np.float64]
    """How far the last frame imagined for the chosen sequence is from the one then seen (E,)."""
    seconds: float
    """Spent imagining."""


def walk_at_random(world: World, steps: int, dithering: float = WALK_DITHERING) -> Walks:
    """The paper's baseline: at every step a new random action with probability 0.7, else the last one again."""
    actions = np.empty((len(world), steps), np.int64)
    policy, nothing = DitheredPolicy(dithering), np.empty(0, np.uint8)
    for walk, seeds in enumerate(world.seeds):
        policy.begin(int(seeds.random_explorer.generate_state(1, np.uint64)[0]), len(ACTIONS))
        actions[walk] = [policy.act(nothing, {}) for _ in range(steps)]
    return Walks(_with_starts(world, [world.walk(world.starts, actions)]), actions)


def walk_to_the_unfamiliar(
    world: World,
    imagination: Imagination,
    method: Method,
    steps: int,
    *,
    look: Callable[[Plan], None] = lambda _: None,
    progress: Progress = lambda _: None,
) -> Walks:
    """The paper's explorer. `look` is shown every plan after it was carried out."""
    generators = [np.random.default_rng(seeds.sequences) for seeds in world.seeds]
    places, taken, reached = world.starts, [], []
    seen = world.see(places[:, None])
    state = imagination.begin(seen[:, 0], places)
    remembered = as_vectors(seen, imagination.device)
    for done in range(0, steps, method.length):
        began = time.perf_counter()
        sequences = draw_sequences(generators, method)
        novelty, chosen, expected = most_novel(imagination, state, sequences, remembered)
        seconds = time.perf_counter() - began
        actions = sequences[np.arange(len(world)), chosen]
        # The last plan may be longer than what is left of the walk; only what is left is recorded.
        walked = world.walk(places, actions)
        seen = world.see(walked)
        new = as_vectors(seen, imagination.device)
        surprise = distance(expected[:, None], new[:, -1:])[:, 0, 0].double().cpu().numpy()
        look(Plan(state, places, remembered, novelty, surprise, seconds))
        state = imagination.follow(state, actions, seen, walked[:, -1])
        remembered = torch.cat([remembered, new], dim=1)[:, -method.memory :]
        places = walked[:, -1]
        taken.append(actions)
        reached.append(walked)
        progress(min(done + method.length, steps))
    return Walks(_with_starts(world, reached)[:, : steps + 1], np.concatenate(taken, axis=1)[:, :steps])


def draw_sequences(generators: list[np.random.Generator], method: Method) -> Actions:
    """Random sequences of actions (E,N,d), each walk's from its own generator."""
    drawn = []
    for generator in generators:
        actions = generator.integers(len(ACTIONS), size=(method.sequences, method.length))
        anew = generator.random(actions.shape) < method.dithering
        anew[:, 0] = True
        latest = np.maximum.accumulate(np.where(anew, np.arange(method.length), 0), axis=1)
        drawn.append(np.take_along_axis(actions, latest, axis=1))
    return np.stack(drawn)


def most_novel(
    imagination: Imagination, state: Any, sequences: Actions, remembered: Tensor
) -> tuple[NDArray[np.float64], NDArray[np.int64], Tensor]:
    """The distance of every sequence's last frame to its nearest memory (E,N), argmaxₙ of it, and that last frame."""
    novelties, best = [], torch.full((len(sequences),), -1.0, device=remembered.device)
    chosen = torch.zeros_like(best, dtype=torch.int64)
    expected = torch.empty_like(remembered[:, 0])
    for first, frames in imagined(imagination, state, sequences):
        novelty = distance(frames, remembered).amin(2)
        highest, place = novelty.max(1)
        better = highest > best
        best = torch.where(better, highest, best)
        chosen = torch.where(better, first + place, chosen)
        own = torch.arange(len(place), device=place.device)
        expected = torch.where(better[:, None], frames[own, place], expected)
        novelties.append(novelty.double().cpu().numpy())
    return np.concatenate(novelties, axis=1), chosen.cpu().numpy(), expected


def imagined(imagination: Imagination, state: Any, sequences: Actions) -> Iterator[tuple[int, Tensor]]:
    """The last frames of the sequences as vectors (E,n,P), some at a time, with the number of the first of them."""
    at_once = max(1, FRAMES_AT_ONCE // len(sequences))
    for first in range(0, sequences.shape[1], at_once):
        yield first, imagination.imagine(state, sequences[:, first : first + at_once]).flatten(2)


def distance(frames: Tensor, others: Tensor) -> Tensor:
    """The Euclidean distance of frames (E,n,P) to others (E,m,P), per pixel and channel: ‖x − y‖ / √P, (E,n,m).

    The constant changes no choice and makes frames of all sizes comparable. The exact way of computing it matters:
    the one by matrix products rounds so much that equal frames differ.
    """
    apart: Tensor = torch.cdist(frames, others, compute_mode="donot_use_mm_for_euclid_dist")
    return apart.div(frames.shape[-1] ** 0.5)


def as_vectors(frames: Frame, device: torch.device) -> Tensor:
    """Bytes (E,k,H,W,3) as numbers 0…1 (E,k,P), in the order of imagined frames."""
    return as_floats(torch.from_numpy(frames).to(device)).flatten(2)


def _with_starts(world: World, walked: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.concatenate([world.starts[:, None], *walked], axis=1)
