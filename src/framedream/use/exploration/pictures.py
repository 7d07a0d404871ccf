"""The walks of all explorers side by side on the map, as in the paper's figure."""

from __future__ import annotations

from collections.abc import Sequence

from framedream.envs.maze.map_picture import map_picture
from framedream.pictures.layout import Picture, captioned, grid
from framedream.use.exploration.experiment import Explored
from framedream.use.exploration.world import World

MOST_MAZES = 4
CELL = 16


def paths_picture(world: World, explored: Sequence[Explored]) -> Picture:
    """A row for each of the first mazes, of the first walk in it; a column for each explorer."""
    pictures = []
    for maze, layout in enumerate(world.mazes.layouts[:MOST_MAZES]):
        walk = int((world.which == maze).argmax())
        for one in explored:
            explorer = one.explorer
            caption = f"{explorer.name}: {explorer.cells[walk]} of {world.free_cells[walk]} cells"
            pictures.append(captioned(map_picture(layout, [one.walks.places[walk]], CELL), caption))
    return grid(pictures, columns=len(explored))
