"""Data sets of seeds and actions: what is read from them is what would have been stored, to the last byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from test_verify import sign_again

from framedream.cli import data_info, main
from framedream.data import plan, replayed
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.loader import BatchLoader
from framedream.data.plan import Amount
from framedream.data.reader import SegmentReader
from framedream.data.recorder import record
from framedream.data.sampler import SegmentSampler
from framedream.data.segment import SegmentId
from framedream.data.verify import verify
from framedream.envs.maze.environment import MazeEnvironment
from framedream.errors import UserError

MAZE: dict[str, Any] = dict(textures="few", maze_size=9, height=16, width=20, episode_frames=70)
KINDS = {
    "counting": dict(environment="counting"),
    "colours": dict(environment="counting", options=dict(rgb=True)),
    "maze": dict(environment="maze", options=MAZE, policy="walk-and-spin"),
}
FIELDS = ("frames", "actions", "rewards", "terminations", "truncations", "states")
PART = "train/part-00-0001.h5"


Both = tuple[DataSet, DataSet]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Both]:
    """The same recording stored with frames, and with actions only."""

    @cache
    def record_both(kind: str) -> Both:
        folder = tmp_path_factory.mktemp(kind)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan, "FRAMES_PER_PART", 150)
            for store in ("frames", "actions"):
                told: dict[str, Any] = KINDS[kind] | dict(store=store, workers=1)
                record(folder=folder / store, train=Amount(episodes=7), test=Amount(episodes=2), **told)
        return open_data_set(folder / "frames"), open_data_set(folder / "actions")

    return record_both


@pytest.fixture(params=KINDS)
def both(request: pytest.FixtureRequest, recorded: Callable[[str], Both]) -> Both:
    return recorded(request.param)


@pytest.fixture
def mazes(tmp_path: Path, recorded: Callable[[str], Both]) -> Iterator[Path]:
    """A copy of the mazes that store actions, to do anything to."""
    shutil.copytree(recorded("maze")[1].folder, tmp_path / "mazes")
    yield tmp_path / "mazes"
    replayed._replayer.cache_clear()  # what a test did to the environment is not to outlive it


def test_frames_are_not_stored_and_the_identity_is_the_same(both: Both) -> None:
    frames, actions = both
    assert actions.identity == frames.identity and actions.manifest.identity == frames.manifest.identity
    assert len(actions.split("train").paths) >= 2
    for path in actions.split("train").paths:
        with h5py.File(path) as file:
            assert set(file) - {"palette"} == {"action", "reward", "termination", "truncation", "episode"}
    assert verify(actions.folder).findings == ()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cross_episodes", [False, True])
def test_every_segment_is_the_stored_one(both: Both, threads: int, cross_episodes: bool) -> None:
    frames, actions = (data.split("train") for data in both)
    sampler = SegmentSampler(frames.episodes.length, 11, 12, seed=1, cross_episodes=cross_episodes)
    with (
        SegmentReader(frames, cross_episodes=cross_episodes) as stored,
        SegmentReader(actions, threads, cross_episodes=cross_episodes) as again,
    ):
        assert again.frame_shape == stored.frame_shape
        for step in range(12):
            assert_equal(stored.read_batch(sampler.batch(step)), again.read_batch(sampler.batch(step)))
        if cross_episodes:  # one segment over all parts
            assert_equal(*(reader.read(SegmentId(0, 0, frames.frames)) for reader in (stored, again)))


def assert_equal(one: Any, other: Any) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), field)
        assert getattr(one, field).dtype == getattr(other, field).dtype


def test_every_frame_is_right_whichever_threads_ask_for_it(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any memory for episodes, so that they are replayed over and over while others are read."""
    monkeypatch.setattr(replayed, "MOST_MEMORY", 20_000)
    replayed._replayer.cache_clear()
    frames, actions = (data.split("train") for data in both)
    with SegmentReader(frames) as stored, SegmentReader(actions, states=False) as again, ThreadPoolExecutor(6) as pool:
        whole = [stored.read(SegmentId(n, 0, int(length))).frames for n, length in enumerate(frames.episodes.length)]

        def read_some(worker: int) -> None:
            for episode in np.random.default_rng(worker).permutation(len(whole)).tolist():
                start = worker * 3
                seen = again.read(SegmentId(episode, start, len(whole[episode]) - start))
                np.testing.assert_array_equal(seen.frames, whole[episode][start:])
                assert seen.states is None

        list(pool.map(read_some, range(6)))


