"""What driving does: the controls, the truth in the state, rewards, cameras, tracks and cars, and how episodes end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from framedream.agents import make_policy
from framedream.envs.torcs.configuration import CAMERAS
from framedream.envs.torcs.environment import ACTIONS, TorcsEnvironment
from framedream.envs.torcs.state import Column, off_track

Make = Callable[..., TorcsEnvironment]
STRAIGHT, LEFT, RIGHT, NOTHING = range(4)


def repeat(environment: TorcsEnvironment, action: int, steps: int) -> list[np.ndarray]:
    """The states of so many steps."""
    return [environment.step(action)[-1]["state"] for _ in range(steps)]


def test_left_is_left_and_time_is_ticks(make: Make) -> None:
    environment = make(start=0.0, action_repeat=10)
    ends = []
    for action in (LEFT, STRAIGHT, RIGHT):
        _, info = environment.reset(seed=0)
        assert abs(info["state"][Column.TO_MIDDLE]) < 0.1
        states = repeat(environment, action, 20)
        steps = np.diff([state[Column.TIME] for state in states])
        np.testing.assert_allclose(steps, 0.2, atol=1e-4)
        ends.append(states[-1])
    left, straight, right = ends
    assert left[Column.TO_MIDDLE] > straight[Column.TO_MIDDLE] + 1 > right[Column.TO_MIDDLE] + 2
    assert left[Column.ANGLE] > straight[Column.ANGLE] + 0.1 > right[Column.ANGLE] + 0.2
    # 4 seconds on from a standstill: the physics' speed is the one at which the position changes.
    assert 5 < straight[Column.SPEED_FORWARD] < 30 and straight[Column.GEAR] >= 1 and straight[Column.ENGINE_RPM] > 1000


def test_rewards_are_the_metres_of_the_road(make: Make) -> None:
    """From 30 m before the start line over it, which the lap distance jumps at and the distance raced does not."""
    environment = make(start=-30.0)
    _, info = environment.reset(seed=0)
    begin, length = info["state"], environment._host.process.track_length
    assert info["state"][Column.DISTANCE_RACED] == 0
    assert begin[Column.LAP_DISTANCE] == pytest.approx(length - 30, abs=1)
    total, path = 0.0, 0.0
    for _ in range(70):
        _, reward, *_, info = environment.step(STRAIGHT)
        after = info["state"]
        path += float(np.hypot(*(after[[Column.X, Column.Y]] - begin[[Column.X, Column.Y]])))
        total, begin = total + reward, after
    assert total == pytest.approx(float(after[Column.DISTANCE_RACED]), abs=1e-3)
    assert 40 < total < 300
    # The road bends away from a car that only goes straight on.
    assert 0.9 * path < total < 1.01 * path
    assert after[Column.LAP_DISTANCE] == pytest.approx(total - 30, abs=1)
    assert after[Column.LAPS] == 1


def test_a_start_anywhere_is_taken_round_the_lap(make: Make) -> None:
    """TORCS itself hangs when it is told to start beyond the lap."""
    seen = []
    for start in (100.0, 100.0 + 2 * 2057.5593, 100.0 - 5 * 2057.5593, 1e6):
        environment = make(start=start)
        _, info = environment.reset(seed=0)
        seen.append(float(info["state"][Column.LAP_DISTANCE]))
        assert environment.step(STRAIGHT)[-1]["state"][Column.CAR_FLAGS] == 0
        environment.close()
    np.testing.assert_allclose(seen[:3], 100, atol=0.5)
    assert seen[3] == pytest.approx(1e6 % 2057.5593, abs=1)


@pytest.mark.parametrize(
    ("track", "car", "camera"),
    [("wheel-1", "155-DTM", "road"), ("e-track-5", "p406", "bonnet"), ("alpine-1", "car6-trb1", "chase")],
)
def test_tracks_cars_and_cameras(make: Make, track: str, car: str, camera: str) -> None:
    """`alpine-1` has a starting grid of its own, which must not overrule ours."""
    environment = make(track=track, car=car, camera=camera, start=200.0)
    frame, info = environment.reset(seed=0)
    assert info["state"][Column.LAP_DISTANCE] == pytest.approx(200, abs=1)
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 100, "there is something to see"
    states = repeat(environment, STRAIGHT, 30)
    assert states[-1][Column.SPEED_FORWARD] > 3
    assert np.mean(environment.step(STRAIGHT)[0] != frame) > 0.2


def test_the_three_views_differ_and_chase_has_settled(make: Make) -> None:
    frames = {}
    for camera in CAMERAS:
        environment = make(camera=camera, start=0.0)
        frames[camera], _ = environment.reset(seed=0)
        standing = environment.step(NOTHING)[0]
        # The car does not move: nor does the picture, beyond the engine's needle and its shaking.
        assert np.mean(np.abs(frames[camera].astype(int) - standing) > 20) < 0.02, camera
        environment.close()
    assert np.mean(frames["road"] != frames["bonnet"]) > 0.05
    assert np.mean(frames["road"] != frames["chase"]) > 0.2


def test_supersampling_is_the_mean_of_four(make: Make) -> None:
    fine, mean = make(height=96, width=128, start=50.0), make(supersample=2, start=50.0)
    for frame, expected in zip(play(mean), play(fine), strict=True):
        blocks = expected.reshape(48, 2, 64, 2, 3).astype(int).sum((1, 3))
        np.testing.assert_array_equal(frame, (blocks + 2) // 4)


def play(environment: TorcsEnvironment) -> list[np.ndarray]:
    frame, _ = environment.reset(seed=1)
    return [frame, *(environment.step(action)[0] for action in (0, 0, 1, 0, 2, 3, 0))]


@pytest.mark.parametrize(
    ("options", "action", "end", "within"),
    [
        (dict(stuck_limit=2.0), NOTHING, "stuck", 2.1),
        (dict(off_track_limit=1.0), LEFT, "off track", 12),
        (dict(wreck_damage=30, accelerate=1.0, off_track_limit=60.0), RIGHT, "wreck", 40),
        (dict(time_limit=1.0), STRAIGHT, "time limit", 1.1),
    ],
)
def test_how_episodes_end(make: Make, options: dict[str, Any], action: int, end: str, within: float) -> None:
    environment = make(start=0.0, action_repeat=10, **options)
    environment.reset(seed=0)
    for _ in range(round(within / 0.2) + 1):
        *_, terminated, truncated, info = environment.step(action)
        if terminated or truncated:
            break
        assert "end" not in info
    assert info["end"] == end
    assert (terminated, truncated) == (end != "time limit", end == "time limit")


def test_the_scripted_driver_stays_on_the_road(make: Make) -> None:
    states = drive(make(), seed=3, steps=250)
    assert not any(off_track(state) for state in states)
    assert states[-1][Column.DISTANCE_RACED] > 200


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(4))
def test_the_scripted_driver_completes_a_lap(make: Make, seed: int) -> None:
    environment = make(time_limit=190.0)
    states = drive(environment, seed, steps=2_000)
    assert states[-1][Column.DISTANCE_RACED] > environment._host.process.track_length
    assert not any(off_track(state) for state in states)


def drive(environment: TorcsEnvironment, seed: int, steps: int) -> list[np.ndarray]:
    """The scripted driver's states, until the episode ends."""
    policy = make_policy("scripted", environment)
    policy.begin(seed, len(ACTIONS))
    frame, info = environment.reset(seed=seed)
    states = [info["state"]]
    for _ in range(steps):
        frame, _, terminated, truncated, info = environment.step(policy.act(frame, info))
        states.append(info["state"])
        if terminated or truncated:
            break
    return states
