"""Layouts: rooms joined by corridors on a square grid, dressed with textures and paintings, all drawn from a seed.

Walls fill whole cells. Rooms and corridors start on the odd cells of the grid, so that a wall one cell thick fits
between any two of them:

    #########    1. rooms, 3 or 5 cells wide and high, apart from each other;
    #...# . #    2. corridors through all odd cells that are left, depth first;
    #.....# #    3. doors, until everything is joined, and a few more, so that there are round trips;
    #...#   #    4. corridors that end nowhere are filled again.
    #########
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from framedream.envs.maze.dice import Dice

SMALLEST_SIZE = 7
WALL = 0
ROOM_SIDES = (3, 3, 5)
ROOM_TRIES_PER_CELL = 0.14
SPARE_DOORS = 0.12
PAINTINGS_PER_WALL = 0.07
SIDES = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Steps (x, y) from a cell to its neighbours north, south, west and east."""

Cell = tuple[int, int]
Regions = dict[Cell, int]


class TextureNumbers(NamedTuple):
    """Which textures of a set are for walls, floors, ceilings, and which are paintings."""

    walls: Sequence[int]
    floors: Sequence[int]
    ceilings: Sequence[int]
    paintings: Sequence[int]


@dataclass(frozen=True, eq=False)
class Layout:
    """One maze. Arrays are indexed [y, x], y grows southwards; textures are those seen from a free cell."""

    seed: int
    region: NDArray[np.int16]
    """0 in walls; rooms and corridors are numbered from 1."""
    wall: NDArray[np.int16]
    floor: NDArray[np.int16]
    ceiling: NDArray[np.int16]
    painting: NDArray[np.int16]
    """(size, size, 4): on a cell's four walls in the order of `SIDES`, −1 for none."""
    around: NDArray[np.int8]
    """Bit k is set where the neighbour `SIDES[k]` is wall."""

    @property
    def free(self) -> NDArray[np.bool_]:
        """The cells that are not wall."""
        return np.asarray(self.region != WALL)

    def clearance(self, x: float, y: float) -> float:
        """The distance from a point to the nearest wall, if that is less than 1; otherwise 1 or more."""
        size = len(self.region)
        if not (1 <= x < size - 1 and 1 <= y < size - 1):
            return 0.0
        distances = [1.0]
        for row in range(int(y) - 1, int(y) + 2):
            for column in range(int(x) - 1, int(x) + 2):
                if self.region[row, column] == WALL:
                    aside, along = max(column - x, x - column - 1, 0.0), max(row - y, y - row - 1, 0.0)
                    distances.append(math.hypot(aside, along))
        return min(distances)


def draw_layout(seed: int, size: int, textures: TextureNumbers) -> Layout:
    """The maze of `size` × `size` cells (odd) that belongs to `seed`."""
    dice = Dice(seed)
    region = np.full((size, size), WALL, np.int16)
    regions = _draw_regions(dice, size)
    for (x, y), number in regions.items():
        region[y, x] = number
    free = region != WALL
    dressed = int(region.max()) + 1
    walls, floors = (dice.shuffled(numbers) for numbers in (textures.walls, textures.floors))
    ceilings = [dice.choice(textures.ceilings) for _ in range(dressed)]
    around = _walls_around(free)
    return Layout(
        seed=seed,
        region=region,
        wall=np.array([walls[number % len(walls)] for number in range(dressed)], np.int16)[region],
        floor=np.array([floors[number % len(floors)] for number in range(dressed)], np.int16)[region],
        ceiling=np.array(ceilings, np.int16)[region],
        painting=_hang_paintings(dice, free, around, textures.paintings),
        around=around,
    )


def _draw_regions(dice: Dice, size: int) -> Regions:
    regions = _place_rooms(dice, size)
    rooms = set(regions)
    _dig_corridors(dice, size, regions)
    _open_doors(dice, size, regions)
    _fill_dead_ends(regions, rooms)
    return regions


