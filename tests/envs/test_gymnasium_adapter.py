"""The adapter on small environments of every kind, and what it says about those that it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from small_environments import DotEnvironment

from framedream.envs import make_environment
from framedream.envs.area_average import area_average
from framedream.envs.discrete_actions import discrete_actions
from framedream.errors import UserError

GROUND = "gym:small_environments:"


def dot(frame: np.ndarray) -> tuple[int, int]:
    """Where the dot is."""
    rows, columns = np.nonzero(frame[..., 1] == 100)
    assert len(rows) == 1
    return int(rows[0]), int(columns[0])


def test_actions_start_at_zero_whatever_the_space_says() -> None:
    environment = make_environment(f"{GROUND}Dot-v0")
    frame, info = environment.reset(seed=1)
    row, column = dot(frame)
    for action, movement in ((2, 1), (2, 1), (1, 0), (0, -1)):
        frame, _, _, _, info = environment.step(action)
        row += movement
        assert dot(frame) == (row, column)
        assert info["state"].tolist() == [row, column]
        assert info["word"] == "dot"


def test_dict_shows_its_first_picture_or_the_one_asked_for() -> None:
    assert make_environment(f"{GROUND}Dict-v0").arguments["frame"] == "screen"
    cells = make_environment(f"{GROUND}Dict-v0", frame="cells")
    np.testing.assert_array_equal(cells.reset(seed=0)[0], np.ones((7, 7, 3), np.uint8))
    rendered = make_environment(f"{GROUND}Dict-v0", frame="render")
    assert dot(rendered.reset(seed=1)[0]) == dot(make_environment(f"{GROUND}Dict-v0").reset(seed=1)[0])


def test_rendering_is_what_remains() -> None:
    environment = make_environment(f"{GROUND}Rendered-v0")
    assert environment.arguments["frame"] == "render"
    frame, info = environment.reset(seed=1)
    assert dot(frame) == tuple(info["state"])
    said = make_environment(f"{GROUND}Rendered-v0", frame="render", make_arguments=dict(render_mode="rgb_array"))
    np.testing.assert_array_equal(said.reset(seed=1)[0], frame)


def test_grey_is_repeated_over_the_colours() -> None:
    frame, info = make_environment(f"{GROUND}Grey-v0").reset(seed=0)
    assert frame.shape == (20, 24, 3)
    assert frame[tuple(info["state"])].tolist() == [200, 200, 200]


def test_names_of_actions() -> None:
    assert make_environment(f"{GROUND}Grey-v0").action_meanings == ("up", "stay", "down")
    assert make_environment(f"{GROUND}Grey-v0", actions=[1, -1]).action_meanings == ("down", "up")
    assert make_environment("small_environments:renamed").action_meanings == ("up", "stay", "down")
    assert make_environment(f"{GROUND}Dot-v0").action_meanings == ("action -1", "action 0", "action 1")
    assert make_environment(f"{GROUND}Dot-v0", action_names=["a", "b", "c"]).action_meanings == ("a", "b", "c")


def test_crop_then_resize() -> None:
    whole = make_environment(f"{GROUND}Dot-v0")
    part = make_environment(f"{GROUND}Dot-v0", crop=(6, 2, 10, 20), resize=(5, 8))
    for seed in range(5):
        expected = area_average(whole.reset(seed=seed)[0][6:16, 2:22], 5, 8)
        np.testing.assert_array_equal(part.reset(seed=seed)[0], expected)


def test_repeats_stop_at_the_end_and_add_up() -> None:
    environment = make_environment(f"{GROUND}Dot-v0", action_repeat=4, make_arguments=dict(length=6))
    environment.reset(seed=0)
    frame, reward, terminated, _, _ = environment.step(1)
    assert (int(frame[0, 0, 0]), reward, terminated) == (4, 4.0, False)
    frame, reward, terminated, _, _ = environment.step(1)
    assert (int(frame[0, 0, 0]), reward, terminated) == (6, 2.0, True)


def test_declared_actions_of_a_continuous_space() -> None:
    environment = make_environment(
        f"{GROUND}Steered-v0", actions=[[1, 0], [-1, 0.5]], action_names=["down", "up and right"]
    )
    assert environment.action_meanings == ("down", "up and right")
    row, _ = dot(environment.reset(seed=0)[0])
    assert dot(environment.step(0)[0])[0] == row + 1
    assert make_environment(f"{GROUND}Steered-v0", actions=[[1, 0]]).action_meanings == ("[1.0, 0.0]",)


def test_declared_actions_of_a_dict_space() -> None:
    space = spaces.Dict(buttons=spaces.MultiBinary(2), turn=spaces.Box(-90, 90, (1,), np.float32))
    values = discrete_actions(space, [dict(buttons=[0, 1], turn=[24]), dict(turn=[-24.5], buttons=[0, 0])], "game")
    assert all(space.contains(value) for value in values)
    assert values[1]["turn"].tolist() == [-24.5]
    for wrong in ([dict(buttons=[0, 1])], [[0, 1]], [dict(buttons=[0, 2], turn=[0])]):
        with pytest.raises(UserError, match="does not lie"):
            discrete_actions(space, wrong, "game")


def test_a_choice_of_discrete_actions() -> None:
    environment = make_environment(f"{GROUND}Dot-v0", actions=[1, -1])
    row, _ = dot(environment.reset(seed=0)[0])
    assert dot(environment.step(0)[0])[0] == row + 1


def test_renders_with_what_pygame_draws() -> None:
    pytest.importorskip("pygame")
    assert make_environment("gym:CartPole-v1").reset(seed=0)[0].shape == (400, 600, 3)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("Float-v0", {}, "float32, but frames are bytes"),
        ("Float-v0", dict(frame="observation"), "float32, but frames are bytes"),
        ("Deceitful-v0", {}, "float64, but frames are bytes"),
        ("Steered-v0", {}, "declare the actions"),
        ("Steered-v0", dict(actions=[]), "no actions"),
        ("Steered-v0", dict(actions=[[2, 0]]), "does not lie in the action space"),
        ("Steered-v0", dict(actions=[[0]]), "does not lie in the action space"),
        ("Steered-v0", dict(actions=["left"]), "does not lie in the action space"),
        ("Dot-v0", dict(actions=[7]), "does not lie in the action space"),
        ("Dot-v0", dict(action_names=["up", "down"]), "3 actions but 2 action_names"),
        ("Dot-v0", dict(action_repeat=0), "give 1 or more"),
        ("Dot-v0", dict(crop=[0, 0, 21, 24]), "does not fit the 20×24 frames"),
        ("Dot-v0", dict(crop=[0, 0, 10]), "give top, left, height, width"),
        ("Dot-v0", dict(resize=[64]), "give height, width"),
        ("Dot-v0", dict(frame="screen"), "no frame of"),
        ("Dict-v0", dict(frame="sreen"), "'screen'"),
        ("Dict-v0", dict(frame="speed"), "float32"),
        ("Dot-v0", dict(rezise=[8, 8]), "'resize'"),
        ("Dot-v0", dict(make_arguments=dict(speed=3)), "could not be made with {'speed': 3}"),
        ("Blind-v0", {}, "could not be made"),
        ("Dott-v0", {}, "gym:small_environments:Dot-v0"),
    ],
)
def test_refusals_give_the_reason(name: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError) as refusal:
        make_environment(f"{GROUND}{name}", **options)
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_changing_shape_is_refused_when_it_changes() -> None:
    environment = make_environment(f"{GROUND}Growing-v0")
    environment.reset(seed=0)
    with pytest.raises(UserError, match="changed from"):
        for _ in range(6):
            environment.step(0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gym:CarRacng-v3", "'gym:CarRacing-v3'"),
        ("gym:CartPole-v99", "'gym:CartPole-v1'"),
        ("gym:no_such_package:Thing-v0", "make 'no_such_package' importable"),
        ("gym:", "There is no environment"),
    ],
)
def test_unknown_ids(name: str, expected: str) -> None:
    with pytest.raises(UserError) as refusal:
        make_environment(name)
    assert expected in str(refusal.value)


def test_missing_packages_are_named() -> None:
    from importlib.util import find_spec

    for name, package in (("gym:MiniGrid-Empty-8x8-v0", "minigrid"), ("gym:VizdoomBasic-v1", "vizdoom")):
        if find_spec(package) is None:
            with pytest.raises(UserError, match=f"pip install {package}"):
                make_environment(name)
    if find_spec("Box2D") is None:
        with pytest.raises(UserError, match="not installed"):
            make_environment("gym:CarRacing-v3")


def test_the_environments_own_buffer_is_copied() -> None:
    """The small environments draw every frame into one array; this test is about that being so."""
    inner = DotEnvironment()
    assert inner.reset(seed=0)[0] is inner.step(0)[0]
