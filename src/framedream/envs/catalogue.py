"""What exists: the list behind `framedream envs`."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True)
class EnvironmentEntry:
    """One line of the list."""

    name: str
    family: str
    summary: str
    available: bool = True
    install: str | None = None
    """The command that makes it available, where it is not."""


def list_environments() -> list[EnvironmentEntry]:
    """Every environment by name; `gym:ID` and `module:function` stand for what they accept."""
    return [
        EnvironmentEntry("counting", "test", "a fake whose frames spell out seed, step and action"),
        *atari_entries(),
        maze_entry(),
        torcs_entry(),
        EnvironmentEntry("gym:ID", "gymnasium", "any Gymnasium id that shows images, such as gym:CarRacing-v3"),
        EnvironmentEntry("module:function", "own", "your own: a Python function that returns a gymnasium.Env"),
    ]


def maze_entry() -> EnvironmentEntry:
    """The mazes, drawn by compiled code."""
    installed = importlib.util.find_spec("numba") is not None
    return EnvironmentEntry(
        "maze",
        family="maze",
        summary="a walk through rooms and corridors seen from inside, as in the paper's 3D mazes",
        available=installed,
        install=None if installed else "pip install 'framedream[maze]'",
    )


def torcs_entry() -> EnvironmentEntry:
    """The racing simulator of the system's packages."""
    from framedream.envs.torcs.installation import install_line, is_installed

    installed = is_installed()
    return EnvironmentEntry(
        "torcs",
        family="torcs",
        summary="a race car on any of TORCS' tracks, seen from inside, as in the paper's 3D car racing",
        available=installed,
        install=None if installed else install_line(),
    )


def atari_entries() -> list[EnvironmentEntry]:
    """The paper's ten games first, then the others that the installed emulator can play."""
    from framedream.envs.atari import PAPER_GAMES, playable_roms

    installed = importlib.util.find_spec("ale_py") is not None
    games = list(PAPER_GAMES)
    if installed:
        games += [game for game in playable_roms() if game not in PAPER_GAMES]
    return [
        EnvironmentEntry(
            name=f"atari/{game}",
            family="atari",
            summary=game.replace("_", " ").title() + (", in the paper" if game in PAPER_GAMES else ""),
            available=installed,
            install=None if installed else "pip install 'framedream[atari]'",
        )
        for game in games
    ]
