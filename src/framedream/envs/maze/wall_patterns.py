"""Patterns of walls: each draws a surface, to be painted in many colours.

Tones follow one rule: joints near 0, the material from 0.35 (dark) to 1 (bright), so that any ramp of colours
(joint, dark, bright) suits any pattern.
"""

from __future__ import annotations

import numpy as np

from framedream.envs.maze.dice import Dice
from framedream.envs.maze.surfaces import Blocks, Surface, X, Y, blocks, clouds, grain, laid, noise, pebbles, ramp_up


def bricks(dice: Dice) -> Surface:
    parts = blocks(dice, 4, 8, shift=0.5)
    rough = clouds(dice, 8, 8)
    return laid(parts, 0.009, 0.012, 0.4 + 0.38 * parts.value + 0.3 * (rough - 0.3))


def ashlar(dice: Dice) -> Surface:
    parts = blocks(dice, 2, 4, shift=0.5)
    rough = clouds(dice, 8, 8)
    surface = laid(parts, 0.008, 0.02, 0.45 + 0.25 * parts.value + 0.45 * (rough - 0.4))
    return Surface(surface.height + 0.03 * rough, surface.tone)


def rubble(dice: Dice) -> Surface:
    parts = pebbles(dice, 5, 5)
    return laid(parts, 0.012, 0.03, 0.4 + 0.4 * parts.value + 0.35 * (clouds(dice, 6, 6) - 0.4), depth=0.05)


def planks(dice: Dice) -> Surface:
    parts = blocks(dice, 5, 1)
    fibre = noise(dice, 40, 3) * 0.6 + noise(dice, 80, 6) * 0.4
    return laid(parts, 0.006, 0.008, 0.42 + 0.3 * parts.value + 0.4 * (fibre - 0.35))


def panelling(dice: Dice) -> Surface:
    parts = blocks(dice, 2, 1)
    field = ramp_up(parts.edge, 0.085, 0.115) * 0.03
    groove = ramp_up(parts.edge, 0.06, 0.075) - ramp_up(parts.edge, 0.075, 0.09)
    fibre = noise(dice, 36, 4)
    tone = 0.55 + 0.22 * ramp_up(parts.edge, 0.085, 0.1) + 0.2 * (fibre - 0.5) - 0.3 * groove
    return laid(Blocks(parts.edge, parts.value, parts.x, parts.y), 0.004, 0.004, tone + field)


def stripes(dice: Dice) -> Surface:
    wide = (X * 8 % 1) < 0.5
    thin = np.abs(X * 8 % 1 - 0.75) < 0.06
    return Surface(np.zeros_like(X), np.where(wide, 0.5, 0.95) - 0.35 * thin + 0.1 * (grain(dice) - 0.5))


def tiles(dice: Dice) -> Surface:
    parts = blocks(dice, 4, 4)
    gloss = 0.25 * (1 - parts.x) * (1 - parts.y)
    return laid(parts, 0.008, 0.012, 0.5 + 0.3 * parts.value + gloss)


def small_tiles(dice: Dice) -> Surface:
    parts = blocks(dice, 10, 10)
    return laid(parts, 0.006, 0.008, 0.35 + 0.6 * parts.value)


def hexagons(dice: Dice) -> Surface:
    parts = _hexagonal(dice, 5, 6)
    return laid(parts, 0.008, 0.012, 0.45 + 0.45 * parts.value)


def _hexagonal(dice: Dice, across: int, down: int) -> Blocks:
    """A honeycomb, nearly regular: cells around the points of a grid whose odd rows are shifted by half."""
    values = dice.numbers(down, across)
    best, second, value = np.full_like(X, 9.0), np.full_like(X, 9.0), np.zeros_like(X)
    row = (Y * down).astype(int)
    for step in (-1, 0, 1):
        there = row + step
        shifted = X * across - 0.5 * (there % 2)
        column = np.floor(shifted).astype(int)
        for beside in (0, 1):
            dx = (shifted - column - beside) / across
            dy = (Y * down - there - 0.5) / down
            distance = np.sqrt(dx * dx + dy * dy)
            closer = distance < best
            second = np.where(closer, best, np.minimum(second, distance))
            best = np.where(closer, distance, best)
            value = np.where(closer, values[there % down, (column + beside) % across], value)
    return Blocks((second - best) / 2, value, X, Y)


