"""Layouts: what every seed must give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from framedream.envs.maze.layout import PAINTINGS_PER_WALL, SIDES, WALL, Layout, TextureNumbers, draw_layout

TEXTURES = TextureNumbers(range(10), range(10, 16), range(16, 19), range(19, 30))


def reached_from_one_cell(free: NDArray[np.bool_]) -> int:
    """How many free cells can be walked to from the first one."""
    waiting = [tuple(np.argwhere(free)[0].tolist())]
    reached = set(waiting)
    while waiting:
        y, x = waiting.pop()
        for cell in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if free[cell] and cell not in reached:
                reached.add(cell)
                waiting.append(cell)
    return len(reached)


@pytest.fixture(scope="module")
def layouts() -> list[Layout]:
    return [draw_layout(seed, 17, TEXTURES) for seed in range(1000)]


def test_a_thousand_layouts_are_connected_and_closed(layouts: list[Layout]) -> None:
    for layout in layouts:
        assert reached_from_one_cell(layout.free) == layout.free.sum(), layout.seed
        border = np.ones((17, 17), bool)
        border[1:-1, 1:-1] = False
        assert not layout.free[border].any(), layout.seed


def test_layouts_differ_and_are_roomy(layouts: list[Layout]) -> None:
    assert len({layout.region.tobytes() for layout in layouts}) == len(layouts)
    part_free = np.array([layout.free.mean() for layout in layouts])
    assert part_free.min() > 0.2
    assert part_free.max() < 0.75
    assert 0.4 < part_free.mean() < 0.6


def test_layouts_have_rooms_and_corridors(layouts: list[Layout]) -> None:
    for layout in layouts[:200]:
        free = layout.free
        in_room = free[:-2, :-2] & free[2:, 2:] & free[:-2, 2:] & free[2:, :-2] & free[1:-1, 1:-1]
        assert in_room.sum() >= 2, layout.seed
        neighbours = np.array([np.roll(free, (dy, dx), (0, 1)) for dx, dy in SIDES]).sum(0)
        assert neighbours[free].min() >= 2, f"a dead end in layout {layout.seed}"
        straight = free & (neighbours == 2)
        assert straight.sum() >= 1, layout.seed


def test_one_texture_of_each_kind_per_region(layouts: list[Layout]) -> None:
    for layout in layouts[:100]:
        for texture, kind in zip((layout.wall, layout.floor, layout.ceiling), TEXTURES, strict=False):
            for number in range(1, int(layout.region.max()) + 1):
                found = set(texture[layout.region == number].tolist())
                assert len(found) <= 1 and found <= set(kind)


def test_paintings_hang_on_walls_and_are_rare(layouts: list[Layout]) -> None:
    hung, places = 0, 0
    for layout in layouts:
        for side, (dx, dy) in enumerate(SIDES):
            is_wall = np.roll(layout.region, (-dy, -dx), (0, 1)) == WALL
            place = layout.free & is_wall
            painted = layout.painting[..., side] >= 0
            assert not np.any(painted & ~place)
            np.testing.assert_array_equal((layout.around >> side & 1).astype(bool)[layout.free], is_wall[layout.free])
            hung, places = hung + int(painted.sum()), places + int(place.sum())
        assert set(layout.painting[layout.painting >= 0].tolist()) <= set(TEXTURES.paintings)
    assert abs(hung / places - PAINTINGS_PER_WALL) < 0.005


def test_a_seed_is_a_layout() -> None:
    for size in (7, 17, 31):
        one, other = draw_layout(5, size, TEXTURES), draw_layout(5, size, TEXTURES)
        assert one.region.shape == (size, size)
        for name in ("region", "wall", "floor", "ceiling", "painting", "around"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_clearance_is_the_distance_to_the_nearest_wall() -> None:
    layout = draw_layout(3, 9, TEXTURES)
    walls = np.argwhere(~layout.free)
    for x, y in np.random.default_rng(0).uniform(0, 9, (300, 2)):
        nearest = np.clip((x, y), walls[:, ::-1], walls[:, ::-1] + 1)
        distance = np.hypot(*(nearest - (x, y)).T).min()
        assert layout.clearance(x, y) == pytest.approx(min(distance, 1.0), abs=1e-12)
