"""Atari against the emulator's own Gymnasium interface, and against itself at single emulator frames."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from framedream.envs import FrameEnvironment, make_environment
from framedream.envs.area_average import area_average
from framedream.envs.atari import PAPER_GAMES, load_emulator, playable_roms
from framedream.envs.atari_colours import LUMINANCE, palette_for
from framedream.errors import UserError


def random_actions(environment: FrameEnvironment, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    while True:
        yield int(random.integers(environment.action_space.n))


@pytest.mark.parametrize("game", PAPER_GAMES)
def test_indices_through_the_palette_are_the_emulators_colours(game: str) -> None:
    indexed, coloured = make_environment(f"atari/{game}"), make_environment(f"atari/{game}", rgb=True)
    assert indexed.observation_space.shape == (210, 160)
    frame, colours = indexed.reset(seed=1)[0], coloured.reset(seed=1)[0]
    for _, action in zip(range(200), random_actions(indexed), strict=False):
        np.testing.assert_array_equal(indexed.rgb(frame), colours)
        frame, _, terminated, truncated, _ = indexed.step(action)
        colours = coloured.step(action)[0]
        if terminated or truncated:
            break


@pytest.mark.slow
def test_palettes_of_every_game() -> None:
    random = np.random.default_rng(0)
    for rom in playable_roms().values():
        emulator = load_emulator(rom)
        palette = palette_for(emulator.getScreen(), emulator.getScreenRGB())
        actions = emulator.getMinimalActionSet()
        for _ in range(60):
            for _ in range(10):
                emulator.act(actions[random.integers(len(actions))])
            np.testing.assert_array_equal(palette[emulator.getScreen()], emulator.getScreenRGB(), err_msg=str(rom))


def test_every_colour_of_both_palettes() -> None:
    """Random bytes in the console's memory make these two games show all colours that there are."""
    random = np.random.default_rng(0)
    for game in ("turmoil", "air_raid"):
        emulator = load_emulator(playable_roms()[game])
        palette = palette_for(emulator.getScreen(), emulator.getScreenRGB())
        seen = np.zeros(256, bool)
        for _ in range(150):
            for byte in random.integers(128, size=13):
                emulator.setRAM(int(byte), int(random.integers(256)))
            emulator.act(0)
            screen = emulator.getScreen()
            seen[screen] = True
            np.testing.assert_array_equal(palette[screen], emulator.getScreenRGB())
        assert seen[0::2].mean() > 0.9
        assert seen[1::2].any() == (game == "air_raid")


@pytest.mark.parametrize("game", ["Breakout", "Freeway"])
def test_an_episode_is_the_emulators_own(game: str) -> None:
    """Frame by frame what `ALE/…-v5` shows without sticky actions, to a true end inside the four repeats."""
    ours = make_environment(f"atari/{game.lower()}", noops=0, rgb=True, time_limit=2_000)
    gymnasium.register_envs(__import__("ale_py"))
    theirs = gymnasium.make(
        f"ALE/{game}-v5", frameskip=4, repeat_action_probability=0.0, max_num_frames_per_episode=2_000
    )
    assert list(ours.action_meanings) == theirs.unwrapped.get_action_meanings()  # type: ignore[attr-defined]
    np.testing.assert_array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    for action in random_actions(ours):
        frame, reward, terminated, truncated, info = ours.step(action)
        frame2, reward2, terminated2, truncated2, info2 = theirs.step(action)
        np.testing.assert_array_equal(frame, frame2)
        assert (reward, terminated, truncated, info["lives"]) == (reward2, terminated2, truncated2, info2["lives"])
        if terminated or truncated:
            break
    assert (terminated, truncated) == ((True, False) if game == "Breakout" else (False, True))


class SingleFrames:
    """The same episode one emulator frame at a time, four of them per action, stopping at the end of the game."""

    def __init__(self, game: str, seed: int) -> None:
        self.environment = make_environment(f"atari/{game}", action_repeat=1)
        self.frames = [self.environment.reset(seed=seed)[0]]
        self.reward = 0.0
        self.terminated = False

    def repeat(self, action: int) -> int:
        """Up to four emulator frames; returns how many there were."""
        self.reward, count = 0.0, 0
        while count < 4 and not self.terminated:
            frame, reward, self.terminated, _, self.info = self.environment.step(action)
            self.frames.append(frame)
            self.reward += reward
            count += 1
        return count