def plaster(dice: Dice) -> Surface:
    rough = clouds(dice, 4, 4)
    return Surface(0.06 * clouds(dice, 8, 8), 0.5 + 0.6 * (rough - 0.35))


def metal(dice: Dice) -> Surface:
    parts = blocks(dice, 2, 2)
    brushed = noise(dice, 4, 64)
    rivet = np.hypot(np.minimum(parts.x, 1 - parts.x) - 0.12, np.minimum(parts.y, 1 - parts.y) - 0.12)
    surface = laid(parts, 0.007, 0.01, 0.5 + 0.15 * parts.value + 0.35 * (brushed - 0.5))
    head = 1 - ramp_up(rivet, 0.02, 0.06)
    return Surface(surface.height + 0.03 * head, surface.tone + 0.25 * head)


def chevrons(dice: Dice) -> Surface:
    wave = (Y * 6 + np.abs(X * 4 % 2 - 1)) % 1
    band = ramp_up(wave, 0.02, 0.07) - ramp_up(wave, 0.5, 0.55)
    return Surface(0.012 * band, 0.42 + 0.42 * band + 0.15 * (grain(dice) - 0.5))


def diamonds(dice: Dice) -> Surface:
    u, v = X * 4 + Y * 4, X * 4 - Y * 4
    edge = np.minimum(np.minimum(u % 1, 1 - u % 1), np.minimum(v % 1, 1 - v % 1)) / 6
    filled = (np.floor(u) + np.floor(v)) % 2
    return laid(Blocks(edge, filled, X, Y), 0.004, 0.01, 0.5 + 0.4 * filled + 0.15 * (clouds(dice) - 0.5))


def dots(dice: Dice) -> Surface:
    row = (Y * 6).astype(int)
    x, y = (X * 6 + 0.5 * (row % 2)) % 1 - 0.5, Y * 6 % 1 - 0.5
    disc = 1 - ramp_up(np.hypot(x, y), 0.24, 0.31)
    return Surface(0.015 * disc, 0.5 + 0.5 * disc + 0.12 * (grain(dice) - 0.5))


def scales(dice: Dice) -> Surface:
    across, down = 6, 8
    height, tone = np.zeros_like(X), np.zeros_like(X)
    values = dice.numbers(down, across)
    row = (Y * down).astype(int)
    for step in (1, 0):  # the upper row of scales lies over the lower one
        there = row + step - 1
        shifted = X * across + 0.5 * (there % 2)
        x, y = shifted % 1 - 0.5, Y * down - there
        inside = np.hypot(x * 2, np.maximum(y - 0.9, 0) * 1.8) < 1
        rim = np.hypot(x * 2, np.maximum(y - 0.9, 0) * 1.8)
        value = values[there % down, shifted.astype(int) % across]
        tone = np.where(inside, 0.45 + 0.35 * value + 0.2 * (1 - y / 2) - 0.45 * ramp_up(rim, 0.8, 1), tone)
        height = np.where(inside, 0.03 * (y / 2), height)
    return Surface(height, tone)


