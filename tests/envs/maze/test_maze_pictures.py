"""Textures, paintings, the map; and what is said when something is missing."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from framedream.envs.maze.environment import MazeEnvironment
from framedream.envs.maze.map_picture import WALL_COLOUR, map_picture
from framedream.envs.maze.textures import load_textures
from framedream.errors import UserError


def test_every_texture_is_different_and_none_is_flat() -> None:
    textures = load_textures("drawn")
    assert {len(numbers) > 5 for numbers in textures.numbers} == {True}
    everything = [number for numbers in textures.numbers for number in numbers]
    assert everything == list(range(len(textures.images)))
    for number, image in enumerate(textures.images):
        assert image.shape == (128, 128, 3) and image.dtype == np.uint8
        assert image.std() > 2, number
    shrunk = [image.reshape(8, 16, 8, 16, 3).mean((1, 3)) for image in textures.images]
    for kind in (textures.numbers.walls, textures.numbers.floors, textures.numbers.paintings):
        for number in kind:
            nearest = min(np.abs(shrunk[number] - shrunk[other]).mean() for other in kind if other != number)
            assert nearest > 2, number


def test_textures_repeat_without_a_seam() -> None:
    """The step from the last row or column to the first is no greater than the greatest one inside."""
    textures = load_textures("drawn")
    for kind in (textures.numbers.walls, textures.numbers.floors):
        for number in kind:
            image = textures.images[number].astype(float)
            for along in (0, 1):
                steps = np.abs(np.roll(image, -1, along) - image).mean((1 - along, 2))
                assert steps[-1] <= 1.5 * steps[:-1].max() + 4, (number, along)


def test_the_map_shows_walls_and_paths(few: MazeEnvironment) -> None:
    few.reset(seed=0)
    walk = np.array([few.step(action)[4]["state"] for action in [0, 0, 0, 2] * 40])
    bare, drawn = map_picture(few.layout, cell=12), map_picture(few.layout, [walk], cell=12)
    assert bare.shape == (17 * 12, 17 * 12, 3) and bare.dtype == np.uint8
    middles = bare[6::12, 6::12].astype(int)
    np.testing.assert_array_equal((middles == WALL_COLOUR).all(-1), ~few.layout.free)
    changed = np.abs(drawn.astype(int) - bare).max(-1) > 40
    from_end = np.hypot(*(walk[:, :2] - walk[-1, :2]).T)
    on_path = [changed[int(y * 12), int(x * 12)] for x, y in walk[from_end > 0.4][:, :2]]  # a ring is white inside
    assert len(on_path) > 20 and all(on_path)
    far = np.hypot(*(np.argwhere(changed)[:, None, ::-1] / 12 - walk[None, :, :2]).transpose(2, 0, 1)).min(1)
    assert far.max() < 0.4


def run(program: str, **surroundings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=os.environ | surroundings, capture_output=True, text=True, check=False)


def test_without_numba_it_is_said_what_to_install() -> None:
    program = "import sys; sys.modules['numba'] = None; from framedream.envs import make_environment as m; m('maze')"
    assert "UserError: The mazes need numba: pip install 'framedream[maze]'" in run(program).stderr


@pytest.mark.skipif(importlib.util.find_spec("labmaze") is not None, reason="labmaze is installed")
def test_without_labmaze_it_is_said_what_to_install() -> None:
    with pytest.raises(UserError, match="pip install labmaze"):
        MazeEnvironment(textures="labmaze")


@pytest.mark.skipif(importlib.util.find_spec("labmaze") is None, reason="needs labmaze")
def test_labmaze_textures() -> None:
    frame, _ = MazeEnvironment(textures="labmaze").reset(seed=0)
    assert frame.std() > 10


@pytest.mark.slow
def test_the_first_use_says_that_it_compiles_and_the_second_does_not(tmp_path: Path) -> None:
    program = "from framedream.envs import make_environment as m; m('maze', textures='few').reset(seed=0)"
    first, second = (run(program, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stderr.count("compiling the maze renderer, once") == 1 and first.returncode == 0
    assert second.stderr == "" and second.returncode == 0
