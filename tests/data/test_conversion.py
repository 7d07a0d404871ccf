"""To other formats and back: nothing is lost, and nothing strange gets in without a clear word about it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting_data import assert_counts, make_data_set, play

from framedream.cli.data_export import main as export_main
from framedream.cli.data_import import main as import_main
from framedream.data.conversion.export import export_folder
from framedream.data.conversion.folder import read_folder
from framedream.data.conversion.source import write_source
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.reader import SegmentReader
from framedream.data.segment import Segment, SegmentId
from framedream.errors import UserError
from framedream.pictures.video import VideoWriter

COLOURS = pytest.mark.parametrize("rgb", [False, True], ids=["indices", "rgb"])
# Counting frames are tiny; Minari treats only larger images as images, and that is where it would use JPEG.
IMAGES = dict(height=40, width=36)


def whole_episodes(data_set: DataSet, name: str = "train") -> list[Segment]:
    split = data_set.split(name)
    with SegmentReader(split) as reader:
        return [reader.read(SegmentId(episode, 0, int(n))) for episode, n in enumerate(split.episodes.length)]


def bring(source: Path, folder: Path, *options: str) -> DataSet:
    import_main([str(source), "--out", str(folder), *options])
    return open_data_set(folder)


def write_table(path: Path, lines: list[Any], header: str = "action") -> None:
    path.write_text("\n".join([header, *(str(line) for line in lines)]) + "\n", encoding="utf-8")


def write_film(path: Path, frames: Any) -> None:
    with VideoWriter(path, lossless=True) as film:
        for frame in frames:
            film.add(frame)


# --- there and back ---------------------------------------------------------------------------------------------------


@COLOURS
@pytest.mark.parametrize("to", ["npz", "minari"])
def test_npz_and_minari_give_back_the_identical_data_set(tmp_path: Path, to: str, rgb: bool) -> None:
    if to == "minari":
        pytest.importorskip("minari")
    data_set = make_data_set(tmp_path / "data", train=4, test=2, rgb=rgb, **IMAGES)
    export_main([str(tmp_path / "data"), "--to", to, "--out", str(tmp_path / "out")])
    back = bring(tmp_path / "out", tmp_path / "back")
    # The identity is a hash over every frame, action, reward, flag, state and seed of both splits.
    assert back.identity == data_set.identity
    assert back.recording == data_set.recording


@COLOURS
def test_films_give_back_every_frame_action_and_reward(tmp_path: Path, rgb: bool) -> None:
    data_set = make_data_set(tmp_path / "data", train=3, test=1, rgb=rgb)
    export_main([str(tmp_path / "data"), "--to", "mp4", "--out", str(tmp_path / "out")])
    back = bring(tmp_path / "out", tmp_path / "back")
    assert back.recording.action_meanings == data_set.recording.action_meanings
    for name in ("train", "test"):
        for old, new in zip(whole_episodes(data_set, name), whole_episodes(back, name), strict=True):
            assert np.array_equal(old.frames, new.frames)
            assert np.array_equal(old.actions, new.actions)
            assert np.array_equal(old.rewards, new.rewards)


def test_the_films_hold_the_colours_and_the_tables_the_actions(tmp_path: Path) -> None:
    from framedream.pictures.video import read_video

    data_set = make_data_set(tmp_path / "data", train=1, test=0)
    export_folder(data_set, tmp_path / "out", "mp4")
    (episode,) = whole_episodes(data_set)
    film = np.stack(list(read_video(tmp_path / "out" / "train" / "episode-000000.mp4")))
    assert data_set.palette is not None
    assert np.array_equal(film, data_set.palette[episode.frames])
    with (tmp_path / "out" / "train" / "episode-000000.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [int(line["action"]) for line in lines] == episode.actions[:-1].tolist()
    assert [float(line["reward"]) for line in lines] == episode.rewards[:-1].tolist()


@COLOURS
def test_minari_itself_reads_what_is_exported_without_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rgb: bool
) -> None:
    minari = pytest.importorskip("minari")
    data_set = make_data_set(tmp_path / "data", train=3, test=1, rgb=rgb, **IMAGES)
    export_main([str(tmp_path / "data"), "--to", "minari", "--out", str(tmp_path / "root" / "counting")])
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "root"))
    assert set(minari.list_local_datasets()) == {"counting/train-v0", "counting/test-v0"}
    loaded = minari.load_dataset("counting/train-v0")
    assert not loaded.storage.jpeg_encoding
    assert loaded.total_steps == data_set.split("train").frames - 3
    for ours, theirs in zip(whole_episodes(data_set), loaded.iterate_episodes(), strict=True):
        colours = ours.frames if data_set.palette is None else data_set.palette[ours.frames]
        assert np.array_equal(theirs.observations, colours)
        assert np.array_equal(theirs.actions, ours.actions[:-1])
        assert np.array_equal(theirs.rewards, ours.rewards[:-1])
        assert np.array_equal(theirs.terminations, ours.terminations[:-1])
        assert np.array_equal(theirs.truncations, ours.truncations[:-1])


@pytest.mark.parametrize("data_format", ["hdf5", "parquet"])
@pytest.mark.filterwarnings("ignore::UserWarning:minari")
def test_a_data_set_that_minari_wrote_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_format: str
) -> None:
    minari = pytest.importorskip("minari")
    if data_format == "parquet":
        pytest.importorskip("pyarrow")
    from gymnasium import spaces
    from minari.data_collector.episode_buffer import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "root"))
    episodes = [play(seed, rgb=True, **IMAGES) for seed in range(4)]
    minari.create_dataset_from_buffers(
        "game/walk-v0",
        [
            EpisodeBuffer(
                seed=episode.seed,
                observations=episode.frames,
                actions=episode.actions + 5,
                rewards=episode.rewards,
                terminations=np.arange(1, len(episode)) == len(episode) - 1,
                truncations=np.zeros(len(episode) - 1, bool),
            )
            for episode in episodes
        ],
        observation_space=spaces.Box(0, 255, episodes[0].frames.shape[1:], np.uint8),
        action_space=spaces.Discrete(3, start=5),
        data_format=data_format,
        jpeg_encoding=False,
    )
    back = bring(Path("game/walk-v0"), tmp_path / "back", "--test-fraction", "0")
    assert back.recording.provenance["kind"] == "minari"
    assert back.split("train").episodes.seed.tolist() == [0, 1, 2, 3]
    for old, new in zip(episodes, whole_episodes(back), strict=True):
        assert_counts(new.frames, new.actions, old.seed, 0)
        assert np.array_equal(new.actions[:-1], old.actions)
        assert np.array_equal(new.rewards[:-1], old.rewards)
        assert new.terminations[-2]


def test_what_is_no_minari_data_set_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari_storage = pytest.importorskip("minari.dataset.minari_storage")
    from gymnasium import spaces

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "root"))
    with pytest.raises(UserError, match="neither a folder nor a Minari data set"):
        bring(Path("nobody/nothing-v0"), tmp_path / "data")
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "metadata.json").write_text("{}")
    with pytest.raises(UserError, match="cannot be read as a Minari data set"):
        bring(tmp_path / "strange", tmp_path / "data")
    image, number = spaces.Box(0, 255, (4, 4, 3), np.uint8), spaces.Discrete(2)
    for name, observation, action, said in (
        ("words", spaces.Dict(image=image), number, "only images can be imported"),
        ("joystick", image, spaces.Box(-1, 1, (2,)), "only numbered ones"),
    ):
        (tmp_path / name).mkdir()
        storage = minari_storage.MinariStorage.new(tmp_path / name / "data", observation, action)
        storage.update_metadata({"dataset_id": f"{name}-v0", "minari_version": "0.5.4"})
        with pytest.raises(UserError, match=said):
            bring(tmp_path / name, tmp_path / "data")
    with pytest.raises(UserError, match="letters, digits"):
        make_data_set(tmp_path / "good", train=1, test=1)
        export_main([str(tmp_path / "good"), "--to", "minari", "--out", str(tmp_path / "a b")])


# --- a game of one's own ----------------------------------------------------------------------------------------------


def test_npz_with_only_frames_and_actions(tmp_path: Path) -> None:
    game = tmp_path / "game"
    game.mkdir()
    episodes = [play(seed, rgb=True) for seed in range(10)]
    for episode in episodes:
        np.savez_compressed(game / f"{episode.seed}.npz", frames=episode.frames, actions=episode.actions)
    (game / "actions.json").write_text('["stay", "left", "right", "never used"]')
    back = bring(game, tmp_path / "data", "--test-fraction", "0.3")
    assert back.recording.action_meanings == ("stay", "left", "right", "never used")
    assert (len(back.split("train").episodes), len(back.split("test").episodes)) == (7, 3)
    seen = []
    for name in ("train", "test"):
        for segment in whole_episodes(back, name):
            episode = episodes[int(segment.frames[0, 0, 0, 0])]  # the counting frame's seed
            seen.append(episode.seed)
            assert_counts(segment.frames, segment.actions, episode.seed, 0)
            assert len(segment) == len(episode)
            assert not segment.rewards.any() and segment.states is None
            assert segment.truncations[-2] and not segment.terminations.any()
    assert sorted(seen) == list(range(10))


def test_grey_frames_with_an_action_per_frame_and_rewards(tmp_path: Path) -> None:
    game = tmp_path / "game"
    game.mkdir()
    episode = play(5)
    np.savez(
        game / "only.npz",
        frames=episode.frames,
        actions=np.append(episode.actions, 2).astype(np.uint8),
        rewards=np.append(episode.rewards, 9.0),
        terminated=True,
    )
    back = bring(game, tmp_path / "data")
    (segment,) = whole_episodes(back)
    assert back.recording.indexed and back.palette is not None
    assert np.array_equal(back.palette, np.repeat(np.arange(256)[:, None], 3, axis=1))
    assert_counts(segment.frames, segment.actions, 5, 0)
    assert np.array_equal(segment.rewards[:-1], episode.rewards)
    assert segment.terminations[-2] and not segment.truncations.any()


def test_films_with_tables_of_actions(tmp_path: Path) -> None:
    game = tmp_path / "game"
    game.mkdir()
    for seed in (3, 4):
        episode = play(seed, rgb=True)
        write_film(game / f"walk {seed}.mp4", episode.frames)
        lines = [f"{a}, {r}" for a, r in zip(episode.actions, episode.rewards, strict=True)]
        write_table(game / f"walk {seed}.csv", lines, header="action, reward")
    back = bring(game, tmp_path / "data", "--format", "folder", "--test-fraction", "0")
    for seed, segment in zip((3, 4), whole_episodes(back), strict=True):
        assert_counts(segment.frames, segment.actions, seed, 0)
        assert np.array_equal(segment.rewards[:-1], play(seed).rewards)


def test_long_recordings_are_cut_into_parts_of_whole_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framedream.data.assembly.FRAMES_PER_PART", 70)
    data_set = make_data_set(tmp_path / "data", train=8, test=0)
    export_folder(data_set, tmp_path / "out", "npz")
    back = bring(tmp_path / "out", tmp_path / "back", "--test-fraction", "0")
    assert len(back.split("train").paths) >= 3
    assert back.identity == data_set.identity


# --- what is refused --------------------------------------------------------------------------------------------------

Spoil = Callable[[Path], None]


def npz(**changes: Any) -> Spoil:
    """A second episode that differs from a good one in these arrays."""

    def write(folder: Path) -> None:
        episode = play(1, rgb=True)
        arrays: dict[str, Any] = {"frames": episode.frames, "actions": episode.actions} | changes
        kept = {name: value(episode) if callable(value) else value for name, value in arrays.items()}
        np.savez(folder / "bad.npz", **{name: value for name, value in kept.items() if value is not None})

    return write


def film(lines: list[Any] | None, header: str = "action", frames: Any = None) -> Spoil:
    def write(folder: Path) -> None:
        write_film(folder / "bad.mp4", play(1, rgb=True, shortest=24, longest=24).frames if frames is None else frames)
        if lines is not None:
            write_table(folder / "bad.csv", lines, header)

    return write


def changing_shape(_: Any) -> Any:
    frames = np.empty(3, object)
    frames[:] = [np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8), np.zeros((4, 4, 3), np.uint8)]
    return frames


def not_a_film(folder: Path) -> None:
    (folder / "bad.mp4").write_text("this is a shopping list")
    write_table(folder / "bad.csv", [1, 2, 1])


REFUSED: dict[str, tuple[Spoil, str]] = {
    "float images": (npz(frames=lambda e: e.frames / 255), r"bad\.npz: Frames must be bytes .*float64; scale 0\.\.1"),
    "wrong type": (npz(frames=lambda e: e.frames.astype(np.int32)), r"bad\.npz: Frames must be bytes .*int32"),
    "wrong axes": (npz(frames=lambda e: e.frames[..., :2]), r"bad\.npz: Frames must be .*height, width, 3"),
    "another shape": (npz(frames=lambda e: e.frames[:, 1:]), r"bad\.npz: .*one shape.*\(12, 16, 3\).*\(11, 16, 3\)"),
    "changing shape": (npz(frames=changing_shape, actions=np.zeros(2, int)), r"bad\.npz: .*same shape"),
    "grey among colours": (npz(frames=lambda e: e.frames[..., 0]), r"bad\.npz: .*one shape"),
    "too few actions": (npz(actions=lambda e: e.actions[:-2]), r"bad\.npz: .*(\d+) frames and (\d+) actions"),
    "too many actions": (npz(actions=lambda e: np.zeros(len(e) + 1, int)), r"bad\.npz: .*frames and \d+ actions"),
    "rewards of another length": (npz(rewards=lambda e: e.rewards[:-1]), r"bad\.npz: .*actions but rewards"),
    "no frames": (npz(frames=lambda e: e.frames[:0], actions=np.zeros(0, int)), r"bad\.npz: .*at least 2 frames"),
    "one frame": (npz(frames=lambda e: e.frames[:1], actions=np.zeros(0, int)), r"bad\.npz: .*at least 2 frames"),
    "negative action": (npz(actions=lambda e: e.actions - 1), r"bad\.npz: .*from 0 to 32767; .*from -1"),
    "float actions": (npz(actions=lambda e: e.actions / 2), r"bad\.npz: .*whole numbers .*float64"),
    "vectors as actions": (npz(actions=lambda e: e.actions[:, None]), r"bad\.npz: .*one list of numbers"),
    "no actions": (npz(actions=None), r"bad\.npz: .*no array 'actions' in it, only frames"),
    "no array of frames": (npz(frames=None), r"bad\.npz: .*no array 'frames' in it, only actions"),
    "states only here": (npz(states=lambda e: e.states), r"other states"),
    "seeds": (npz(seed=np.arange(3)), r"bad\.npz: 'seed' must be one value"),
    "no zip file": (lambda folder: (folder / "bad.npz").write_text("text"), r"bad\.npz: .*cannot be read as NPZ"),  # type: ignore[dict-item]
    "an unnamed action": (npz(actions=lambda e: e.actions + 7), r"Action 9 is used, but actions\.json names only 3"),
    "film without table": (film(None), r"bad\.mp4: there is no bad\.csv beside it"),
    "film with too few actions": (film([0] * 20), r"bad\.mp4: there are 24 frames but 20 actions"),
    "film with too many actions": (film([0] * 24), r"bad\.mp4: there are 24 frames but 24 actions"),
    "film with no actions": (film([]), r"bad\.mp4: there are no actions"),
    "table without header": (film([0] * 22, header="0"), r"bad\.csv: its first line must be `action`"),
    "table with words": (film([0] * 22 + ["left"]), r"bad\.csv: line 24 must be a whole number"),
    "table with fractions": (film([0] * 22 + ["1.5"]), r"bad\.csv: line 24 must be a whole number"),
    "table with a negative action": (film([0] * 22 + [-1]), r"bad\.mp4: .*from 0 to 32767"),
    "no film": (not_a_film, r"bad\.mp4 cannot be read as a video"),
    "names that are no list": (lambda folder: (folder / "actions.json").write_text("{}"), r"list of names"),  # type: ignore[dict-item]
    "names that are no JSON": (lambda folder: (folder / "actions.json").write_text("left"), r"read as JSON"),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("what", REFUSED)
def test_strange_recordings_are_refused_with_one_sentence(tmp_path: Path, what: str) -> None:
    spoil, said = REFUSED[what]
    game = tmp_path / "game"
    game.mkdir()
    good = play(0, rgb=True)
    np.savez(game / "a good one.npz", frames=good.frames, actions=good.actions)
    (game / "actions.json").write_text(json.dumps(["stay", "left", "right"]))
    spoil(game)
    with pytest.raises(UserError, match=said) as refused:
        bring(game, tmp_path / "data", "--test-fraction", "0")
    assert "\n" not in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["game"], "nothing half made is left behind"


def test_a_game_with_one_action_has_nothing_to_control(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", frames=play(0).frames, actions=np.zeros(len(play(0)) - 1, int))
    with pytest.raises(UserError, match="only 1 action"):
        bring(tmp_path, tmp_path / "data")


def test_places_without_episodes_and_places_that_are_taken(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="has no episodes in it"):
        bring(tmp_path / "empty", tmp_path / "data")
    with pytest.raises(UserError, match="is not a folder"):
        bring(tmp_path / "nowhere", tmp_path / "data", "--format", "folder")
    make_data_set(tmp_path / "no episodes", train=0, test=0)
    with pytest.raises(UserError, match="has no episodes to export"):
        export_main([str(tmp_path / "no episodes"), "--to", "npz", "--out", str(tmp_path / "new")])
    make_data_set(tmp_path / "taken", train=2, test=1)
    with pytest.raises(UserError, match="taken exists already and is not overwritten"):
        export_main([str(tmp_path / "taken"), "--to", "npz", "--out", str(tmp_path / "taken")])
    export_main([str(tmp_path / "taken"), "--to", "npz", "--out", str(tmp_path / "new" / "npz")])
    with pytest.raises(UserError, match="taken exists already and is not overwritten"):
        bring(tmp_path / "new" / "npz", tmp_path / "taken")
    for fraction in ("1", "-0.1"):
        with pytest.raises(UserError, match="at least 0 and below 1"):
            bring(tmp_path / "new" / "npz", tmp_path / "data", "--test-fraction", fraction)
    with pytest.raises(UserError, match="seed must be 0 or more"):
        bring(tmp_path / "new" / "npz", tmp_path / "data", "--seed", "-1")
    long_name = tmp_path / ("a" * 300)
    with pytest.raises(UserError, match=r"cannot be read \(File name too long\)"):
        bring(long_name, tmp_path / "data", "--format", "folder")
    with pytest.raises(UserError, match=r"Cannot write .* \(File name too long\)"):
        export_main([str(tmp_path / "taken"), "--to", "npz", "--out", str(long_name)])
    with pytest.raises(UserError, match="is a data set already"):
        bring(tmp_path / "taken", tmp_path / "data")


def test_an_interrupted_conversion_leaves_nothing(tmp_path: Path) -> None:
    data_set = make_data_set(tmp_path / "data", train=3, test=1)

    def interrupt(frames: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_folder(data_set, tmp_path / "npz", "npz", interrupt)
    export_folder(data_set, tmp_path / "npz", "npz")
    with pytest.raises(KeyboardInterrupt):
        write_source(read_folder(tmp_path / "npz"), "npz", tmp_path / "back", interrupt)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "npz"]