def _place_rooms(dice: Dice, size: int) -> Regions:
    rooms: Regions = {}
    number = 0
    for _ in range(int(ROOM_TRIES_PER_CELL * size * size)):
        width, height = dice.choice(ROOM_SIDES), dice.choice(ROOM_SIDES)
        left, top = (1 + 2 * dice.below((size - side) // 2) for side in (width, height))
        # Rooms start on odd cells and have odd sides: rooms without a common cell have a wall between them.
        cells = [(x, y) for y in range(top, top + height) for x in range(left, left + width)]
        if rooms.keys().isdisjoint(cells):
            number += 1
            rooms.update(dict.fromkeys(cells, number))
    return rooms


def _dig_corridors(dice: Dice, size: int, regions: Regions) -> None:
    """A maze without round trips in each part of the grid that the rooms leave."""
    number = max(regions.values())
    for start in ((x, y) for y in range(1, size, 2) for x in range(1, size, 2)):
        if start in regions:
            continue
        number += 1
        regions[start] = number
        path = [start]
        while path:
            x, y = path[-1]
            ways = [
                (dx, dy)
                for dx, dy in SIDES
                if 0 < x + 2 * dx < size and 0 < y + 2 * dy < size and (x + 2 * dx, y + 2 * dy) not in regions
            ]
            if not ways:
                path.pop()
                continue
            dx, dy = dice.choice(ways)
            regions[x + dx, y + dy] = regions[x + 2 * dx, y + 2 * dy] = number
            path.append((x + 2 * dx, y + 2 * dy))


def _open_doors(dice: Dice, size: int, regions: Regions) -> None:
    """Take away walls between regions, in random order, where they are not joined yet; and some where they are."""
    doors = []
    for y in range(1, size - 1):
        for x in range(1 + y % 2, size - 1, 2):  # a door has one even and one odd coordinate
            one, other = ((x - 1, y), (x + 1, y)) if y % 2 else ((x, y - 1), (x, y + 1))
            if (x, y) not in regions and regions[one] != regions[other]:
                doors.append(((x, y), regions[one], regions[other]))
    joined = list(range(max(regions.values()) + 1))  # a region's number, or that of a region it is joined to
    for door, one_number, other_number in dice.shuffled(doors):
        first, second = _root(joined, one_number), _root(joined, other_number)
        if first != second or dice.number() < SPARE_DOORS:
            joined[first] = second
            regions[door] = max(one_number, other_number)  # corridors have the higher numbers


def _root(joined: list[int], number: int) -> int:
    while joined[number] != number:
        number = joined[number]
    return number


def _fill_dead_ends(regions: Regions, rooms: set[Cell]) -> None:
    waiting = [cell for cell in regions if cell not in rooms]
    while waiting:
        x, y = cell = waiting.pop()
        ways = [(x + dx, y + dy) for dx, dy in SIDES if (x + dx, y + dy) in regions]
        if cell in regions and cell not in rooms and len(ways) <= 1:
            del regions[cell]
            waiting.extend(ways)


def _walls_around(free: NDArray[np.bool_]) -> NDArray[np.int8]:
    framed = np.pad(~free, 1, constant_values=True).astype(np.int8)
    size = len(free)
    around = np.zeros(free.shape, np.int8)
    for bit, (dx, dy) in enumerate(SIDES):
        around |= framed[1 + dy : 1 + dy + size, 1 + dx : 1 + dx + size] << bit
    return around


def _hang_paintings(
    dice: Dice, free: NDArray[np.bool_], around: NDArray[np.int8], paintings: Sequence[int]
) -> NDArray[np.int16]:
    hung = np.full((*free.shape, len(SIDES)), -1, np.int16)
    has_wall = (around[..., None] >> np.arange(len(SIDES)) & 1).astype(bool) & free[..., None]
    for y, x, side in np.argwhere(has_wall & (dice.numbers(*hung.shape) < PAINTINGS_PER_WALL)).tolist():
        hung[y, x, side] = dice.choice(paintings)
    return hung