def weave(dice: Dice) -> Surface:
    """Basket weave: pairs of strips, lying and standing in turn."""
    parts = blocks(dice, 4, 4)
    lying = ((X * 4).astype(int) + (Y * 4).astype(int)) % 2 == 0
    strip = np.where(lying, parts.y, parts.x) * 3
    edge = np.minimum(np.minimum(strip % 1, 1 - strip % 1) / 12, parts.edge)
    number = dice.numbers(3, 4, 4)[strip.astype(int) % 3, (Y * 4).astype(int), (X * 4).astype(int)]
    fibre = np.where(lying, noise(dice, 8, 64), noise(dice, 64, 8))
    return laid(Blocks(edge, number, X, Y), 0.005, 0.008, 0.4 + 0.35 * number + 0.3 * (fibre - 0.4))


def arcs(dice: Dice) -> Surface:
    """Quarter circles in squares turned at random: winding bands."""
    parts = blocks(dice, 6, 6)
    flip = parts.value < 0.5
    x, y = np.where(flip, 1 - parts.x, parts.x), parts.y
    band = np.minimum(np.abs(np.hypot(x, y) - 0.5), np.abs(np.hypot(1 - x, 1 - y) - 0.5))
    raised = 1 - ramp_up(band, 0.12, 0.19)
    return Surface(0.02 * raised, 0.42 + 0.45 * raised + 0.15 * (clouds(dice, 8, 8) - 0.5))


def portholes(dice: Dice) -> Surface:
    radius = np.hypot(X * 2 % 1 - 0.5, Y * 2 % 1 - 0.5)
    ring = ramp_up(radius, 0.24, 0.27) - ramp_up(radius, 0.36, 0.39)
    hole = 1 - ramp_up(radius, 0.23, 0.25)
    seam = np.minimum(blocks(dice, 2, 2).edge / 0.02, 1)
    return Surface(0.02 * ring + 0.004 * seam, (0.72 + 0.28 * ring + 0.1 * (clouds(dice) - 0.5)) * (1 - 0.62 * hole))


def marble(dice: Dice) -> Surface:
    bent = clouds(dice, 3, 3)
    vein = np.abs(np.sin(2 * np.pi * (X + Y + 1.2 * bent)))
    return Surface(np.zeros_like(X), 0.35 + 0.6 * ramp_up(vein, 0.0, 0.5) - 0.15 * (clouds(dice, 4, 4) - 0.5))


def bamboo(dice: Dice) -> Surface:
    parts = blocks(dice, 8, 1)
    round_ = 4 * parts.x * (1 - parts.x)
    node = np.abs((Y * 2 + np.floor(X * 8) * 0.37) % 1 - 0.5)
    return Surface(0.03 * np.sqrt(round_), (0.3 + 0.5 * round_ + 0.2 * parts.value) * ramp_up(node, 0.0, 0.04))


def books(dice: Dice) -> Surface:
    """Three shelves of books; made for ramps of many colours, the first that of the wood."""
    shelf = Y * 3
    number = shelf.astype(int)
    x, part = X * 18 + 3 * number, shelf % 1
    which = x.astype(int) % 18
    values, heights = dice.numbers(3, 18), dice.numbers(3, 18)
    book = (part > 0.12 + 0.22 * heights[number, which]) & (part < 0.9)
    spine = 4 * (x % 1) * (1 - x % 1)
    label = (np.abs(part - 0.55) < 0.05) * 0.12
    return Surface(0.02 * book * np.sqrt(spine), np.where(book, 0.25 + 0.75 * values[number, which] - label, 0.1))


def foliage(dice: Dice) -> Surface:
    leaves, under = pebbles(dice, 10, 10), pebbles(dice, 7, 7)
    shadow = ramp_up(leaves.edge, 0.0, 0.02)
    return Surface(0.05 * leaves.edge / 0.05, shadow * (0.3 + 0.5 * leaves.value + 0.2 * under.value))


def patchwork(dice: Dice) -> Surface:
    """Squares of cloth; made for ramps of six colours, the first that of the seams."""
    parts = blocks(dice, 4, 4)
    cloth = (1 + np.floor(5 * parts.value)) / 5
    return laid(parts, 0.003, 0.012, cloth + 0.04 * (grain(dice) - 0.5))
