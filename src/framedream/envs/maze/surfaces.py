"""What textures are made of: noise, blocks and cells that repeat without a seam, and light on their relief."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framedream.envs.maze.dice import Dice

SIDE = 128
"""Texels along the edge of a texture, which covers one cell of the maze."""

Plane = NDArray[np.float64]
Image = NDArray[np.uint8]
Kinds = tuple[list[Image], list[Image], list[Image]]
"""Walls, floors and ceilings."""

Y, X = ((np.indices((SIDE, SIDE)) + 0.5) / SIDE).astype(np.float64)
"""The texture's coordinates in [0, 1): down and right."""


@dataclass(frozen=True)
class Surface:
    """A texture without its colours."""

    height: Plane
    """Relief: a slope of 1 texel is a difference of 1/128. Light falls on it from the upper left."""
    tone: Plane
    """Where on its ramp of colours each texel lies, in [0, 1]: 0 is joints and shadows, 1 the brightest."""


def painted(surface: Surface, ramp: tuple[str, ...]) -> Image:
    """The surface in colours: a ramp of hexadecimal colours from tone 0 to tone 1."""
    stops = np.array([list(bytes.fromhex(colour)) for colour in ramp], np.float64)
    places = np.linspace(0, 1, len(ramp))
    tone = np.clip(surface.tone, 0, 1)
    colour = np.stack([np.interp(tone, places, stops[:, channel]) for channel in range(3)], axis=-1)
    height = surface.height * SIDE
    slope = (height - np.roll(height, 1, axis=0)) + (height - np.roll(height, 1, axis=1))
    light = 1 + 0.28 * np.clip(slope, -1, 1)
    shaded: Image = np.floor(np.clip(colour * light[..., None], 0, 255) + 0.5).astype(np.uint8)
    return shaded


def ramp_up(value: Plane, start: float, end: float) -> Plane:
    """0 below `start`, 1 above `end`, smooth between."""
    part = np.clip((value - start) / (end - start), 0, 1)
    smooth: Plane = part * part * (3 - 2 * part)
    return smooth


def noise(dice: Dice, across: int, down: int) -> Plane:
    """Smooth random values in [0, 1] with `across` × `down` bumps."""
    values = dice.numbers(down, across)
    x, y = X * across, Y * down
    left, top = x.astype(int), y.astype(int)
    right, below = (left + 1) % across, (top + 1) % down
    u, v = ramp_up(x - left, 0, 1), ramp_up(y - top, 0, 1)
    upper = values[top, left] * (1 - u) + values[top, right] * u
    lower = values[below, left] * (1 - u) + values[below, right] * u
    blended: Plane = upper * (1 - v) + lower * v
    return blended


def clouds(dice: Dice, across: int = 4, down: int = 4) -> Plane:
    """Noise on four scales, in [0, 1]."""
    layers = [noise(dice, across << octave, down << octave) / 2**octave for octave in range(4)]
    return np.asarray(sum(layers) / 1.875)


def grain(dice: Dice) -> Plane:
    """A random value per texel in [0, 1]."""
    return dice.numbers(SIDE, SIDE)


@dataclass(frozen=True)
class Blocks:
    """A division of the texture into parts."""

    edge: Plane
    """Distance to the edge of the part, in textures."""
    value: Plane
    """A random number per part, in [0, 1)."""
    x: Plane
    """Position within the part, in [0, 1)."""
    y: Plane


def blocks(dice: Dice, across: int, down: int, shift: float = 0.0) -> Blocks:
    """Rectangles; every other row is shifted by a part of their width."""
    y = Y * down
    row = y.astype(int)
    x = X * across + shift * (row % 2)
    column = x.astype(int) % across
    x, y = x % 1, y % 1
    edge = np.minimum(np.minimum(x, 1 - x) / across, np.minimum(y, 1 - y) / down)
    return Blocks(edge, dice.numbers(down, across)[row, column], x, y)


def pebbles(dice: Dice, across: int, down: int) -> Blocks:
    """Irregular cells: each texel belongs to the nearest of points, one in each rectangle of a grid."""
    row, column = (Y * down).astype(int), (X * across).astype(int)
    places, values = dice.numbers(2, down, across), dice.numbers(down, across)
    nearest = np.full((SIDE, SIDE), 9.0)
    second = nearest.copy()
    value, dx, dy = np.zeros_like(X), np.zeros_like(X), np.zeros_like(X)
    for step_y in (-1, 0, 1):
        for step_x in (-1, 0, 1):
            there = ((row + step_y) % down, (column + step_x) % across)
            to_x = X * across - (column + step_x + 0.15 + 0.7 * places[0][there])
            to_y = Y * down - (row + step_y + 0.15 + 0.7 * places[1][there])
            distance = np.sqrt((to_x / across) ** 2 + (to_y / down) ** 2)
            closer = distance < nearest
            second = np.where(closer, nearest, np.minimum(second, distance))
            nearest = np.where(closer, distance, nearest)
            value = np.where(closer, values[there], value)
            dx, dy = np.where(closer, to_x, dx), np.where(closer, to_y, dy)
    return Blocks((second - nearest) / 2, value, dx + 0.5, dy + 0.5)


def laid(parts: Blocks, joint: float, bevel: float, tone: Plane, depth: float = 0.03) -> Surface:
    """Parts with joints between them: `joint` half as wide as the joint, `bevel` the width of the rounded rim."""
    solid = ramp_up(parts.edge, joint * 0.6, joint * 1.2)
    height = depth * ramp_up(parts.edge, joint * 0.6, joint + bevel)
    return Surface(height, solid * tone)
