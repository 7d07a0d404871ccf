"""The renderer: what agents in mazes see, by casting one ray per column of samples.

The camera is half-way between floor (height 0) and ceiling (height 1), in the middle of the agent. A column of the
picture looks along `forward + slope · right`; the ray walks from cell to cell until it meets a wall. Distances are
measured along `forward`, so walls look flat, and a wall at distance d spans the rows whose own reach is beyond d:

        seen from above                      seen from the side

        forward                        row 0  ╲ ceiling      row j looks along height 0.5 ± drop[j] · d and
           ▲   ╱ ray                          │╲             meets floor or ceiling at reach[j] = 0.5 / drop[j]
     ▓▓▓▓▓▓│▓▓╳▓▓▓▓                    wall   │ ◉ ─ ─ ─ ─    (row j from above and row j from below are mirror
           │ ╱  d                             │╱             images: the same point of the map, so floor and
           │╱                          last   ╱ floor        ceiling share the work)
           ◉──► right

Colours are whole numbers, and distances come from plain double arithmetic in the order it is written: frames are equal
on every machine.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from framedream.envs.maze.compilation import compiled

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Mazes(NamedTuple):
    """The layouts of several mazes, stacked (see `Layout`)."""

    region: NDArray[np.int16]
    wall: NDArray[np.int16]
    floor: NDArray[np.int16]
    ceiling: NDArray[np.int16]
    painting: NDArray[np.int16]
    around: NDArray[np.int8]


class Texels(NamedTuple):
    """Square textures at every size from `2**bits` down to 2, one after the other."""

    colours: Integers
    """Red, green and blue 21 bits apart, so that one multiplication scales all three."""
    each: int
    """Numbers per texture."""
    start: Integers
    """Where each size begins within its texture."""
    bits: int


class Camera(NamedTuple):
    """Everything about the picture that does not depend on the maze; rows and columns are those of samples."""

    slope: Floats
    """Of each column: how far right per unit forward."""
    drop: Floats
    """Of each row: how far down per unit forward."""
    reach: Floats
    """Of each row in the upper half: the distance at which it meets the ceiling."""
    bits: Integers
    """Of each row in the upper half: the size of texture to use there, as a power of two."""
    light: Integers
    """Of each row in the upper half: how bright its floor is, of 256."""
    pitch: float
    """Distance between neighbouring samples, per unit forward."""
    samples: int
    """Samples per pixel, in each direction."""
    edge_light: Integers
    """Brightness, of 256, beside a wall: by distance from it, in 1/64 of a cell, to 1."""
    height_light: Integers
    """Brightness of a wall, of 256, by depth below the ceiling in 1/64."""


BYTES = 0x3FC001FE000FF  # 255 in each of the three colours
HALVES = 0x2000010000080  # 128 in each
NORTH, SOUTH, WEST, EAST = range(4)
PAINTING_LEFT, PAINTING_TOP, PAINTING_SIDE = 0.2, 0.18, 0.6
EAST_WEST_LIGHT = 220.0
"""Of 256: walls that face east or west are a little darker, so that corners show."""
HAZE = 0.012
"""Brightness is 1 / (1 + HAZE · distance²)."""


@compiled
def draw(
    mazes: Mazes,
    texels: Texels,
    camera: Camera,
    which: Integers,
    states: NDArray[np.float32],
    frames: NDArray[np.uint8],
) -> None:
    """Fill `frames` (N×H×W×3) with what agent n sees from `states[n]` (x, y, heading …) in maze `which[n]`."""
    count, height, width, _ = frames.shape
    samples = camera.samples
    rows = height * samples
    scale = 256 * samples * samples
    sums = np.empty(rows, np.int64)
    maze_count, cells_down, cells_across = mazes.region.shape
    for n in range(count):
        inside = 1 <= states[n, 0] < cells_across - 1 and 1 <= states[n, 1] < cells_down - 1
        if not (0 <= which[n] < maze_count and inside):
            raise ValueError("an agent is outside its maze")
        region, around = mazes.region[which[n]], mazes.around[which[n]]
        wall, floor, ceiling = mazes.wall[which[n]], mazes.floor[which[n]], mazes.ceiling[which[n]]
        painting = mazes.painting[which[n]]
        x0, y0 = float(states[n, 0]), float(states[n, 1])
        # Libraries disagree on the last bits of a double's cosine, not on a float's.
        angle = float(states[n, 2]) * (math.pi / 180.0)
        ahead_x, ahead_y = float(np.float32(math.cos(angle))), float(np.float32(math.sin(angle)))
        top = 0
        for column in range(width):
            sums[:] = 0
            for sample in range(column * samples, (column + 1) * samples):
                slope = camera.slope[sample]
                ray_x, ray_y = ahead_x - ahead_y * slope, ahead_y + ahead_x * slope

                # The walk: `to_x` and `to_y` are the distances at which the ray next enters another column or row.
                cell_x, cell_y = int(x0), int(y0)
                step_x, step_y = (1 if ray_x > 0 else -1), (1 if ray_y > 0 else -1)
                each_x = abs(1.0 / ray_x) if ray_x != 0 else 1e9
                each_y = abs(1.0 / ray_y) if ray_y != 0 else 1e9
                to_x = (cell_x + 1 - x0 if ray_x > 0 else x0 - cell_x) * each_x
                to_y = (cell_y + 1 - y0 if ray_y > 0 else y0 - cell_y) * each_y
                last_x, last_y, distance, along_x = cell_x, cell_y, 0.0, True
                while region[cell_y, cell_x] != 0:
                    last_x, last_y = cell_x, cell_y
                    along_x = to_x < to_y
                    if along_x:
                        distance = to_x
                        to_x += each_x
                        cell_x += step_x
                    else:
                        distance = to_y
                        to_y += each_y
                        cell_y += step_y

                # The wall: which one of its cell, and where on it, from left to right as the agent sees it.
                walls = around[last_y, last_x]
                if along_x:
                    face = EAST if ray_x > 0 else WEST
                    across = y0 + distance * ray_y - last_y
                    slant = abs(ray_x)
                    corners = walls & 3
                    light = EAST_WEST_LIGHT
                else:
                    face = SOUTH if ray_y > 0 else NORTH
                    across = x0 + distance * ray_x - last_x
                    slant = abs(ray_y)
                    corners = walls >> 2
                    light = 256.0
                across = min(max(across, 0.0), 0.999999)
                light /= 1.0 + HAZE * distance * distance
                if corners & 1:
                    light *= camera.edge_light[int(across * 64.0)] / 256.0
                if corners & 2:
                    light *= camera.edge_light[63 - int(across * 64.0)] / 256.0
                if face in (WEST, SOUTH):
                    across = 1.0 - across
                column_light = int(light)

                # Textures in the size whose texels are about as large as samples are apart.
                slanted = max(1.0, 0.5 * math.sqrt(1.0 + slope * slope) / max(slant, 0.05))
                apart = distance * camera.pitch * slanted * (1 << texels.bits)
                bits = _size(texels.bits, apart)
                start = texels.start[texels.bits - bits] + texels.each * int(wall[last_y, last_x])
                u = int(across * (256 << bits)) - 128
                hung = painting[last_y, last_x, face]
                painted = hung >= 0 and PAINTING_LEFT < across < PAINTING_LEFT + PAINTING_SIDE
                painting_bits = _size(texels.bits, apart / PAINTING_SIDE)
                painting_start = texels.start[texels.bits - painting_bits] + texels.each * int(hung)
                painting_u = int((across - PAINTING_LEFT) / PAINTING_SIDE * ((256 << painting_bits) - 256))

                # Rows above `top` see the ceiling, as many below see the floor; neighbouring columns differ little.
                while top < rows // 2 and camera.reach[top] < distance - 1e-9:
                    top += 1
                while top > 0 and camera.reach[top - 1] >= distance - 1e-9:
                    top -= 1
                for row in range(top, rows - top):
                    depth = 0.5 + distance * camera.drop[row]
                    light_here = (column_light * camera.height_light[min(max(int(depth * 64.0), 0), 63)]) >> 8
                    if painted and PAINTING_TOP < depth < PAINTING_TOP + PAINTING_SIDE:
                        v = int((depth - PAINTING_TOP) / PAINTING_SIDE * ((256 << painting_bits) - 256))
                        colour = _blend(texels.colours, painting_start, painting_bits, painting_u, v)
                    else:
                        v = int(depth * (256 << bits)) - 128
                        colour = _blend(texels.colours, start, bits, u, v)
                    sums[row] += colour * light_here
                for row in range(top):
                    reach = camera.reach[row]
                    x, y = x0 + reach * ray_x, y0 + reach * ray_y
                    cell_x, cell_y = int(x), int(y)
                    x -= cell_x
                    y -= cell_y
                    light_here = camera.light[row]
                    walls = around[cell_y, cell_x]
                    if walls & 1:
                        light_here = light_here * camera.edge_light[int(y * 64.0)] >> 8
                    if walls & 2:
                        light_here = light_here * camera.edge_light[63 - int(y * 64.0)] >> 8
                    if walls & 4:
                        light_here = light_here * camera.edge_light[int(x * 64.0)] >> 8
                    if walls & 8:
                        light_here = light_here * camera.edge_light[63 - int(x * 64.0)] >> 8
                    bits = camera.bits[row]
                    start = texels.start[texels.bits - bits]
                    u, v = int(x * (256 << bits)) - 128, int(y * (256 << bits)) - 128
                    below = _blend(texels.colours, start + texels.each * int(floor[cell_y, cell_x]), bits, u, v)
                    above = _blend(texels.colours, start + texels.each * int(ceiling[cell_y, cell_x]), bits, u, v)
                    sums[rows - 1 - row] += below * light_here
                    sums[row] += above * light_here

            for pixel in range(height):
                total = 0
                for row in range(pixel * samples, (pixel + 1) * samples):
                    total += sums[row]
                for channel in range(3):
                    value = (total >> 21 * channel) & 0x1FFFFF
                    frames[n, pixel, column, channel] = (value + scale // 2) // scale


@compiled
def _blend(colours: Integers, start: int, bits: int, u: int, v: int) -> int:
    """The texture of `2**bits` texels at (u, v), in 1/256 of a texel, between the four nearest ones."""
    last = (1 << bits) - 1
    u0, v0 = (u >> 8) & last, (v >> 8) & last
    u1, v1 = (u0 + 1) & last, (v0 + 1) & last
    right, down = u & 255, v & 255
    both = (right * down + 128) >> 8
    column, beside = start + (u0 << bits), start + (u1 << bits)
    colour = (
        colours[np.uint64(column + v0)] * (256 - right - down + both)
        + colours[np.uint64(column + v1)] * (down - both)
        + colours[np.uint64(beside + v0)] * (right - both)
        + colours[np.uint64(beside + v1)] * both
    )
    return ((colour + HALVES) >> 8) & BYTES  # type: ignore[no-any-return]


@compiled
def _size(bits: int, apart: float) -> int:
    """The texture size, as a power of two, for samples that lie `apart` texels of the largest size."""
    while apart > 1.4 and bits > 1:
        apart *= 0.5
        bits -= 1
    return bits
