"""`framedream export`: what others get is the same simulator, whole, without anything of the machine it comes from."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from maze_runs import SMALL
from numpy.typing import NDArray

from framedream.checkpoint.checkpoint import open_checkpoint
from framedream.checkpoint.folder import FILE_LIST
from framedream.cli import main
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.reader import SegmentReader
from framedream.data.segment import SegmentId
from framedream.errors import UserError
from framedream.evaluation.results import read_results
from framedream.use.export import Contents, export
from framedream.use.simulated_env import SimulatedEnv

STEP = "step-6"
ACTIONS = np.random.default_rng(0).integers(3, size=20)
Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """The one sentence that a command is refused with."""

    def sentence(*words: str | Path) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        assert end.value.code == 2
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert last.startswith("framedream: ")
        return last

    return sentence


def dreamt(run: Path, data: Path | None = None) -> NDArray[np.uint8]:
    with closing(SimulatedEnv(run, data=data, time_limit=0)) as dream:
        frames = [dream.reset(seed=3)[0], *(dream.step(int(action))[0] for action in ACTIONS)]
    return np.stack(frames)


def test_it_holds_what_users_need_and_nothing_else(exported: Path, made_run: Path) -> None:
    assert {path.name for path in exported.iterdir()} == {STEP, "starts", "evaluation", "card.md"}
    own = {path.name for path in (exported / STEP).iterdir()}
    assert own == {path.name for path in (made_run / STEP).iterdir()} - {"training.safetensors"}
    assert open_checkpoint(exported).training == open_checkpoint(made_run).training
    weights, whole = ((run / STEP / "model.safetensors").stat().st_size for run in (exported, made_run))
    assert weights < 0.65 * whole


def test_nothing_names_a_folder_of_this_machine(exported: Path, made_run: Path) -> None:
    place = str(made_run.parent.parent).encode()
    assert place in (made_run / STEP / "config.json").read_bytes()
    assert not [path for path in exported.rglob("*") if path.is_file() and place in path.read_bytes()]


def test_as_trained_it_dreams_the_same_frames(made_run: Path, tmp_path: Path) -> None:
    export(open_checkpoint(made_run), tmp_path / "same", Contents(starts=100, shard_bytes=20_000))
    assert len(list((tmp_path / "same" / STEP).glob("model-*.safetensors"))) > 1
    np.testing.assert_array_equal(dreamt(tmp_path / "same"), dreamt(made_run, tmp_path / "same" / "starts"))


def test_at_half_the_size_it_is_the_same_simulator_rounded(exported: Path, made_run: Path) -> None:
    half, whole = open_checkpoint(exported), open_checkpoint(made_run)
    for rounded, exact in ((half.simulator(), whole.simulator()), (half.heads(), whole.heads())):
        assert rounded is not None and exact is not None
        parameters = dict(exact.named_parameters())
        for name, tensor in rounded.state_dict().items():
            kept = exact.state_dict()[name]
            assert tensor.dtype == kept.dtype
            assert torch.equal(tensor, kept.bfloat16().float() if name in parameters else kept)
    frames, exact_frames = dreamt(exported), dreamt(made_run, exported / "starts")
    np.testing.assert_array_equal(frames[0], exact_frames[0])
    # Eight bits of mantissa are an error of 0.4% in a weight; over twenty steps a few of 256 brightnesses.
    np.testing.assert_allclose(frames.astype(int), exact_frames.astype(int), atol=8)
    assert np.abs(frames.astype(int) - exact_frames).max() > 0


@pytest.mark.parametrize("split", ["train", "test"])
def test_starts_are_the_first_episodes_whole(split: str, exported: Path, made_run: Path) -> None:
    starts, data = open_data_set(exported / "starts"), open_data_set(made_run.parent / "data")
    assert starts.recording == data.recording
    own, theirs = starts.split(split).episodes, data.split(split).episodes
    assert own.length.sum() >= 150 > own.length[:-1].sum()
    np.testing.assert_array_equal(own.seed, theirs.seed[: len(own)])
    assert_same_episodes(starts, data, split)


def assert_same_episodes(starts: DataSet, data: DataSet, split: str) -> None:
    lengths = starts.split(split).episodes.length.tolist()
    with SegmentReader(starts.split(split)) as ours, SegmentReader(data.split(split)) as theirs:
        for episode, length in enumerate(lengths):
            one, other = (reader.read(SegmentId(episode, 0, length)) for reader in (ours, theirs))
            for name in ("frames", "actions", "rewards", "terminations", "truncations"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("file", [f"{STEP}/model.safetensors", f"{STEP}/config.json", "starts/test/part-00-0000.h5"])
def test_a_flipped_byte_is_refused(file: str, exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported, tmp_path / "copy")
    path = tmp_path / "copy" / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=path.name):
        dreamt(tmp_path / "copy")


def test_it_plays_where_nothing_else_is(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(exported, tmp_path / "copy")
    monkeypatch.chdir(tmp_path)
    Path("actions.json").write_text(json.dumps(ACTIONS.tolist()))
    main(["play", "copy", "--script", "actions.json", "--json"])
    played = json.loads(capsys.readouterr().out)
    assert played["session"]["origin"]["data"] == open_data_set("copy/starts").identity
    assert played["score"]["steps"] == len(ACTIONS) and played["errors"][0] > 0


def test_the_card_has_the_measured_numbers_and_the_failures(exported: Path) -> None:
    card = (exported / "card.md").read_text()
    checkpoint, evaluation = open_checkpoint(exported), read_results(exported / "evaluation" / STEP)
    (measurement,) = evaluation.measurements
    moving = card.split("moving-pixel error at step")[1]
    for curve, name in (("model", "this simulator"), ("blend", "blend"), ("last frame", "last frame")):
        row = re.search(rf"^\| {name} \|(.*)\|$", moving, re.MULTILINE)
        assert row is not None
        shown = [float(cell.split("(")[0]) for cell in row[1].split("|")]
        expected = [measurement.curve(curve).moving.at(step) for step in (1, 5, 10)]
        np.testing.assert_allclose(shown, expected, rtol=0.005)
    assert "told another sequence's actions" in card
    parameters = sum(parameter.numel() for parameter in checkpoint.simulator().parameters())
    for fact in (f"{parameters:,}", checkpoint.configuration.data["identity"], "`--updates 6`", "bfloat16"):
        assert fact in card
    assert "--filters" not in card  # the preset's own
    assert card.endswith("## Known failures\n\nIt cannot count | past nine.\n")


def test_what_was_exported_can_be_exported_again(exported: Path, tmp_path: Path) -> None:
    main(["export", str(exported), "--out", str(tmp_path / "again")])
    np.testing.assert_array_equal(dreamt(tmp_path / "again"), dreamt(exported))
    assert "past nine" in (tmp_path / "again" / "card.md").read_text()


def test_it_is_evaluated_on_its_starts_beside_what_was_measured(
    exported: Path, made_run: Path, tmp_path: Path, refused: Refused, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", str(exported), "--horizon", "12", "--sequences", "5", "--device", "cpu"]
    assert "choose another --out" in refused(*words)
    assert "leave --all-checkpoints out" in refused(*words, "--out", tmp_path / "own", "--all-checkpoints")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").touch()
    assert "no evaluation" in refused(*words, "--out", tmp_path / "taken")
    main([*words, "--out", str(tmp_path / "own")])
    assert f"Measuring on {exported / 'starts'}" in capsys.readouterr().err
    main([*words, "--out", str(tmp_path / "own")])
    assert "holds this evaluation already" in capsys.readouterr().err
    other = ["evaluate", made_run, *words[2:], "--data", exported / "starts"]
    assert "evaluation of another checkpoint" in refused(*other, "--out", tmp_path / "own")
    evaluation = read_results(tmp_path / "own")
    assert evaluation.measurements[0].source["identity"] == open_data_set(exported / "starts").identity
    assert read_results(exported / "evaluation" / STEP).measurements[0].sequences == 6


def test_it_is_reported_with_its_film(exported: Path, tmp_path: Path) -> None:
    main(["report", str(exported), "--out", str(tmp_path / "page.html")])
    assert "data:video/mp4" in (tmp_path / "page.html").read_text()


def test_its_training_cannot_be_resumed(exported: Path, made_run: Path, tmp_path: Path, refused: Refused) -> None:
    shutil.copytree(exported, tmp_path / "copy")
    said = refused("train", made_run.parent / "data", "--out", tmp_path / "copy", "--resume", "--device", "cpu")
    assert "cannot be resumed" in said


def test_a_run_that_nobody_measured_or_looked_at_says_so(
    counting: DataSet, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["export", str(run), "--out", str(tmp_path / "plain"), "--starts", "0"])
    assert {path.name for path in (tmp_path / "plain").iterdir()} == {"step-1", "card.md"}
    said, card = capsys.readouterr().out, (tmp_path / "plain" / "card.md").read_text()
    assert "framedream evaluate" in said and "--failures" in said
    assert "It was not evaluated." in card and "Nobody has written any down yet." in card
    with pytest.raises(UserError, match="is not there: name one with data="):
        SimulatedEnv(tmp_path / "plain")
    SimulatedEnv(tmp_path / "plain", data=counting).close()


def test_nothing_is_overwritten_and_nothing_half_left(exported: Path, made_run: Path, tmp_path: Path) -> None:
    checkpoint = open_checkpoint(made_run)
    before = (exported / STEP / FILE_LIST).read_bytes()
    with pytest.raises(UserError, match="not overwritten"):
        export(checkpoint, exported, Contents())
    assert (exported / STEP / FILE_LIST).read_bytes() == before
    gone = {**checkpoint.configuration.data, "folder": str(tmp_path / "gone")}
    homeless = replace(checkpoint, configuration=replace(checkpoint.configuration, data=gone))
    with pytest.raises(UserError, match=r"gone, is not there: name it with --data.*--starts 0"):
        export(homeless, tmp_path / "new", Contents())
    assert not list(tmp_path.iterdir())
    export(homeless, tmp_path / "new", Contents(starts=60), data=open_data_set(exported / "starts"))
    assert dreamt(tmp_path / "new").shape == dreamt(exported).shape


def test_senseless_words_are_refused(made_run: Path, independent_run: Path, tmp_path: Path, refused: Refused) -> None:
    out = ("--out", tmp_path / "new")
    assert "--shard-size must be at least 1" in refused("export", made_run, *out, "--shard-size", "0")
    assert "--starts must be at least 0" in refused("export", made_run, *out, "--starts", "-1")
    assert "cannot be read" in refused("export", made_run, *out, "--failures", tmp_path / "nowhere.md")
    assert "no run or checkpoint" in refused("export", tmp_path / "nowhere", *out)
    other = open_checkpoint(independent_run).configuration.data["folder"]
    assert "16x19" in refused("export", made_run, *out, "--data", other)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def maze_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mazes")
    options = [f"{key}={value}" for key, value in SMALL.items()]
    main(["collect", "maze", "--episodes", "3", "--test-episodes", "2", "--policy", "walk-and-spin", "--workers", "1",
          "--out", str(folder / "data"), "--set", *options, "episode_frames=60"])  # fmt: skip
    words = ["--preset", "tiny", "--updates", "2", "--evaluate-every", "0", "--device", "cpu"]
    main(["train", str(folder / "data"), "--out", str(folder / "run"), *words])
    return folder / "run"


def test_mazes_can_be_kept_as_seeds_and_actions(maze_run: Path, tmp_path: Path) -> None:
    for store in ("frames", "actions"):
        words = ["--starts", "100", "--store", store, "--out", str(tmp_path / store)]
        main(["export", str(maze_run), *words])
    drawn, kept = (open_data_set(tmp_path / store / "starts") for store in ("actions", "frames"))
    assert drawn.recording.store == "actions" and kept.recording.store == "frames"
    assert drawn.identity == kept.identity
    for split in ("train", "test"):
        assert_same_episodes(drawn, kept, split)


def test_frames_that_come_out_otherwise_are_not_left_to_be_drawn(
    made_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from framedream.envs.counting import CountingReplay

    def darker(self: CountingReplay, first: int, out: NDArray[np.uint8]) -> None:
        out[:] = 0

    monkeypatch.setattr(CountingReplay, "frames", darker)
    with pytest.raises(UserError, match="not drawn again as they were"):
        export(open_checkpoint(made_run), tmp_path / "new", Contents(starts=50, store="actions"))
    assert not list(tmp_path.iterdir())
