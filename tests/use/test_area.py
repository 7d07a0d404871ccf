"""Cells visited: which count, and when."""

from __future__ import annotations

import numpy as np
import pytest
from maze_runs import small_mazes

from framedream.use.exploration.area import cells_visited, share_at_walls
from framedream.use.exploration.world import make_world


def counts(*points: tuple[float, float]) -> list[int]:
    return cells_visited(np.array([points], np.float32))[0].tolist()


def test_a_walk_through_a_corridor() -> None:
    """Two steps in the first cell, then three cells, back, and a fifth cell around the corner."""
    walk = [(1.5, 1.5), (1.7, 1.5), (2.1, 1.5), (3.4, 1.4), (2.9, 1.5), (1.9, 1.5), (1.9, 2.2)]
    assert counts(*walk) == [1, 1, 2, 3, 3, 3, 4]


def test_an_edge_is_in_no_cell() -> None:
    assert counts((1.5, 1.5), (2.0, 1.5), (1.5, 2.0), (2.0, 2.0)) == [1, 1, 1, 1]
    assert counts((2.0, 1.5), (2.01, 1.5)) == [0, 1]


def test_cells_of_one_column_or_row_differ() -> None:
    assert counts((1.5, 2.5), (2.5, 1.5), (1.5, 1.5), (2.5, 2.5)) == [1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(5))
def test_many_walks_are_counted_like_sets(seed: int) -> None:
    places = np.random.default_rng(seed).uniform(1, 6, size=(4, 80, 6)).astype(np.float32)
    expected = [
        [len({(int(x), int(y)) for x, y in walk[: step + 1, :2].tolist()}) for step in range(80)] for walk in places
    ]
    np.testing.assert_array_equal(cells_visited(places), expected)


def test_walls_are_touched_by_the_rim() -> None:
    """In the middle of cells, then pressed against the outer wall."""
    world = make_world(small_mazes(), 1, 1, seed=0)
    row, column = np.argwhere(world.mazes.layouts[0].free[:, 1:2])[0] + (0, 1)
    places = np.array([[(column + aside, row + 0.5, 0, 0, 0, 0) for aside in (0.5, 0.3, 0.26, 0.25)]], np.float32)
    assert share_at_walls(world, places) == 0.5
