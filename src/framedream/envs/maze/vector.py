"""Many agents in many mazes at once: moves and pictures of explicit states, nothing kept in between.

The environment is the same thing with one agent in one maze, so its frames and these are equal. As states are
arguments, a situation can be continued in as many ways as wanted: repeat its state, and give each copy its actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from framedream.envs.frame_environment import Frame
from framedream.envs.maze.camera import make_camera
from framedream.envs.maze.compilation import announced
from framedream.envs.maze.dynamics import ACTIONS, STATE, Motion, States, advance, follow
from framedream.envs.maze.layout import Layout, TextureNumbers, draw_layout
from framedream.envs.maze.mipmaps import pack_textures
from framedream.envs.maze.renderer import Camera, Mazes, Texels, draw
from framedream.envs.maze.textures import load_textures


@dataclass(frozen=True, eq=False)
class View:
    """How mazes are seen: the size of frames, the camera, the textures."""

    height: int
    width: int
    camera: Camera
    texels: Texels
    numbers: TextureNumbers


@cache
def make_view(height: int, width: int, samples: int, textures: str) -> View:
    """Made once per process for each kind; the first one of all waits until the renderer is compiled."""
    view = View(height, width, make_camera(height, width, samples), _texels(textures), load_textures(textures).numbers)
    with announced():
        nobody = MazeVector([draw_layout(0, 7, view.numbers)], view, Motion())
        nobody.frames(nobody.step(np.zeros((0, len(STATE)), np.float32), []))
        nobody.walk(np.full((1, len(STATE)), 1.5, np.float32), [])
    return view


@cache
def _texels(textures: str) -> Texels:
    return pack_textures(load_textures(textures).images)


class MazeVector:
    """Agents in layouts of one size. `which[n]` says in which layout agent n is; without it, agent n is in layout n."""

    def __init__(self, layouts: Sequence[Layout], view: View, motion: Motion, threads: int = 1) -> None:
        self.layouts = tuple(layouts)
        self._view, self._motion, self._threads = view, motion, threads
        self._mazes = Mazes(*(np.stack([getattr(layout, name) for layout in layouts]) for name in Mazes._fields))

    @property
    def memory(self) -> int:
        """The bytes that the layouts take, each of which is kept as it was given and stacked with the others."""
        return 2 * sum(stacked.nbytes for stacked in self._mazes)

    def step(self, states: States, actions: ArrayLike, which: ArrayLike | None = None) -> States:
        """The states one action later."""
        chosen = _chosen(actions)
        if len(chosen) != len(states):
            raise ValueError(f"{len(states)} agents need as many actions, not {len(chosen)}")
        return advance(self._mazes.region, self._which(which, len(states)), _plain(states), chosen, self._motion)

    def walk(self, start: States, actions: ArrayLike) -> States:
        """All states of one agent, alone in the first layout: one for the start and one after each action."""
        return follow(self._mazes.region, _plain(start), _chosen(actions), self._motion)

    def frames(self, states: States, which: ArrayLike | None = None, out: Frame | None = None) -> Frame:
        """What the agents see, N×H×W×3; in `out`, a C-contiguous array, where the caller has a place for it."""
        states, count = _plain(states), len(states)
        mazes, view, where = self._mazes, self._view, self._which(which, count)
        frames = np.empty((count, view.height, view.width, 3), np.uint8) if out is None else out
        if frames.shape != (count, view.height, view.width, 3):
            raise ValueError(f"{count} frames of {view.height}×{view.width}×3 do not fit into {frames.shape}")
        if self._threads == 1:
            draw(mazes, view.texels, view.camera, where, states, frames)
            return frames
        parts = np.linspace(0, count, self._threads + 1).astype(int)
        with ThreadPoolExecutor(self._threads) as threads:
            drawn = [
                threads.submit(draw, mazes, view.texels, view.camera, where[a:b], states[a:b], frames[a:b])
                for a, b in pairwise(parts.tolist())
            ]
        for part in drawn:
            part.result()
        return frames

    def _which(self, which: ArrayLike | None, count: int) -> NDArray[np.int64]:
        where = np.arange(count) if which is None else np.require(which, np.int64, ("C", "W"))
        if where.shape != (count,):
            raise ValueError("one layout number per agent")
        return where


def _chosen(actions: ArrayLike) -> NDArray[np.int64]:
    chosen = np.require(actions, np.int64, ("C", "W"))
    if chosen.ndim != 1 or np.any((chosen < 0) | (chosen >= len(ACTIONS))):
        raise ValueError(f"one action per agent, 0 to {len(ACTIONS) - 1}")
    return chosen


def _plain(states: States) -> States:
    """The states as the compiled functions want them: they would be compiled again for arrays of another kind."""
    if states.ndim != 2 or states.shape[1] != len(STATE):
        raise ValueError(f"states are rows of {', '.join(STATE)}")
    return np.require(states, np.float32, ("C", "W"))
