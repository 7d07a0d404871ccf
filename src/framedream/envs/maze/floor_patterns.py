"""Patterns of floors: surfaces to be painted in many colours, as those of walls are."""

from __future__ import annotations

import numpy as np

from framedream.envs.maze.dice import Dice
from framedream.envs.maze.surfaces import Surface, X, Y, blocks, clouds, grain, laid, noise, pebbles, ramp_up


def checks(dice: Dice) -> Surface:
    parts = blocks(dice, 2, 2)
    dark = ((X * 2).astype(int) + (Y * 2).astype(int)) % 2
    return laid(parts, 0.005, 0.006, 0.45 + 0.45 * dark + 0.25 * (clouds(dice, 4, 4) - 0.5))


def cobbles(dice: Dice) -> Surface:
    parts = pebbles(dice, 7, 7)
    return laid(parts, 0.008, 0.03, 0.4 + 0.45 * parts.value, depth=0.06)


def slabs(dice: Dice) -> Surface:
    parts = blocks(dice, 2, 2, shift=0.5)
    rough = clouds(dice, 6, 6)
    return laid(parts, 0.006, 0.01, 0.45 + 0.25 * parts.value + 0.5 * (rough - 0.4))


def boards(dice: Dice) -> Surface:
    parts = blocks(dice, 1, 5)
    fibre = noise(dice, 3, 40) * 0.6 + noise(dice, 6, 80) * 0.4
    return laid(parts, 0.005, 0.006, 0.42 + 0.3 * parts.value + 0.4 * (fibre - 0.35))


def carpet(dice: Dice) -> Surface:
    return Surface(0.006 * grain(dice), 0.5 + 0.25 * (grain(dice) - 0.5) + 0.35 * (clouds(dice) - 0.5))


def grass(dice: Dice) -> Surface:
    blades = noise(dice, 48, 24)
    return Surface(0.02 * blades, 0.25 + 0.4 * blades + 0.35 * clouds(dice))


def ripples(dice: Dice) -> Surface:
    wave = np.sin(2 * np.pi * (6 * Y + 1.3 * clouds(dice, 2, 2)))
    return Surface(0.012 * wave, 0.6 + 0.22 * wave + 0.12 * (grain(dice) - 0.5))


def tread(dice: Dice) -> Surface:
    """Steel plate with raised strokes, lying and standing in turn."""
    parts = blocks(dice, 6, 6)
    lying = ((X * 6).astype(int) + (Y * 6).astype(int)) % 2 == 0
    long, short = np.where(lying, parts.x, parts.y) - 0.5, np.where(lying, parts.y, parts.x) - 0.5
    stroke = 1 - ramp_up(np.hypot(long * 0.45, short), 0.1, 0.16)
    return Surface(0.025 * stroke, 0.5 + 0.35 * stroke + 0.15 * (clouds(dice) - 0.5))
