"""What is seen, against an independent calculation, and always the same."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hand_made import BLUE, GREEN, GREY, RED, YELLOW, make_layout, make_plain_view, plain
from numpy.typing import NDArray

from framedream.envs.maze.camera import make_camera
from framedream.envs.maze.dynamics import Motion
from framedream.envs.maze.environment import MazeEnvironment
from framedream.envs.maze.layout import Layout
from framedream.envs.maze.mipmaps import pack_textures
from framedream.envs.maze.vector import MazeVector

PILLARS = make_layout(
    [
        "###########",
        "#....#....#",
        "#....#....#",
        "#.........#",
        "#....#....#",
        "##.#####.##",
        "#....#....#",
        "#.#..#..#.#",
        "#.........#",
        "#....#....#",
        "###########",
    ]
)
Picture = NDArray[np.float64]
ROOM = make_layout(["#######", *["#.....#"] * 5, "#######"])
COLOURS = [plain(colour) for colour in (RED, GREEN, BLUE, GREY, YELLOW)]


def seen_by_boxes(layout: Layout, pose: list[float], size: tuple[int, int], shadow: NDArray[np.int64]) -> Picture:
    """The picture by intersecting every ray with every wall as a box, with the brightness of distances and shadows."""
    (x, y, heading), (height, width) = pose, size
    angle = math.radians(heading)
    ahead, right = np.array([math.cos(angle), math.sin(angle)]), np.array([-math.sin(angle), math.cos(angle)])
    walls = np.argwhere(~layout.free)[:, ::-1]
    picture = np.zeros((height, width, 3))
    for column in range(width):
        ray = ahead + right * ((2 * column + 1) / width - 1)
        with np.errstate(divide="ignore"):
            entries, exits = (walls - (x, y)) / ray, (walls + 1 - (x, y)) / ray
        near, far = np.minimum(entries, exits), np.maximum(entries, exits)
        hit = (near.max(1) < far.min(1)) & (near.max(1) > 0)
        first = np.where(hit, near.max(1), np.inf).argmin()
        distance = near[first].max()
        east_or_west = near[first].argmax() == 0
        for row in range(height):
            down = (2 * row + 1 - height) / width
            reach = 0.5 / abs(down)
            if reach >= distance:
                light = (220 / 256 if east_or_west else 1) / (1 + 0.012 * distance**2)
                light *= shadows(layout, (x, y) + (distance - 1e-9) * ray, shadow, (1,) if east_or_west else (0,))
                colour = RED
            else:
                light = shadows(layout, (x, y) + reach * ray, shadow, (0, 1)) / (1 + 0.012 * reach**2)
                cell = np.floor((x, y) + reach * ray).astype(int).sum() % 2
                colour = ((GREEN, BLUE) if down > 0 else (GREY, YELLOW))[cell]
            picture[row, column] = np.array(colour) * light
    return picture


def shadows(layout: Layout, place: NDArray[np.float64], shadow: NDArray[np.int64], axes: tuple[int, ...]) -> float:
    """The brightness left by the walls beside the cell of `place`, along each of the axes."""
    light, cell = 1.0, np.floor(place).astype(int)
    for axis in axes:
        for step in (-1, 1):
            beside = cell + np.eye(2, dtype=int)[axis] * step
            if not layout.free[beside[1], beside[0]]:
                distance = place[axis] - cell[axis] if step < 0 else cell[axis] + 1 - place[axis]
                light *= shadow[min(int(distance * 64), 63)] / 256
    return light


@pytest.mark.parametrize("size", [(24, 24), (14, 40)])
@pytest.mark.parametrize("shadow", [np.full(64, 256), np.linspace(60, 256, 64).astype(np.int64)], ids=["none", "long"])
def test_geometry_distances_and_shadows(size: tuple[int, int], shadow: NDArray[np.int64]) -> None:
    view = make_plain_view(*size, COLOURS)
    mazes = MazeVector([PILLARS], replace(view, camera=view.camera._replace(edge_light=shadow)), Motion())
    random = np.random.default_rng(0)
    free = np.argwhere(PILLARS.free)
    for _ in range(20):
        y, x = free[random.integers(len(free))] + random.uniform(0.25, 0.75, 2)
        heading = random.choice([0.0, 90.0, 180.0, 270.0, random.uniform(0, 360)])
        state = np.array([[x, y, heading, 0, 0, 0]], np.float32)
        seen = mazes.frames(state, [0])[0].astype(float)
        expected = seen_by_boxes(PILLARS, state[0, :3].tolist(), size, shadow)
        # Brightness is cut to 1/256 for each shadow, which is read in steps; a sample exactly between two surfaces may
        # fall either way.
        wrong = np.abs(seen - expected).max(2) > 4.0
        assert wrong.sum() <= 1, (state, np.argwhere(wrong))


@pytest.mark.parametrize("heading", [0, 90, 180, 270])
def test_textures_are_the_right_way_round(heading: int) -> None:
    image = plain((200, 0, 0))
    image[:, 64:] = (0, 0, 200)
    image[:64, :, 1] = 200
    mazes = MazeVector([ROOM], make_plain_view(48, 48, [image, *COLOURS[1:]]), Motion())
    # Half a cell from the wall and facing it, the picture is one cell of wall, ceiling to floor.
    middle = np.array([3.5, 3.5]) + 2.0 * np.array([math.cos(math.radians(heading)), math.sin(math.radians(heading))])
    seen = mazes.frames(np.array([[*middle, heading, 0, 0, 0]], np.float32))[0].astype(int)
    left, right = seen[14:34, 2:20], seen[14:34, 28:46]
    assert np.all(left[..., 0] > left[..., 2] + 50) and np.all(right[..., 2] > right[..., 0] + 50)
    assert np.all(seen[2:20, 18:30, 1] > 100) and np.all(seen[28:46, 18:30, 1] < 50)


@pytest.mark.parametrize(("side", "heading"), [(0, 270), (1, 90), (2, 180), (3, 0)])
def test_a_painting_hangs_in_the_middle_of_its_wall(side: int, heading: int) -> None:
    picture = plain((0, 200, 0))
    picture[:, :64] = (200, 200, 0)
    layout = make_layout(["#####", *["#...#"] * 3, "#####"])
    along = np.array([math.cos(math.radians(heading)), math.sin(math.radians(heading))])
    x, y = (np.array([2.5, 2.5]) + along).tolist()  # half a cell from the wall, which fills the picture
    layout.painting[int(y), int(x), side] = 5
    mazes = MazeVector([layout], make_plain_view(48, 48, [*COLOURS, picture]), Motion())
    seen = mazes.frames(np.array([[x, y, heading, 0, 0, 0]], np.float32))[0].astype(int)
    np.testing.assert_array_equal(seen[24, [4, 43], 1], 0)  # bare wall on both sides
    assert seen[24, 15, 0] > 100 and seen[24, 15, 1] > 100
    assert seen[24, 33, 0] == 0 and seen[24, 33, 1] > 100
    for turned in (90, 180, 270):
        away = mazes.frames(np.array([[x, y, (heading + turned) % 360, 0, 0, 0]], np.float32))[0].astype(int)
        np.testing.assert_array_equal(away[22:26, :, 1], 0)


def test_supersampling_is_the_mean_of_samples() -> None:
    coarse = MazeEnvironment(textures="few", samples=2)
    fine = MazeEnvironment(textures="few", samples=1, height=96, width=96)
    for seed in range(10):
        blocks = fine.reset(seed=seed)[0].reshape(48, 2, 48, 2, 3).astype(float)
        difference = np.abs(coarse.reset(seed=seed)[0] - blocks.mean((1, 3)))
        assert difference.max() <= 0.76  # each fine pixel is rounded, and the mean once more


def test_corners_and_edges_are_darker() -> None:
    view = make_plain_view(48, 48, COLOURS)
    shaded = replace(view, camera=make_camera(48, 48, 1))
    state = np.array([[2.5, 2.5, 225, 0, 0, 0]], np.float32)
    bright = MazeVector([ROOM], view, Motion()).frames(state)[0].astype(int)
    dark = MazeVector([ROOM], shaded, Motion()).frames(state)[0].astype(int)
    assert np.all(dark <= bright)
    assert dark[24, 24].sum() < 0.8 * bright[24, 24].sum()  # the corner straight ahead
    np.testing.assert_array_equal(dark[24, 4], bright[24, 4])  # the middle of a wall


def test_every_texture_keeps_its_brightness_at_every_size() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (2, 128, 128, 3), np.uint8)
    texels = pack_textures(noise)
    start = [*texels.start.tolist(), texels.each]
    for texture in range(2):
        colours = texels.colours[texture * texels.each : (texture + 1) * texels.each]
        for channel in range(3):
            values = (colours >> 21 * channel & 255).astype(float)
            power = [np.sqrt((values[a:b] ** 2).mean()) for a, b in pairwise(start)]
            assert np.ptp(power) < 1.0
    first = texels.colours[: 128 * 128].reshape(128, 128)  # columns first
    np.testing.assert_array_equal(first >> 42, noise[0, :, :, 2].T)


def test_agents_outside_are_refused() -> None:
    mazes = MazeVector([ROOM], make_plain_view(8, 8, COLOURS), Motion())
    inside = np.array([[3.5, 3.5, 0, 0, 0, 0]], np.float32)
    for wrong in (np.nan, -1.0, 7.5):
        state = inside.copy()
        state[0, 0] = wrong
        with pytest.raises(ValueError, match="outside"):
            mazes.frames(state)
        with pytest.raises(ValueError, match="outside"):
            mazes.step(state, [0])
    for which in ([1], [-1]):
        with pytest.raises(ValueError, match="outside"):
            mazes.frames(inside, which)
    for states, actions in ((inside, [5]), (inside, [-1]), (inside, [0, 0]), (inside[0], [0])):
        with pytest.raises(ValueError):
            mazes.step(states, actions)
