"""Recording: the same data for any number of workers and any history, and every frame what it should be."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import FRAMES_PER_PART, TEST, TRAIN
from counting_data import assert_counts, play

from framedream.agents import make_policy
from framedream.cli import collect, data_info
from framedream.data import recorder
from framedream.data.assembly import write_data_set
from framedream.data.dataset import open_data_set
from framedream.data.manifest import Manifest
from framedream.data.part import PartWriter
from framedream.data.plan import Amount
from framedream.data.play import describe_recording, play_episode
from framedream.data.reader import SegmentReader
from framedream.data.recorder import Progress, record
from framedream.data.seeds import episode_seeds
from framedream.data.segment import SegmentId
from framedream.data.staging import Staging
from framedream.data.verify import verify
from framedream.envs.counting import CountingEnvironment
from framedream.errors import UserError

pytestmark = pytest.mark.usefixtures("small_parts")


def files_of(folder: Path) -> dict[str, str]:
    """Every file of a data set and its hash."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def parts_of(folder: Path) -> dict[str, str]:
    return {name: digest for name, digest in files_of(folder).items() if name.endswith(".h5")}


def test_every_frame_of_a_recorded_data_set(reference: Path) -> None:
    """Against the definition: seeds from episode numbers, actions from the policy, frames that say what they are."""
    data = open_data_set(reference)
    environment = CountingEnvironment()
    for split in (data.split("train"), data.split("test")):
        assert split.episodes.part.max() >= (2 if split.name == "train" else 0), "the test needs several parts"
        files = [h5py.File(path) for path in split.paths]
        for number in range(len(split.episodes)):
            file, start = files[split.episodes.part[number]], split.episodes.start[number]
            rows = slice(start, start + split.episodes.length[number])
            seeds = episode_seeds(0, split.name, number)
            actions, rewards = file["action"][rows], file["reward"][rows]
            assert split.episodes.seed[number] == seeds.environment
            assert_counts(file["frames"][rows], actions, seeds.environment & 0xFFFF, 0)

            policy = make_policy("random", environment)
            policy.begin(seeds.policy, 3)
            frame, info = environment.reset(seed=seeds.environment)
            np.testing.assert_array_equal(file["state"][rows][0], info["state"])
            for step, action in enumerate(actions[:-1]):
                assert action == policy.act(frame, info)
                frame, reward, terminated, truncated, info = environment.step(int(action))
                assert rewards[step] == reward
                assert file["termination"][start + step] == terminated
                assert file["truncation"][start + step] == truncated
                np.testing.assert_array_equal(file["state"][start + step + 1], info["state"])
            assert terminated or truncated, "the episode is whole"
            assert actions[-1] == -1 and rewards[-1] == 0
            assert not file["termination"][rows][-1] and not file["truncation"][rows][-1]
            assert split.episodes.total_reward[number] == rewards.sum()
        for file in files:
            file.close()


def test_a_split_is_the_shortest_run_that_reaches_the_frames(reference: Path) -> None:
    data = open_data_set(reference)
    for name, asked in (("train", TRAIN), ("test", TEST)):
        split = data.split(name)
        assert split.frames >= asked > split.frames - split.episodes.length[-1]
        frames_per_part = np.bincount(split.episodes.part, split.episodes.length)
        assert (frames_per_part[:-1] >= FRAMES_PER_PART).all()
    assert {path.name for path in reference.iterdir()} == {"train", "test", "manifest.json", ".lock"}


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_nothing(reference: Path, tmp_path: Path, workers: int) -> None:
    seen: list[tuple[int, int]] = []

    def look(progress: Progress) -> None:
        seen.append((progress.frames["train"], progress.episodes["train"]))

    recorded = record(
        "counting", tmp_path, Amount(frames=TRAIN), Amount(frames=TEST), workers=workers, on_progress=look
    )
    assert files_of(tmp_path) == files_of(reference)
    assert recorded.manifest.overall_identity == open_data_set(reference).identity
    assert seen == sorted(seen) and seen[-1][0] >= TRAIN


def test_episodes_that_finish_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    for workers in (1, 3):
        record("strange_environments:Unequal", tmp_path / str(workers), Amount(episodes=9), workers=workers)
    assert files_of(tmp_path / "1") == files_of(tmp_path / "3")


def test_extending_equals_recording_at_once(reference: Path, tmp_path: Path) -> None:
    for train, test in ((100, 0), (100, TEST), (TRAIN, TEST)):
        record("counting", tmp_path, Amount(frames=train), Amount(frames=test), workers=1)
        assert verify(tmp_path).findings == ()
    assert open_data_set(tmp_path).identity == open_data_set(reference).identity


