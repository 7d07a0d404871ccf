"""A maze from above, with the paths that were walked in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from framedream.envs.frame_environment import Frame
from framedream.envs.maze.layout import SIDES, Layout

WALL_COLOUR = (52, 58, 70)
FLOOR_COLOURS = ((246, 243, 236), (235, 240, 246), (238, 244, 234), (246, 238, 240), (242, 239, 247))
PAINTING_COLOUR = (226, 160, 40)
PATH_COLOURS = ((29, 111, 184), (214, 72, 50), (38, 145, 88), (140, 76, 178), (200, 140, 20))
OVERSIZE = 4
"""Drawn this much larger, then reduced, so that lines are smooth."""
LINE, START, END = 0.09, 0.17, 0.24
"""Half the width of a path, and the radii of its ends, in cells."""


def map_picture(layout: Layout, paths: Sequence[ArrayLike] = (), cell: int = 16) -> Frame:
    """RGB, `cell` pixels per cell, north up. A path is rows that begin with x and y; it runs from a dot to a ring."""
    from PIL import Image, ImageDraw

    scale = cell * OVERSIZE
    size = len(layout.region)
    picture = Image.new("RGB", (size * scale, size * scale), WALL_COLOUR)
    draw = ImageDraw.Draw(picture)
    for y, x in np.argwhere(layout.free).tolist():
        colour = FLOOR_COLOURS[int(layout.region[y, x]) % len(FLOOR_COLOURS)]
        draw.rectangle((x * scale, y * scale, (x + 1) * scale - 1, (y + 1) * scale - 1), colour)
        for side, (dx, dy) in enumerate(SIDES):
            if layout.painting[y, x, side] >= 0:
                middle = ((x + 0.5 + 0.44 * dx) * scale, (y + 0.5 + 0.44 * dy) * scale)
                half = (scale * (0.06 + 0.24 * abs(dy)), scale * (0.06 + 0.24 * abs(dx)))
                corners = [(middle[0] - half[0], middle[1] - half[1]), (middle[0] + half[0], middle[1] + half[1])]
                draw.rectangle(corners, PAINTING_COLOUR)
    for number, path in enumerate(paths):
        colour = PATH_COLOURS[number % len(PATH_COLOURS)]
        points = [(x * scale, y * scale) for x, y in np.asarray(path, np.float64)[:, :2].tolist()]
        draw.line(points, colour, round(2 * LINE * scale), joint="curve")
        draw.circle(points[0], START * scale, colour)
        draw.circle(points[-1], END * scale, (255, 255, 255), colour, round(LINE * scale))
    return np.array(picture.resize((size * cell, size * cell), Image.Resampling.BOX))
