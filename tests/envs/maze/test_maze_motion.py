"""Turns, momentum and walls."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import make_layout

from framedream.envs.maze.dynamics import ACTIONS, Motion, States, advance
from framedream.envs.maze.environment import MazeEnvironment, starting_state

FORWARD, BACKWARD, LEFT, RIGHT, NOTHING = range(5)
HALL = make_layout(["#" * 30, *["#" + "." * 28 + "#"] * 5, "#" * 30])


def test_the_actions_have_their_names() -> None:
    assert ACTIONS == ("forward", "backward", "rotate left", "rotate right", "nothing")


def test_momentum() -> None:
    """Six steps forwards, then six without: speed grows towards 0.09 / (1 − 0.6) and fades."""
    states = [np.array([[3, 3, 0, 0, 0, 0]], np.float32)]
    for action in [FORWARD] * 6 + [NOTHING] * 6:
        states.append(advance(HALL.region[None], np.array([0]), states[-1], np.array([action]), Motion()))
    moved = np.diff(np.array([state[0, 0] for state in states]))
    expected, speed = [], 0.0
    for push in [0.09] * 6 + [0.0] * 6:
        speed = 0.6 * speed + push
        expected.append(speed)
    np.testing.assert_allclose(moved, expected, atol=1e-6)
    np.testing.assert_allclose(moved[[0, 5, 6, 11]], [0.09, 0.2145, 0.1287, 0.0100], atol=1e-4)
    backward = advance(HALL.region[None], np.array([0]), states[0], np.array([BACKWARD]), Motion())
    assert backward[0, 0] == pytest.approx(3 - 0.09, abs=1e-6)


def test_left_and_right_are_the_viewer_s(few: MazeEnvironment) -> None:
    """What was in the middle of the picture moves to the right when turning left, as many pixels as 24° are."""
    shift = round(24 * np.tan(np.radians(24)))
    for seed in range(6):
        before = few.reset(seed=seed)[0][24].astype(float)
        for action, way in ((LEFT, 1), (RIGHT, -1)):
            few.reset(seed=seed)
            after = few.step(action)[0][24].astype(float)
            columns = np.arange(21, 27)
            here, there = np.abs(after[columns + way * shift] - before[columns]).mean(), []
            for other in (-way * shift, 0):
                there.append(np.abs(after[columns + other] - before[columns]).mean())
            if min(there) > 20:  # the wall is not the same colour everywhere
                assert here < min(there)


@pytest.mark.parametrize("action", [LEFT, RIGHT])
def test_fifteen_turns_are_one_spin(few: MazeEnvironment, action: int) -> None:
    for seed in range(20):
        options = {"pose": (*few.reset(seed=seed)[1]["state"][:2], 0.1 * seed)} if seed % 2 else None
        first, info = few.reset(seed=seed, options=options)
        frames = [few.step(action)[0] for _ in range(15)]
        np.testing.assert_array_equal(frames[-1], first)
        np.testing.assert_array_equal(few._info()["state"][:5], info["state"][:5])
        assert len({frame.tobytes() for frame in frames}) == 15


def test_turning_inertia_coasts_to_the_same_angle() -> None:
    environment = MazeEnvironment(textures="few", turning_inertia=0.3)
    environment.reset(seed=0, options={"pose": (*environment.reset(seed=0)[1]["state"][:2], 0)})
    headings = [environment.step(RIGHT)[4]["state"][2] for _ in range(15)]
    assert headings[0] == pytest.approx(0.7 * 24)
    assert headings[-1] == pytest.approx(349.7, abs=0.05)
    for _ in range(30):
        info = environment.step(NOTHING)[4]
    assert info["state"][2] % 360 == pytest.approx(0, abs=1e-3) or info["state"][2] == pytest.approx(360, abs=1e-3)
    assert 0 <= info["state"][2] < 360


@pytest.mark.parametrize("wall", [(0, -1), (0, 1), (-1, 0), (1, 0)])
@pytest.mark.parametrize("action", [FORWARD, BACKWARD])
def test_sliding_along_a_wall(wall: tuple[int, int], action: int) -> None:
    """Half along a wall and half against it: what is against it stops, what is along it goes on."""
    hall = make_layout(["#" * 30, *["#" + "." * 28 + "#"] * 28, "#" * 30])
    to_wall, along = np.array(wall), np.array(wall)[::-1]
    way = np.degrees(np.arctan2(*(to_wall + 2 * along)[::-1])) + (180 if action == BACKWARD else 0)
    start = 15 + 13.6 * to_wall - 7 * along
    state = np.array([[*start, way % 360, 0, 0, 0]], np.float32)
    for _ in range(40):
        state = advance(hall.region[None], np.array([0]), state, np.array([action]), Motion())
    place, speed = state[0, :2].astype(float), state[0, 3:5].astype(float)
    assert place @ to_wall == (15 + 13.75 * to_wall) @ to_wall
    assert speed @ to_wall == 0
    assert speed @ along == pytest.approx(0.225 * 2 / np.sqrt(5), rel=1e-4)
    assert (place - start) @ along == pytest.approx(40 * (speed @ along), abs=0.5)


def test_sliding_around_a_corner() -> None:
    layout = make_layout(["########", "#......#", "#..#...#", "#......#", "########"])
    state = np.array([[1.5, 1.95, 0, 0, 0, 0]], np.float32)  # the pillar's upper left corner is a little to the right
    for _ in range(25):
        state = advance(layout.region[None], np.array([0]), state, np.array([FORWARD]), Motion())
    assert state[0, 0] > 5 and 1.25 <= state[0, 1] < 1.751


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("motion", [Motion(), Motion(0.049, 0.8, 7.0, 0.5)], ids=["default", "other"])
def test_nobody_is_ever_inside_a_wall(few: MazeEnvironment, motion: Motion, count: int) -> None:
    """A million steps, of random and of stubborn walkers; every position is checked against the walls around it."""
    agents, random = 1000, np.random.default_rng(0)
    layouts = [few.draw_layout(seed) for seed in range(count)]
    region, which = np.stack([layout.region for layout in layouts]), np.arange(agents) % count
    states: States = np.concatenate([starting_state(layouts[n], random.random(4)) for n in which])
    stubborn = random.random(agents) < 0.5
    visited = np.zeros_like(region, bool)
    actions = random.integers(5, size=agents)
    nearest = np.inf
    for _ in range(1000):
        again = random.random(agents) < np.where(stubborn, 0.9, 0.3)
        actions = np.where(again, actions, np.where(stubborn, random.integers(4, size=agents), random.integers(5)))
        states = advance(region, which, states, actions, motion)
        nearest = min(nearest, clearances(region, which, states).min())
        visited[which, states[:, 1].astype(int), states[:, 0].astype(int)] = True
    assert nearest > 0.25 - 1e-5
    assert visited.sum() > (0.2 if count == 20 else 0.05) * (region > 0).sum()  # they did get about


def clearances(region: np.ndarray, which: np.ndarray, states: States) -> np.ndarray:
    """Distance from each agent to the nearest wall cell among the nine around it."""
    x, y = states[:, 0].astype(float), states[:, 1].astype(float)
    nearest = np.full(len(states), np.inf)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            column, row = np.floor(x).astype(int) + dx, np.floor(y).astype(int) + dy
            distance = np.hypot(x - np.clip(x, column, column + 1), y - np.clip(y, row, row + 1))
            nearest = np.where(region[which, row, column] == 0, np.minimum(nearest, distance), nearest)
    return nearest