def test_asking_again_does_nothing(copy: Path) -> None:
    before = files_of(copy)
    for train in (TRAIN, 10):
        recorded = record("counting", copy, Amount(frames=train), Amount(frames=TEST), workers=1)
        assert recorded.progress.new_frames == 0
    assert files_of(copy) == before


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        (dict(seed=1), "seed is 1, not 0"),
        (dict(policy="dithered:0.5"), "policy name is 'dithered', not 'random'"),
        (dict(options={"longest": 41}), "arguments longest is 41, not 40"),
        (dict(environment="strange_environments:Slow"), "environment is 'strange_environments:Slow', not 'counting'"),
    ],
)
def test_another_recording_is_refused_by_its_difference(copy: Path, changes: dict[str, Any], difference: str) -> None:
    before = files_of(copy)
    told = dict(environment="counting", policy="random", options={}, seed=0) | changes
    with pytest.raises(UserError, match="holds another recording") as refusal:
        record(folder=copy, train=Amount(frames=2 * TRAIN), workers=1, **told)  # type: ignore[arg-type]
    assert difference in str(refusal.value)
    assert files_of(copy) == before


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"precious")
    with pytest.raises(UserError, match="has files in it already"):
        record("counting", tmp_path, Amount(frames=100), workers=1)
    assert (tmp_path / "holiday.jpg").read_bytes() == b"precious"


def test_a_foreign_part_stops_a_recorder(copy: Path) -> None:
    (copy / "train" / "part-00-0099.h5").write_bytes(b"something else")
    with pytest.raises(UserError, match=r"part-00-0099\.h5 is not part of the data set; move it"):
        record("counting", copy, Amount(frames=2 * TRAIN), workers=1)
    assert (copy / "train" / "part-00-0099.h5").read_bytes() == b"something else"


@pytest.mark.parametrize("where", ["signature", "chunk"])
def test_a_damaged_staged_episode_is_named_and_played_again(copy: Path, where: str) -> None:
    """As a recorder leaves it that was killed after the first part; damaged in HDF5's own tables, or in a chunk."""
    staging = Staging(copy, open_data_set(copy).recording, open_data_set(copy).palette)
    staging.prepare()
    environment = CountingEnvironment()
    number = len(open_data_set(copy).split("train").episodes)
    seeds = episode_seeds(0, "train", number)
    with staging.new_episode("train", number, seeds.environment) as part:
        play_episode(environment, make_policy("random", environment), seeds, part, lambda frames: None)
    path = staging.path("train", number)
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        chunk = file["frames"].id.get_chunk_info(0)
    content[chunk.byte_offset + 5 if where == "chunk" else 4] ^= 1
    path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(UserError, match=f"{path.name} is damaged; delete it and run the same command again"):
            record("counting", copy, Amount(episodes=number + 3), Amount(frames=TEST), workers=1)
    path.unlink()
    record("counting", copy, Amount(episodes=number + 3), Amount(frames=TEST), workers=1)
    assert verify(copy).findings == () and len(open_data_set(copy).split("train").episodes) == number + 3


def test_a_missing_part_stops_a_recorder(copy: Path) -> None:
    (copy / "train" / "part-00-0001.h5").unlink()
    with pytest.raises(UserError, match=r"train/part-00-0001\.h5 is missing"):
        record("counting", copy, Amount(frames=2 * TRAIN), workers=1)


@pytest.mark.parametrize(
    ("environment", "policy", "reason"),
    [
        ("Growing", "random", r"Frames must keep one shape: \(12, 16\) at first, later \(13, 16\)"),
        ("FloatFrames", "random", r"Frames must be bytes \(uint8\), not float32; scale 0\.\.1"),
        ("FloatFramesLater", "random", r"Frames must be bytes \(uint8\), not float32"),
        ("NoActions", "random", "has 0 actions"),
        ("Slow", "strange_environments:too_high", "The policy chose action 3; .* has actions 0 to 2"),
        ("Priceless", "random", "Rewards must be finite numbers, not nan"),
        ("Raising", "random", "failed while playing train episode 2 .*ZeroDivisionError: a bug of the environment"),
    ],
)
def test_what_is_wrong_with_an_environment_is_said(tmp_path: Path, environment: str, policy: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as refusal:
        record(f"strange_environments:{environment}", tmp_path, Amount(frames=500), policy=policy, workers=1)
    assert "\n" not in str(refusal.value)
    if environment == "Raising":
        assert verify(tmp_path).findings == () and len(open_data_set(tmp_path).split("train").episodes) == 2
        assert "a bug of the environment" in refusal.value.__notes__[0], "--debug shows the worker's traceback"


def test_names_that_do_not_exist_leave_nothing_behind(tmp_path: Path) -> None:
    for changes in (dict(environment="conting"), dict(policy="randon"), dict(options={"hight": 5})):
        told: dict[str, Any] = dict(environment="counting") | changes
        with pytest.raises(UserError, match="did you mean"):
            record(folder=tmp_path / "new", train=Amount(frames=10), **told)
    assert not (tmp_path / "new").exists()


def test_a_data_set_from_before_an_option_existed_is_extended(copy: Path) -> None:
    """The option absent from what was recorded counts as its default, and as nothing else."""
    recorded = Manifest.read(copy).recording
    older = dataclasses.replace(recorded, arguments={"height": 12, "longest": 40})
    folder = copy.parent / "older"
    write_data_set(folder, older, CountingEnvironment().palette, {"train": [play(seed) for seed in range(3)]})
    with pytest.raises(UserError, match="arguments shortest is 21, not 20"):
        record("counting", folder, Amount(episodes=5), options={"shortest": 21}, workers=1)
    record("counting", folder, Amount(episodes=5), workers=1)
    assert verify(folder).findings == () and len(open_data_set(folder).split("train").episodes) == 5
    assert Manifest.read(folder).recording == older


def test_what_a_failed_start_left_does_not_stand_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="The policy chose action 3"):
        record("counting", tmp_path, Amount(episodes=2), policy="strange_environments:too_high", workers=1)
    record("counting", tmp_path, Amount(episodes=2), workers=1)
    assert verify(tmp_path).findings == () and open_data_set(tmp_path).recording.policy == {"name": "random"}


