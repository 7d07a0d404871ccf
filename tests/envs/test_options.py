"""Options as people write them: what has the wrong type is refused by name, before an environment stumbles over it."""

from __future__ import annotations

from typing import Any

import pytest

from framedream.envs import make_environment
from framedream.errors import UserError


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("atari/pong", dict(rgb="yes"), "option rgb of atari/pong must be true or false, not 'yes'"),
        ("atari/pong", dict(rgb=1), "true or false, not 1"),
        ("atari/pong", dict(action_repeat="two"), "a whole number, not 'two'"),
        ("atari/pong", dict(action_repeat=1.5), "a whole number, not 1.5"),
        ("atari/pong", dict(action_repeat=True), "a whole number, not True"),
        ("atari/pong", dict(noops=10**9), "noops of 0 to"),
        ("atari/pong", dict(crop=3), "a list of whole numbers, not 3"),
        ("atari/pong", dict(crop="abcd"), "a list of whole numbers, not 'abcd'"),
        ("atari/pong", dict(resize=[1.5, 5]), "a list of whole numbers"),
        ("atari/pong", dict(resize=[100_000, 100_000]), "give height, width, each 1 to"),
        ("maze", dict(textures=3), "option textures of maze must be text, not 3"),
        ("maze", dict(turn="left"), "a number, not 'left'"),
        ("gym:small_environments:Dot-v0", dict(make_arguments="fast"), "must be a JSON object, not 'fast'"),
        ("gym:small_environments:Dot-v0", dict(actions="up"), "must be a list, not 'up'"),
        ("gym:small_environments:Dot-v0", dict(action_names=[1, 2, 3]), "must be a list of texts"),
        ("small_environments:make_dot", dict(resize=20), "must be a list of whole numbers, not 20"),
        ("small_environments:make_dot", dict(frame=3), "must be text, not 3"),
        ("maze", dict(maze_size=100_001), "an odd maze_size of 7 to 501"),
        ("maze", dict(height=1_000_000), "height and width of 8 to 2,048"),
        ("counting", dict(shortest=1, longest=1), "2 ≤ shortest ≤ longest"),
        ("counting", dict(width=5), "a width of 6 or more"),
        ("counting", dict(actions=0), "1 to 255 actions"),
    ],
)
def test_refused_in_one_sentence(name: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError) as refusal:
        make_environment(name, **options)
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_json_and_python_write_is_accepted() -> None:
    maze = make_environment("maze", turn=30, height=24, width=24)
    assert maze.arguments["turn"] == 30
    for crop in ([0, 0, 20, 30], (0, 0, 20, 30), None):
        shape = make_environment("atari/pong", crop=crop).observation_space.shape
        assert shape == ((210, 160) if crop is None else (20, 30))
