"""Layouts and pictures made by hand, for tests that know what must be seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from framedream.envs.maze.camera import make_camera
from framedream.envs.maze.layout import SIDES, Layout, TextureNumbers
from framedream.envs.maze.mipmaps import pack_textures
from framedream.envs.maze.vector import View

RED, GREEN, BLUE, GREY, YELLOW = (200, 0, 0), (0, 200, 0), (0, 0, 200), (200, 200, 200), (200, 200, 0)


def plain(colour: tuple[int, int, int]) -> NDArray[np.uint8]:
    return np.full((128, 128, 3), colour, np.uint8)


def make_layout(rows: list[str]) -> Layout:
    """A layout from rows of `#` and `.`: texture 0 on walls, 1 and 2 on floors, 3 and 4 on ceilings, in turn."""
    free = np.array([[letter == "." for letter in row] for row in rows])
    turn = np.indices(free.shape).sum(0) % 2
    around = sum((~np.roll(free, (-dy, -dx), (0, 1))).astype(np.int8) << side for side, (dx, dy) in enumerate(SIDES))
    return Layout(
        seed=0,
        region=free.astype(np.int16),
        wall=np.zeros(free.shape, np.int16),
        floor=(1 + turn).astype(np.int16),
        ceiling=(3 + turn).astype(np.int16),
        painting=np.full((*free.shape, 4), -1, np.int16),
        around=np.asarray(around, np.int8),
    )


def make_plain_view(height: int, width: int, images: list[NDArray[np.uint8]]) -> View:
    """Without antialiasing, and without shadows in corners."""
    camera = make_camera(height, width, 1)
    even = np.full(64, 256)
    camera = camera._replace(edge_light=even, height_light=even)
    return View(height, width, camera, pack_textures(images), TextureNumbers([0], [1, 2], [3, 4], [5]))