def test_an_episode_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("framedream.data.play.LONGEST_EPISODE", 50)
    environment = CountingEnvironment(shortest=100, longest=100)
    policy = make_policy("random", environment)
    recording = describe_recording(environment, policy, 0)
    with (
        pytest.raises(UserError, match="has not ended after 50 frames"),
        PartWriter(tmp_path / "part.h5", "train", recording, environment.palette) as part,
    ):
        part.begin_episode(0, 0)
        play_episode(environment, policy, episode_seeds(0, "train", 0), part, lambda frames: None)


def test_workers_calculate_with_one_thread_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    environment = "strange_environments:Threads"
    record(environment, tmp_path, Amount(episodes=1), workers=1)
    with SegmentReader(open_data_set(tmp_path).split("train")) as reader:
        states = reader.read(SegmentId(0, 0, 1)).states
    assert states is not None and states[0].tolist() == [1, 3]
    assert "OMP_NUM_THREADS" not in os.environ


def test_a_second_recorder_is_refused(copy: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom framedream.data.lock import only_writer\n"
        "with only_writer(Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, copy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match="Another recorder is writing into"):
            record("counting", copy, Amount(frames=2 * TRAIN), workers=1)
        holder.kill()
    # The lock goes with its holder, however it died.
    assert record("counting", copy, Amount(frames=TRAIN), workers=1).progress.new_frames == 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}

    def remember(*arguments: Any, **named: Any) -> Any:
        told.update(named, arguments=arguments)
        raise UserError("seen enough")

    monkeypatch.setattr(recorder, "record", remember)
    words = "counting --out d --frames 1000 --policy dithered:0.7 --workers 3 --seed 5 --set width=20 a=b=c rgb=true"
    with pytest.raises(UserError, match="seen enough"):
        collect.main(words.split())
    assert told.pop("on_progress")
    assert told == dict(
        arguments=("counting", Path("d"), Amount(frames=1000), Amount(frames=200)),
        policy="dithered:0.7",
        options={"width": 20, "a": "b=c", "rgb": True},
        workers=3,
        seed=5,
        store="frames",
    )
    for words, amounts in (
        ("--episodes 12", (Amount(episodes=12), Amount(episodes=2))),
        ("--frames 3", (Amount(frames=3), Amount(frames=1))),
        ("--frames 300 --test-frames 0", (Amount(frames=300), Amount(frames=0))),
        ("--frames 300 --test-episodes 4", (Amount(frames=300), Amount(episodes=4))),
    ):
        with pytest.raises(UserError, match="seen enough"):
            collect.main(["counting", "--out", "d", *words.split()])
        assert told["arguments"][2:] == amounts
    with pytest.raises(UserError, match="seen enough"):
        collect.main(["counting", "--out", "d", "--frames", "10", "--store", "actions"])
    assert told["store"] == "actions"
    for words, complaint in (
        ("", "for example: framedream collect"),
        ("--frames 5 --episodes 5", "one of the two"),
        ("--frames 0", "at least 1 frame"),
        ("--frames -4", "negative"),
        ("--frames 5 --set width", "KEY=VALUE"),
    ):
        with pytest.raises(UserError, match=complaint):
            collect.main(["counting", "--out", "d", *words.split()])
    for workers in (0, 100_000):
        with pytest.raises(UserError, match=f"1 worker or more, .* not {workers}"):
            record("counting", tmp_path / "none", Amount(frames=5), workers=workers)


def test_info_describes_a_data_set(reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = open_data_set(reference)
    facts = data_info.data_set_facts(data)
    assert facts["identity"] == data.identity and facts["environment"] == "counting"
    train = facts["splits"]["train"]
    assert train["frames"] == data.split("train").frames and train["complete"]
    assert train["length"]["least"] == data.split("train").episodes.length.min()
    data_info.main([str(reference)])
    shown = capsys.readouterr().out
    assert "complete" in shown and f"{train['frames']:,}" in shown and data.identity in shown
