"""Framed paintings in seven genres, each canvas different: simple bold shapes, as they are seen a few pixels high."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from framedream.envs.maze.dice import Dice
from framedream.envs.maze.surfaces import SIDE, Image, Plane, X, Y, noise, ramp_up

FRAME_WIDTH = 0.09
FRAMES = ("d9a441", "5a3a1c", "1c1a19", "efe9dc", "7a1f1f", "b9bcc2")
BRIGHT = ("e6332a", "f39200", "ffd800", "3aaa35", "009fe3", "2d3a8c", "a3195b", "ffffff", "1d1d1b", "f7a6b4", "00a19a")
SKIES = (("2a6fc9", "cfe8f7"), ("1b1f4b", "e8794a"), ("f2a65a", "fde8b4"), ("0c1233", "3d4f8f"), ("78c6c2", "f6f1d3"))
LANDS = ("2f5d34", "6b8f3a", "a7a34b", "8a5a32", "3f4f73", "5c3b5e", "d1b26f", "1f7a6d")
SKINS = ("f3cfb0", "d9a277", "a9713f", "6b4226", "8fbf9f")

Mask = NDArray[np.bool_]


class Canvas:
    """A square picture; shapes are laid over each other, coordinates run right and down from 0 to 1."""

    def __init__(self, ground: str) -> None:
        self.colours = np.tile(_colour(ground), (SIDE, SIDE, 1))

    def fill(self, mask: Mask | Plane, colour: str) -> None:
        """Cover the mask, or, where it is between 0 and 1, partly."""
        cover = np.asarray(mask, np.float64)[..., None]
        self.colours = self.colours * (1 - cover) + _colour(colour) * cover

    def disc(self, x: float, y: float, radius: float, colour: str, flat: float = 1.0) -> None:
        self.fill(1 - ramp_up(np.hypot(X - x, (Y - y) * flat), radius - 0.01, radius + 0.005), colour)

    def box(self, left: float, top: float, right: float, bottom: float, colour: str) -> None:
        self.fill((left <= X) & (right > X) & (top <= Y) & (bottom > Y), colour)


def painting(dice: Dice, number: int) -> Image:
    """One painting with its frame; genres take turns by `number`."""
    colours = GENRES[number % len(GENRES)](dice).colours
    frame = _colour(dice.choice(FRAMES))
    rim = np.minimum(np.minimum(X, 1 - X), np.minimum(Y, 1 - Y))
    lit = np.where(np.minimum(X, Y) < np.minimum(1 - X, 1 - Y), 1.15, 0.7) - 6 * np.abs(rim - FRAME_WIDTH / 2)
    colours = np.where((rim < FRAME_WIDTH)[..., None], frame * lit[..., None], colours)
    # The frame's shadow on the canvas keeps the two apart where they have the same colour.
    shade = 1 - 0.45 * ((rim >= FRAME_WIDTH) & (rim < FRAME_WIDTH + 0.02)) - 0.6 * (rim < 0.012)
    framed: Image = np.floor(np.clip(colours * shade[..., None], 0, 255) + 0.5).astype(np.uint8)
    return framed


def landscape(dice: Dice) -> Canvas:
    canvas = _sky(dice)
    canvas.disc(
        dice.number(0.25, 0.75), dice.number(0.2, 0.4), dice.number(0.07, 0.13), dice.choice(("fff3c4", "ffd23f"))
    )
    for step, land in enumerate(dice.shuffled(LANDS)[:3]):
        hills = 0.45 + 0.17 * step + 0.12 * np.sin(2 * np.pi * (X * dice.number(0.5, 1.6) + dice.number()))
        canvas.fill(hills < Y, land)
    return canvas


def sea(dice: Dice) -> Canvas:
    canvas = _sky(dice)
    level = dice.number(0.55, 0.65)
    canvas.fill(level < Y, dice.choice(("1b4f72", "117a8b", "27496d")))
    canvas.fill((level < Y) & ((Y * 14 + 0.25 * np.sin(X * 25)) % 1 < 0.22), "8fd3e8")
    x, sail = dice.number(0.4, 0.6), dice.choice(("ffffff", "e6332a", "ffd800"))
    canvas.fill((np.abs(X - x) < (Y - 0.18) * 0.55) & (Y > 0.18) & (level - 0.04 > Y) & (x - 0.02 < X), sail)
    canvas.fill((np.abs(X - x) < (Y - 0.26) * 0.5) & (Y > 0.26) & (level - 0.04 > Y) & (x - 0.05 > X), "f1e3c6")
    canvas.fill((np.abs(X - x) < 0.26 - (Y - level) * 1.2) & (level - 0.02 < Y) & (level + 0.09 > Y), "6b2f1a")
    return canvas


def town(dice: Dice) -> Canvas:
    """Towers with lit windows under a night sky."""
    canvas = _sky(dice)
    canvas.disc(dice.number(0.2, 0.8), 0.25, 0.09, "f5f0d0")
    left = 0.05
    while left < 0.95:
        right, top = left + dice.number(0.12, 0.24), dice.number(0.3, 0.65)
        canvas.box(left, top, right, 1.0, dice.choice(("20263d", "3a2f4f", "15202b", "4a3b3b")))
        windows = (X * 22 % 1 < 0.5) & (Y * 16 % 1 < 0.5) & (left + 0.02 < X) & (right - 0.02 > X) & (top + 0.03 < Y)
        canvas.fill(windows & (noise(dice, 22, 16) > 0.45), "ffd966")
        left = right
    return canvas


def grid(dice: Dice) -> Canvas:
    """Rectangles of plain colour between black bars."""
    canvas = Canvas("f4f1e6")
    columns = [0.0, dice.number(0.2, 0.4), dice.number(0.5, 0.8), 1.0]
    rows = [0.0, dice.number(0.2, 0.45), dice.number(0.55, 0.8), 1.0]
    for left, right in pairwise(columns):
        for top, bottom in pairwise(rows):
            if dice.number() < 0.62:
                canvas.box(left, top, right, bottom, dice.choice(("d7261e", "f9c80e", "1d3f9c", "f4f1e6", "f08a24")))
    for line in columns[1:-1]:
        canvas.fill(np.abs(X - line) < 0.022, "161616")
    for line in rows[1:-1]:
        canvas.fill(np.abs(Y - line) < 0.022, "161616")
    return canvas


def rings(dice: Dice) -> Canvas:
    """Four fields of circles within circles."""
    canvas = Canvas("ffffff")
    for left in (0.0, 0.5):
        for top in (0.0, 0.5):
            canvas.box(left, top, left + 0.5, top + 0.5, dice.choice(BRIGHT))
            for radius in (0.21, 0.15, 0.08):
                canvas.disc(left + 0.25, top + 0.25, radius, dice.choice(BRIGHT))
    return canvas


def portrait(dice: Dice) -> Canvas:
    canvas = Canvas(dice.choice(("31572c", "7f4f24", "22577a", "6d597a", "b56576", "c9a227")))
    hair, skin = dice.choice(("1f1a17", "5a3217", "b5651d", "e0c068", "8c1c13", "c9c9c9")), dice.choice(SKINS)
    canvas.disc(0.5, 1.02, 0.36, dice.choice(BRIGHT), flat=0.95)
    canvas.disc(0.5, dice.number(0.4, 0.5), dice.number(0.23, 0.29), hair, flat=0.85)
    canvas.box(0.44, 0.6, 0.56, 0.76, skin)
    canvas.disc(0.5, 0.49, 0.19, skin, flat=0.8)
    canvas.fill((np.hypot(X - 0.5, (Y - 0.49) * 0.8) < 0.2) & (dice.number(0.35, 0.4) > Y), hair)
    for x in (0.425, 0.575):
        canvas.disc(x, 0.47, 0.035, "ffffff")
        canvas.disc(x, 0.47, 0.02, "22303c")
    canvas.fill((np.abs(X - 0.5) < 0.07) & (np.abs(Y - 0.6) < 0.015), "b3352c")
    return canvas


def flower(dice: Dice) -> Canvas:
    canvas = Canvas(dice.choice(("fdf0d5", "cde7f0", "2b2d42", "e9c46a", "457b9d", "ffc8dd")))
    canvas.fill((np.abs(X - 0.5 - 0.04 * np.sin(Y * 6)) < 0.025) & (Y > 0.4), "2f7d32")
    canvas.disc(0.36, 0.74, 0.1, "3f9142", flat=1.8)
    petals, petal = 5 + dice.below(4), dice.choice(("e6332a", "f39200", "a3195b", "ffffff", "7b2cbf", "ff6fa5"))
    angle, radius = np.arctan2(Y - 0.42, X - 0.5), np.hypot(X - 0.5, Y - 0.42)
    canvas.fill(radius < 0.2 + 0.09 * np.cos(petals * angle), petal)
    canvas.disc(0.5, 0.42, 0.085, dice.choice(("ffd800", "5a3217")))
    return canvas


def _sky(dice: Dice) -> Canvas:
    above, below = dice.choice(SKIES)
    canvas = Canvas(above)
    canvas.fill(ramp_up(Y, 0.1, 0.65), below)
    return canvas


def _colour(hexadecimal: str) -> NDArray[np.float64]:
    return np.array(list(bytes.fromhex(hexadecimal)), np.float64)


GENRES: tuple[Callable[[Dice], Canvas], ...] = (landscape, grid, portrait, rings, sea, flower, town)