def test_only_the_fourth_frame_is_seen_and_the_last_is_real() -> None:
    """Over episodes of three seeds, at least one of which ends before its fourth repeat."""
    counts = []
    for seed in range(3):
        environment, single = make_environment("atari/breakout"), SingleFrames("breakout", seed)
        frame, _ = environment.reset(seed=seed)
        np.testing.assert_array_equal(frame, single.frames[-1])
        terminated = False
        for action in random_actions(environment, seed):
            frame, reward, terminated, _, info = environment.step(action)
            count = single.repeat(action)
            np.testing.assert_array_equal(frame, single.frames[-1])
            np.testing.assert_array_equal(info["state"], single.info["state"])
            assert (reward, terminated) == (single.reward, single.terminated)
            if terminated:
                counts.append(count)
                break
    assert min(counts) < 4


def test_pooled_views_are_of_the_last_two_emulator_frames() -> None:
    environment = make_environment("atari/space_invaders", max_pool=True, agent_view=True)
    single = SingleFrames("space_invaders", 2)
    frame, info = environment.reset(seed=2)
    palette = single.environment.palette
    assert palette is not None
    np.testing.assert_array_equal(frame, palette[single.frames[-1]])
    flickered = 0
    for _, action in zip(range(150), random_actions(environment), strict=False):
        frame, _, terminated, _, info = environment.step(action)
        single.repeat(action)
        before, last = palette[single.frames[-2]], palette[single.frames[-1]]
        np.testing.assert_array_equal(frame, np.maximum(before, last))
        flickered += int((frame != last).any())
        grey = np.floor(np.maximum(before @ LUMINANCE, last @ LUMINANCE) + 0.5).astype(np.uint8)
        np.testing.assert_array_equal(info["agent_view"], area_average(grey, 84, 84))
        if terminated:
            break
    assert flickered > 0


def test_cropped_frames_are_the_slice_and_resized_ones_the_mean_of_the_emulators_colours() -> None:
    options: dict[str, Any] = dict(crop=[34, 8, 160, 144])
    whole, colours = make_environment("atari/seaquest"), make_environment("atari/seaquest", rgb=True)
    cropped = make_environment("atari/seaquest", **options)
    small = make_environment("atari/seaquest", **options, resize=[40, 48])
    assert cropped.palette is not None and cropped.observation_space.shape == (160, 144)
    assert small.palette is None and small.observation_space.shape == (40, 48, 3)
    everything = (whole, colours, cropped, small)
    frames = [environment.reset(seed=2)[0] for environment in everything]
    for _, action in zip(range(40), random_actions(whole), strict=False):
        part = frames[1][34:194, 8:152]
        np.testing.assert_array_equal(frames[2], frames[0][34:194, 8:152])
        # Every new pixel covers exactly 4×3 old ones.
        mean = part.reshape(40, 4, 48, 3, 3).mean(axis=(1, 3))
        np.testing.assert_array_equal(frames[3], np.floor(mean + 0.5))
        frames = [environment.step(action)[0] for environment in everything]


def test_life_lost_ends_where_asked() -> None:
    environment = make_environment("atari/breakout", life_loss_ends=True)
    for seed in range(2):
        _, info = environment.reset(seed=seed)
        assert info["lives"] == 5
        for action in random_actions(environment):
            _, _, terminated, _, info = environment.step(action)
            if terminated:
                break
        assert info["lives"] == 4


def test_time_limit_truncates() -> None:
    environment = make_environment("atari/pong", time_limit=100, noops=0)
    environment.reset(seed=0)
    outcomes = [environment.step(0)[2:4] for _ in range(25)]
    assert outcomes == [(False, False)] * 24 + [(False, True)]


def test_start_is_drawn_from_the_seed() -> None:
    drawn = make_environment("atari/seaquest")
    assert len({drawn.reset(seed=seed)[0].tobytes() for seed in range(12)}) > 3
    fixed = make_environment("atari/seaquest", noops=0)
    assert len({fixed.reset(seed=seed)[0].tobytes() for seed in range(4)}) == 1


def test_action_sets() -> None:
    assert make_environment("atari/pong").action_meanings == ("NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE")
    assert make_environment("atari/pong", full_actions=True).action_space.n == 18


def test_provenance_names_rom_and_versions() -> None:
    provenance = make_environment("atari/pong").provenance()
    assert provenance["rom_md5"] == "60e0ea3cbe0913d39803477945e9e5ec"  # as every list of Atari cartridges has it
    assert set(provenance) == {"ale_py", "gymnasium", "rom_md5", "rom_sha256"}


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("pong", {}, "atari/pong"),
        ("atari/pongg", {}, "atari/pong"),
        # In the wheel, but unknown to the emulator, which would end the program on it.
        ("atari/combat", {}, "no Atari game named 'atari/combat'"),
        ("atari/pong", dict(no_ops=3), "noops"),
        ("atari/pong", dict(action_repeat=0), "action_repeat"),
    ],
)
def test_wrong_names_and_options_say_what_to_do(name: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        make_environment(name, **options)
