"""Balls and paddles: in drawn frames, in the real games, in predictions of known quality."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from framedream.evaluation.bootstrap import EpisodeBootstrap
from framedream.evaluation.objects import OBJECTS, GameObject, locate, objects_of, ram_places
from framedream.evaluation.tracking import Tracking

PONG = {thing.name: thing for thing in OBJECTS["atari/pong"]}


def drawn(thing: GameObject, row: int, column: int, strength: float = 1.0) -> Tensor:
    """A playing field (3, H, W) with one object whose upper left corner is at (row, column)."""
    background, colour = (torch.tensor(rgb)[:, None, None] / 255 for rgb in (thing.background, thing.colour))
    frame = background.expand(3, 210, 160).clone()
    height, width = thing.size
    frame[:, row : row + height, column : column + width] = background + strength * (colour - background)
    return frame


@pytest.mark.parametrize("name", ["ball", "player", "opponent"])
@pytest.mark.parametrize("strength", [1.0, 0.6])
def test_a_drawn_object_is_found_where_it_was_drawn(name: str, strength: float) -> None:
    thing = PONG[name]
    top, bottom, left, right = thing.field
    generator = np.random.default_rng(0)
    corners = [(top, left), (bottom - thing.size[0], right - thing.size[1])]
    corners += [
        (int(generator.integers(top, bottom - thing.size[0])), int(generator.integers(left, right - thing.size[1])))
        for _ in range(20)
    ]
    places = locate(torch.stack([drawn(thing, *corner, strength) for corner in corners]), thing)
    assert places.seen.all()
    middles = torch.tensor(corners) + (torch.tensor(thing.size) - 1) / 2
    torch.testing.assert_close(torch.stack([places.row, places.column], 1), middles, atol=0.05, rtol=0)


def test_an_object_is_seen_only_when_it_is_there() -> None:
    ball, opponent = PONG["ball"], PONG["opponent"]
    frames = torch.stack([drawn(ball, 100, 80, 0.0), drawn(ball, 100, 80, 0.3), drawn(opponent, 100, 16)])
    assert not locate(frames, ball).seen.any()
    # The lines above and below the field have the ball's colour.
    lines = drawn(ball, 100, 80, 0.0)
    lines[:, 24:34] = lines[:, 194:210] = 236 / 255
    assert not locate(lines[None], ball).seen.any()


def test_a_blurred_ball_is_at_its_centre_of_gravity() -> None:
    ball = PONG["ball"]
    frame = 0.5 * drawn(ball, 100, 80) + 0.5 * drawn(ball, 102, 81)
    places = locate(frame[None], ball)
    assert places.seen.all()
    assert float(places.row) == pytest.approx(102.5, abs=0.3)
    assert float(places.column) == pytest.approx(81.0, abs=0.3)


@pytest.mark.parametrize("game", ["pong", "breakout"])
def test_colours_and_memory_of_the_real_games_agree(game: str) -> None:
    pytest.importorskip("ale_py")
    from framedream.agents import make_policy
    from framedream.envs import make_environment

    environment = make_environment(f"atari/{game}")
    policy = make_policy("epsilon:0.2:scripted", environment)
    frame, info = environment.reset(seed=1)
    policy.begin(1, int(environment.action_space.n))
    frames, states = [], []
    for _ in range(300):
        frame, _, terminated, truncated, info = environment.step(policy.act(frame, info))
        frames.append(environment.rgb(frame))
        states.append(info["state"])
        assert not terminated and not truncated
    environment.close()
    pictures = torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2) / 255
    for thing in objects_of(f"atari/{game}", (210, 160)):
        places = locate(pictures, thing)
        assert places.seen.float().mean() > 0.5
        for found, remembered in zip((places.row, places.column), ram_places(np.stack(states), thing), strict=True):
            if remembered is not None:
                apart = np.abs(found.numpy() - remembered)[places.seen.numpy()]
                # Some frames show a paddle where it was a moment before, or half of it at the field's edge.
                assert np.median(apart) <= 1
                assert (apart <= 4).mean() > 0.85


def test_shares_over_an_evaluation() -> None:
    ball = PONG["ball"]
    tracking = Tracking((ball,), ("model",), sequences=4, horizon=1)
    here, elsewhere, nowhere = drawn(ball, 100, 80), drawn(ball, 100, 86), drawn(ball, 0, 0, 0.0)
    real = torch.stack([here, here, here, nowhere])
    predicted = torch.stack([here, elsewhere, nowhere, here])
    states = np.zeros((4, 128), np.uint8)
    states[:, 54], states[:, 49] = 114, 129  # 101.5 and 80.5, its middle
    states[1, 49] = 200
    tracking.add(slice(0, 4), 0, real, {"model": predicted}, states)
    (curve,) = tracking.results(EpisodeBootstrap([0, 1, 2, 3]))
    assert curve.near.mean == pytest.approx((1 / 3,))
    assert curve.distance.mean == pytest.approx((3.0,), abs=0.01)
    assert curve.imagined.mean == (1.0,)
    assert curve.ram_agreement == pytest.approx(2 / 3)


def test_frames_of_another_size_have_no_known_objects() -> None:
    assert objects_of("atari/pong", (105, 80)) == ()
    assert objects_of("counting", (210, 160)) == ()
