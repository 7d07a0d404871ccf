"""Patterns of ceilings, each with something that shines: the brightest tone is light."""

from __future__ import annotations

import numpy as np

from framedream.envs.maze.dice import Dice
from framedream.envs.maze.surfaces import Surface, X, Y, blocks, clouds, laid, noise, ramp_up


def lamps(dice: Dice) -> Surface:
    """Light panels between crossed beams."""
    edge = blocks(dice, 1, 1).edge
    panel = ramp_up(edge, 0.1, 0.12)
    beam = 0.25 + 0.12 * noise(dice, 6, 6) + 0.12 * (ramp_up(edge, 0.0, 0.01) - ramp_up(edge, 0.04, 0.05))
    return Surface(0.03 * (1 - panel), np.where(panel > 0.5, 0.94 + 0.06 * ramp_up(edge, 0.12, 0.3), beam))


def round_lamps(dice: Dice) -> Surface:
    radius = np.hypot(X - 0.5, Y - 0.5)
    lamp = 1 - ramp_up(radius, 0.24, 0.27)
    glow = 1 - ramp_up(radius, 0.25, 0.6)
    tone = 0.42 + 0.12 * glow + 0.08 * (clouds(dice, 4, 4) - 0.5)
    return laid(blocks(dice, 1, 1), 0.01, 0.01, np.maximum(tone, lamp))


def rafters(dice: Dice) -> Surface:
    """Dark rafters under light boards, with a lamp between."""
    rafter = 1 - ramp_up(np.abs(X - 0.5) * -1 + 0.5, 0.1, 0.12)
    board = 0.62 + 0.1 * noise(dice, 2, 32) - 0.15 * (Y * 4 % 1 < 0.06)
    lamp = 1 - ramp_up(np.hypot(X - 0.5, (Y - 0.5)), 0.12, 0.15)
    return Surface(0.03 * rafter, np.maximum(np.where(rafter > 0.5, 0.2 + 0.15 * noise(dice, 24, 3), board), lamp))


def strip_lights(dice: Dice) -> Surface:
    strip = (1 - ramp_up(np.abs(X - 0.5), 0.1, 0.12)) * (1 - ramp_up(np.abs(Y - 0.5), 0.34, 0.36))
    return laid(blocks(dice, 1, 1), 0.006, 0.008, np.maximum(0.45 + 0.1 * noise(dice, 32, 2), strip))


def skylights(dice: Dice) -> Surface:
    """A glass roof: clouds between bars."""
    edge = blocks(dice, 2, 2).edge
    bar = ramp_up(edge, 0.018, 0.026)
    return Surface(0.02 * (1 - bar), bar * (0.45 + 0.55 * ramp_up(clouds(dice, 2, 2), 0.35, 0.65)))
