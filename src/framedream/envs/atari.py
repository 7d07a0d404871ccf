"""Atari 2600 games, straight from the emulator: palette indices, no blending, no clipping, no stickiness.

As the paper's appendix has it: 210×160 frames, each action repeated four times and only the fourth frame seen.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from framedream.envs.area_average import area_average
from framedream.envs.atari_colours import palette_for
from framedream.envs.cut import Cut
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.errors import UserError, unknown_name

if TYPE_CHECKING:
    from ale_py import ALEInterface

PAPER_GAMES = (
    "freeway",
    "ms_pacman",
    "qbert",
    "seaquest",
    "space_invaders",
    "bowling",
    "breakout",
    "fishing_derby",
    "pong",
    "riverraid",
)
AGENT_VIEW = (84, 84)
MOST_NOOPS = 10_000


class AtariEnvironment(FrameEnvironment):
    """One game. `info` has `state` (the console's 128 bytes of RAM), `lives`, and `agent_view` where asked for.

    The emulator itself has no randomness. What a seed decides is the number of emulator frames, 0 to `noops`, that
    pass without input before the first frame.
    """

    def __init__(
        self,
        game: str,
        *,
        rgb: bool = False,
        max_pool: bool = False,
        agent_view: bool = False,
        full_actions: bool = False,
        action_repeat: int = 4,
        noops: int = 30,
        time_limit: int = 108_000,
        life_loss_ends: bool = False,
        crop: Sequence[int] | None = None,
        resize: Sequence[int] | None = None,
    ) -> None:
        if action_repeat < 1 or not 0 <= noops <= MOST_NOOPS or time_limit < 0:
            raise UserError(
                f"Atari needs action_repeat of 1 or more, noops of 0 to {MOST_NOOPS:,} and time_limit of 0 or more."
            )
        self.name = f"atari/{game}"
        self.arguments = dict(
            rgb=rgb,
            max_pool=max_pool,
            agent_view=agent_view,
            full_actions=full_actions,
            action_repeat=action_repeat,
            noops=noops,
            time_limit=time_limit,
            life_loss_ends=life_loss_ends,
            crop=crop and list(crop),
            resize=resize and list(resize),
        )
        self.action_repeat = action_repeat
        self._noops, self._life_loss_ends = noops, life_loss_ends
        self._rom = rom_path(game)
        self._emulator = emulator = load_emulator(self._rom, time_limit)
        # Resetting a game does not clear all of the console; with this, every episode starts from the same one.
        self._switched_on = emulator.cloneState()

        actions = emulator.getLegalActionSet() if full_actions else emulator.getMinimalActionSet()
        self._actions = tuple(actions)
        self.action_meanings = tuple(action.name for action in actions)
        self.action_space = spaces.Discrete(len(actions))

        height, width = emulator.getScreenDims()
        # The brighter of two palette colours, channel by channel, need not be in the palette: so pooled frames are RGB.
        self._pooled = LastTwo(emulator.getScreenRGB, (height, width, 3)) if max_pool else None
        self._agent_view = LastTwo(emulator.getScreenGrayscale, (height, width)) if agent_view else None
        # The mean of several colours, as of two pooled ones, need not be in the palette either.
        rgb = rgb or max_pool or resize is not None
        self._read = emulator.getScreenRGB if rgb else emulator.getScreen
        self.palette = None if rgb else palette_for(emulator.getScreen(), emulator.getScreenRGB())
        self._cut = Cut(crop, resize, (height, width, 3) if rgb else (height, width), self.name)
        self.observation_space = spaces.Box(0, 255, self._cut.shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        super().reset(seed=seed)
        self._start()
        for _ in range(int(self.np_random.integers(self._noops + 1))):
            self._emulator.act(0)
            if self._emulator.game_over():
                self._start()
        for view in (self._pooled, self._agent_view):
            if view is not None:
                view.begin()
        return self._frame(), self._info()

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        self.check_action(action)
        emulator, reward = self._emulator, 0
        for _ in range(self.action_repeat):
            reward += emulator.act(self._actions[action])
            if self._pooled is not None:
                self._pooled.see()
            if self._agent_view is not None:
                self._agent_view.see()
            terminated = emulator.game_over(with_truncation=False) or self._life_was_lost()
            if terminated or emulator.game_truncated():
                # The frame seen is the game's true last one, not one further on.
                break
        truncated = not terminated and emulator.game_truncated()
        return self._frame(), float(reward), terminated, truncated, self._info()

    def provenance(self) -> dict[str, Any]:
        rom = self._rom.read_bytes()
        return {
            "ale_py": version("ale_py"),
            "gymnasium": version("gymnasium"),
            "rom_md5": hashlib.md5(rom).hexdigest(),
            "rom_sha256": hashlib.sha256(rom).hexdigest(),
        }

    def _start(self) -> None:
        self._emulator.restoreState(self._switched_on)
        self._emulator.reset_game()
        self._lives = self._emulator.lives()

    def _life_was_lost(self) -> bool:
        return self._life_loss_ends and self._emulator.lives() < self._lives

    def _frame(self) -> Frame:
        return self._cut(self._pooled.brightest() if self._pooled is not None else self._read())

    def _info(self) -> dict[str, Any]:
        self._lives = self._emulator.lives()
        info = {"state": self._emulator.getRAM(), "lives": self._lives}
        if self._agent_view is not None:
            info["agent_view"] = area_average(self._agent_view.brightest(), *AGENT_VIEW)
        return info


class LastTwo:
    """The last two emulator frames: many games draw a sprite only on every other one."""

    def __init__(self, read: Callable[[Frame], None], shape: tuple[int, ...]) -> None:
        self._read = read
        self._before, self._last = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)

    def begin(self) -> None:
        self._read(self._last)
        self._before[:] = self._last

    def see(self) -> None:
        self._before, self._last = self._last, self._before
        self._read(self._last)

    def brightest(self) -> Frame:
        """Element by element, the higher of the two."""
        return np.maximum(self._before, self._last)


def load_emulator(rom: Path, time_limit: int = 0) -> ALEInterface:
    """The emulator with a game in it; `time_limit` in emulator frames, 0 for none."""
    from ale_py import ALEInterface, LoggerMode

    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.setInt("random_seed", 0)
    emulator.setInt("max_num_frames_per_episode", time_limit)
    emulator.setFloat("repeat_action_probability", 0.0)
    emulator.loadROM(rom)
    return emulator


def rom_path(game: str) -> Path:
    """The file of a game, or a UserError that names the nearest ones."""
    roms = playable_roms()
    if game not in roms:
        raise unknown_name("Atari game", f"atari/{game}", (f"atari/{rom}" for rom in roms), "framedream envs")
    return roms[game]


def playable_roms() -> dict[str, Path]:
    """Every game that the emulator accepts, by name."""
    try:
        from ale_py import ALEInterface, roms
    except ImportError as error:
        raise UserError("Atari games need the emulator: pip install 'framedream[atari]'.") from error
    folder = Path(os.environ.get("ALE_ROMS_DIR") or Path(roms.__file__).parent)
    # The emulator ends the whole program when it is given a file that it does not know, so it is asked first.
    return {rom.stem: rom for rom in sorted(folder.glob("*.bin")) if ALEInterface.isSupportedROM(rom)}