def test_batches_ahead_of_time_are_the_same(both: Both) -> None:
    seen = []
    for data in both:
        split = data.split("train")
        sampler = SegmentSampler(split.episodes.length, 9, 4, seed=3)
        with SegmentReader(split) as reader, BatchLoader(reader, sampler, threads=3) as loader:
            seen.append([next(loader) for _ in range(6)])
    for one, other in zip(*seen, strict=True):
        assert_equal(one, other)


def test_pictures_and_exports_are_the_same(both: Both, tmp_path: Path) -> None:
    for number, data in enumerate(both):
        main(["data", "preview", str(data.folder), "--out", str(tmp_path / f"pictures-{number}")])
        main(["data", "export", str(data.folder), "--to", "npz", "--out", str(tmp_path / f"npz-{number}")])
    pictures = [(tmp_path / f"pictures-{number}" / "frames.png").read_bytes() for number in (0, 1)]
    assert pictures[0] == pictures[1]
    exported, again = (sorted(tmp_path.glob(f"npz-{number}/*/*.npz")) for number in (0, 1))
    assert len(exported) == 9
    for one, other in zip(exported, again, strict=True):
        with np.load(one) as arrays, np.load(other) as arrays_again:
            assert set(arrays) == set(arrays_again)
            for name in arrays:
                np.testing.assert_array_equal(arrays[name], arrays_again[name])
    # Imported again, it has frames, and is still the same data set.
    main(["data", "import", str(tmp_path / "npz-1"), "--out", str(tmp_path / "imported")])
    imported = open_data_set(tmp_path / "imported")
    assert imported.identity == both[0].identity and imported.recording.store == "frames"
    assert verify(imported.folder).findings == ()


