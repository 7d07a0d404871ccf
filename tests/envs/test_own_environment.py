"""Environments by `module:function`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framedream.envs import make_environment
from framedream.envs.counting import read_count
from framedream.errors import UserError


def test_options_go_to_the_function_that_declares_them() -> None:
    environment = make_environment("small_environments:make_dot", length=8, actions="sideways", action_repeat=3)
    assert environment.action_space.n == 3
    environment.reset(seed=0)
    frames = [environment.step(1)[0] for _ in range(3)]
    assert [int(frame[0, 0, 0]) for frame in frames] == [3, 6, 8]


def test_frame_environments_pass_through() -> None:
    environment = make_environment("small_environments:make_counting", actions=5)
    assert environment.action_space.n == 5
    assert environment.palette is not None
    assert read_count(environment.reset(seed=7)[0]).seed == 7


def test_module_of_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_game.py").write_text(
        "from small_environments import DotEnvironment as Game\n\ndef make(): return Game()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tmp_path)])
    for name in ("my_own_game:make", "my_own_game:Game"):
        environment = make_environment(name)
        assert environment.reset(seed=0)[0].dtype == np.uint8
        assert len(environment.provenance()["source_sha256"]) == 64


def test_the_example_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    (tmp_path / "my_game.py").write_text(page.split("```python\n")[1].split("```")[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    environment = make_environment("my_game:make")
    frame, info = environment.reset(seed=0)
    assert frame[30, info["state"][0]].tolist() == [255, 255, 255]
    assert [environment.step(1)[2] for _ in range(200)] == [False] * 199 + [True]


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("no_such_module:make", {}, "No module named 'no_such_module'"),
        ("small_environments:make_dott", {}, "'make_dot'"),
        ("small_environments:PICTURE", {}, "give a function"),
        ("small_environments:make_number", {}, "returned a int"),
        ("small_environments:make_dot", dict(lenght=3), "'length'"),
        ("small_environments:make_dot", dict(rezise=[3, 3]), "'resize'"),
        ("small_environments:make_counting", dict(heigth=3), "could not be called"),
        ("small_environments:make_counting", dict(resize=[3, 3]), "leave out resize"),
        ("small_environments:BlindEnvironment", {}, "No observation of"),
        ("small_environments:FloatEnvironment", {}, "float32"),
        (":make", {}, "could not be loaded"),
        ("small_environments:", {}, "There is no function"),
    ],
)
def test_refusals_give_the_reason(name: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError) as refusal:
        make_environment(name, **options)
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_module_that_fails_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_broken_game.py").write_text("raise RuntimeError('the sound card is on fire')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(UserError, match="RuntimeError: the sound card is on fire"):
        make_environment("my_broken_game:make")
