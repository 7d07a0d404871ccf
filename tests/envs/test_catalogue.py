"""What `framedream envs` lists, and what it costs to ask."""

from __future__ import annotations

import builtins
import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest

from framedream.envs import catalogue, list_environments, make_environment
from framedream.envs.atari import PAPER_GAMES
from framedream.errors import UserError


def test_everything_listed_can_be_made() -> None:
    entries = {entry.name: entry for entry in list_environments()}
    assert len(entries) == len(list_environments())
    for name in ("counting", "gym:ID", "module:function", *(f"atari/{game}" for game in PAPER_GAMES)):
        assert entries[name].available
        assert entries[name].summary
    for name in entries:
        if name.startswith("atari/a"):
            make_environment(name).close()


def test_command_prints_json() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "framedream", "envs", "--json"], capture_output=True, text=True, check=True
    )
    rows = json.loads(finished.stdout)
    assert {"name", "family", "summary", "available", "install"} <= set(rows[0])
    assert [row["name"] for row in rows] == [entry.name for entry in list_environments()]


def test_nothing_heavy_is_imported_for_a_name() -> None:
    code = (
        "import sys; from framedream.envs import make_environment; make_environment('counting');"
        "print(*({'torch', 'ale_py', 'numba', 'PIL', 'matplotlib'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == ""


def test_without_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where the extra was not installed: importing it fails."""
    real_import, real_find = builtins.__import__, importlib.util.find_spec

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "ale_py":
            raise ImportError("No module named 'ale_py'")
        return real_import(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(
        catalogue.importlib.util, "find_spec", lambda name: None if name == "ale_py" else real_find(name)
    )
    entries = {entry.name: entry for entry in list_environments()}
    assert not entries["atari/pong"].available
    assert entries["atari/pong"].install == "pip install 'framedream[atari]'"
    with pytest.raises(UserError, match=r"pip install 'framedream\[atari\]'"):
        make_environment("atari/pong")