def test_training_and_evaluation_know_no_difference(
    recorded: Callable[[str], Both], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = []
    for data in (data.folder for data in recorded("maze")):
        run = tmp_path / f"run-{data.name}"
        quick = "--preset tiny --device cpu --updates 3 --evaluate-every 0 --hidden 8 --fused 8 --filters 0.05"
        main(["train", str(data), "--out", str(run), *quick.split()])
        main(["evaluate", str(run), "--data", str(data), "--horizon", "6", "--sequences", "4", "--check-environment"])
        assert "the recording is deterministic" in " ".join(capsys.readouterr().err.split())
        weights.append(next(run.glob("**/step-*/model.safetensors")).read_bytes())
    assert weights[0] == weights[1], "the same weights, to the last bit"


def test_info_says_that_frames_are_drawn_again(mazes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert data_info.data_set_facts(open_data_set(mazes))["store"] == "actions"
    data_info.main([str(mazes)])
    assert "16×20 RGB; not stored, drawn again from seeds and actions" in capsys.readouterr().out


def change_action(file: h5py.File) -> None:
    file["action"][5] = (file["action"][5] + 1) % 5


def change_seed(file: h5py.File) -> None:
    file["episode/seed"][0] += 2


@pytest.mark.parametrize("change", [change_action, change_seed])
def test_a_change_of_what_frames_are_drawn_from_is_found(mazes: Path, change: Callable[[h5py.File], None]) -> None:
    with h5py.File(mazes / PART, "r+") as file:
        change(file)
    (finding,) = verify(mazes).findings
    assert finding.file == PART and "SHA-256" in finding.problem
    sign_again(mazes)
    (finding,) = verify(mazes).findings
    assert finding.file == PART and "is not what its content hash says" in finding.problem


@pytest.mark.parametrize("bit", [0, 3])
def test_a_flipped_bit_in_the_actions_is_found(mazes: Path, bit: int) -> None:
    with h5py.File(mazes / PART) as file:
        chunk = file["action"].id.get_chunk_info(0)
    content = bytearray((mazes / PART).read_bytes())
    content[chunk.byte_offset + 7 * bit + 3] ^= 1 << bit
    (mazes / PART).write_bytes(content)
    assert [finding.file for finding in verify(mazes).findings] == [PART]
    with pytest.raises(UserError, match=PART):
        open_data_set(mazes)
    sign_again(mazes)  # as if a program had written it so: HDF5's own checksum is left
    (finding,) = verify(mazes).findings
    assert "cannot be decoded" in finding.problem
    with pytest.raises(UserError, match="cannot be read"):
        SegmentReader(open_data_set(mazes).split("train"))


def test_a_changed_renderer_is_refused(mazes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provenance = MazeEnvironment.provenance

    def newer(self: MazeEnvironment) -> dict[str, Any]:
        return provenance(self) | {"numba": "99.0"}

    def other(self: MazeEnvironment) -> dict[str, Any]:
        return newer(self) | {"walk_sha256": "0" * 64}

    data = open_data_set(mazes)
    replayed._replayer.cache_clear()
    monkeypatch.setattr(MazeEnvironment, "provenance", newer)
    SegmentReader(data.split("train")).close()  # versions alone do not matter: the pictures are the same
    replayed._replayer.cache_clear()
    monkeypatch.setattr(MazeEnvironment, "provenance", other)
    for use in (lambda: SegmentReader(data.split("train")), lambda: verify(mazes)):
        with pytest.raises(UserError, match=r"stores actions only.* maze has changed since") as refusal:
            use()
        assert "\n" not in str(refusal.value) and "(walk_sha256 is '000" in str(refusal.value)
    data_info.main([str(mazes)])  # what needs no frames goes on


def test_an_option_that_is_gone_is_one_sentence(mazes: Path) -> None:
    data = open_data_set(mazes)
    recording = data.recording.as_json()
    recording["arguments"]["gravity"] = 9.81
    with h5py.File(mazes / PART, "r+") as file:
        file.attrs["recording"] = json.dumps(recording, sort_keys=True)
    with pytest.raises(UserError, match=r"stores actions only.*no option of maze named 'gravity'"):
        SegmentReader(data.split("train"))


@pytest.mark.parametrize("store", ["frames", "actions"])
def test_the_two_kinds_are_not_mixed(tmp_path: Path, store: Any) -> None:
    other: Any = {"frames": "actions", "actions": "frames"}[store]
    record("counting", tmp_path, Amount(episodes=2), workers=1, store=store)
    for episodes in (2, 4):
        with pytest.raises(UserError, match=f"holds another recording \\(store is '{other}', not '{store}'\\)"):
            record("counting", tmp_path, Amount(episodes=episodes), workers=1, store=other)
    record("counting", tmp_path, Amount(episodes=4), workers=1, store=store)
    assert verify(tmp_path).findings == ()


def test_any_number_of_workers_and_extending_give_the_same_files(tmp_path: Path) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.rglob("*.h5")}

    for episodes, folder, workers in ((9, "one", 1), (9, "three", 3), (4, "grown", 1), (9, "grown", 2)):
        record("counting", tmp_path / folder, Amount(episodes=episodes), workers=workers, store="actions")
    assert files(tmp_path / "one") == files(tmp_path / "three")
    assert open_data_set(tmp_path / "grown").identity == open_data_set(tmp_path / "one").identity
    assert verify(tmp_path / "grown").findings == ()


def test_environments_that_cannot_replay_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"only by playing all that comes before it.*leave out --store actions"):
        record("strange_environments:NotReplayable", tmp_path / "new", Amount(episodes=2), workers=1, store="actions")
    assert not (tmp_path / "new").exists()


def test_an_environment_that_replays_otherwise_is_found_before_anything_is_kept(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="shows other frames when it replays an episode than when it plays it"):
        record("strange_environments:ReplaysOtherwise", tmp_path, Amount(episodes=2), workers=1, store="actions")
    assert not open_data_set(tmp_path).manifest.parts


def test_unknown_kinds_of_storage_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="kind of storage named 'action'; did you mean 'actions'"):
        record("counting", tmp_path, Amount(episodes=1), workers=1, store="action")  # type: ignore[arg-type]
