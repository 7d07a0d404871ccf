"""Heads learn beside the simulator: it becomes the same to the bit, and resuming is bit-exact for them too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from moving_square import PALETTE, SIZE, SQUARE, play

from framedream.checkpoint.checkpoint import open_checkpoint
from framedream.checkpoint.configuration import Configuration
from framedream.checkpoint.run_folder import read_metrics
from framedream.checkpoint.tensors import read_tensors
from framedream.cli import main
from framedream.data.assembly import write_data_set
from framedream.data.dataset import open_data_set
from framedream.data.episode import Episode
from framedream.data.reader import SegmentReader
from framedream.data.recording import Recording
from framedream.data.segment import SegmentId
from framedream.errors import UserError
from framedream.evaluation.results import read_results
from framedream.evaluation.store import results_folder
from framedream.training.batches import DeviceBatch
from framedream.training.heads import HeadsLearner
from framedream.training.learner import Learner
from framedream.training.loop import train_on_batch
from framedream.training.scheme import Phase
from framedream.training.setup import new_learner
from framedream.training.specification import RunSpec

OPTIONS = ("--device", "cpu", "--preset", "tiny", "--rrelu", "random", "--evaluate-every", "0")
RECIPES = {
    "modern": (),
    "paper, two segments": ("--optimiser", "rmsprop", "--no-clip", "--segments", "2"),
    "prediction-independent": ("--variant", "pi-h", "--scheme", "modern"),
}


def rewarded(seed: int) -> Episode:
    """The moving square, with a reward of 1 on arriving at the right wall and of -1 at the left one; it terminates."""
    episode = play(seed)
    left = (episode.frames == 1).any(axis=1).argmax(axis=1)
    rewards = (left == SIZE - SQUARE).astype(np.float32) - (left == 0)
    return Episode(episode.frames, episode.actions, rewards[1:], True, False, seed=seed)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rewarded") / "data"
    recording = Recording("moving square", {}, ("left", "nothing", "right"), 1, (SIZE, SIZE), True, {}, {}, 0)
    write_data_set(
        folder, recording, PALETTE, {"train": map(rewarded, range(40)), "test": map(rewarded, range(90, 95))}
    )
    return folder


def train(data: Path, out: Path, *options: str, updates: int = 12) -> Path:
    main(["train", str(data), "--out", str(out), *OPTIONS, *options, "--updates", str(updates)])
    return out / f"step-{updates}"


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_drawn_is_the_same_to_the_bit(recipe: str, data: Path, tmp_path: Path) -> None:
    without = train(data, tmp_path / "without", *RECIPES[recipe])
    beside = train(data, tmp_path / "beside", *RECIPES[recipe], "--heads", "reward,end")
    assert (without / "model.safetensors").read_bytes() == (beside / "model.safetensors").read_bytes()
    plain, both = (read_tensors(folder, "training") for folder in (without, beside))
    assert plain.keys() < both.keys()
    assert all(torch.equal(plain[name], both[name]) for name in plain)
    assert not (without / "heads.safetensors").exists()
    rows = [[row for row in read_metrics(folder.parent) if row["kind"] == "training"] for folder in (without, beside)]
    for one, other in zip(*rows, strict=True):
        for changed in ("seconds", "frames_per_second"):
            del one[changed], other[changed]
        assert other.pop("reward_loss") > 0
        assert other.pop("end_loss") > 0
        assert one == other


@pytest.mark.parametrize("recipe", RECIPES)
def test_twelve_updates_and_twelve_more_equal_twenty_four(recipe: str, data: Path, tmp_path: Path) -> None:
    options = (*RECIPES[recipe], "--heads", "reward,end")
    whole = train(data, tmp_path / "whole", *options, updates=24)
    train(data, tmp_path / "halves", *options)
    halves = train(data, tmp_path / "halves", *options, "--resume", updates=24)
    for name in ("model.safetensors", "heads.safetensors", "training.safetensors"):
        assert (whole / name).read_bytes() == (halves / name).read_bytes(), name


def test_they_learn(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", "--heads", "reward,end", "--log-every", "5", updates=60)
    rows = [row for row in read_metrics(tmp_path / "run") if row["kind"] == "training"]
    for loss in ("reward_loss", "end_loss"):
        assert rows[-1][loss] < rows[0][loss] / 2
    heads = open_checkpoint(tmp_path / "run").heads()
    assert heads is not None
    assert heads.spec.largest_reward == 1.0


def near_walls(seed: int) -> Episode:
    """The moving square with a reward of 1 while it is at the right wall or nearly there, and of -1 at the left."""
    episode = play(seed)
    left = (episode.frames == 1).any(axis=1).argmax(axis=1)
    rewards = (left >= SIZE - SQUARE - 2).astype(np.float32) - (left <= 2)
    return Episode(episode.frames, episode.actions, rewards[1:], True, False, seed=seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_rewards_are_found_in_open_loop(tmp_path: Path) -> None:
    """Trained and evaluated by the real commands: what the frames show, the head says, 20 steps into a dream."""
    recording = Recording("moving square", {}, ("left", "nothing", "right"), 1, (SIZE, SIZE), True, {}, {}, 0)
    episodes = {"train": map(near_walls, range(150)), "test": map(near_walls, range(1000, 1030))}
    write_data_set(tmp_path / "data", recording, PALETTE, episodes)
    recipe = (
        "--hidden 64 --fused 64 --filters 0.25 --batch-size 16 --warm-up 6 --prediction-length 10 --phase-scale 0.1"
    )
    rates = "--learning-rate 2e-3 --early-learning-rate None --final-learning-rate 1e-4 --heads reward"
    step = train(tmp_path / "data", tmp_path / "run", *recipe.split(), *rates.split(), updates=500)
    main(["evaluate", str(step), "--horizon", "20", "--sequences", "400", "--device", "cpu"])
    scores = read_results(results_folder(step)).measurements[0].heads
    assert scores is not None
    for score in scores.rewards:
        assert score.error < 0.85 * min(score.error_of_zero, score.error_of_mean)
        assert score.recall is not None
        assert score.precision is not None
        assert min(score.recall, score.precision) > 0.7


def test_they_are_shown_the_transition_into_each_state(data: Path) -> None:
    """What a head is told of a state is what the data set says of the transition into its frame."""
    opened = open_data_set(data)
    run = RunSpec(variant="base", hidden=8, fused=8, filters=0.1, heads="reward,end")
    learner = new_learner(opened, run, torch.device("cpu"))
    shown: list[tuple[torch.Tensor, ...]] = []

    class Watching(HeadsLearner):
        def update(self, *given: torch.Tensor) -> dict[str, torch.Tensor]:
            shown.append(given)
            return super().update(*given)

    assert isinstance(learner, Learner)
    assert learner.heads is not None
    learner.heads = Watching(learner.heads.heads)
    lengths = opened.split("train").episodes.length
    ids = [SegmentId(episode, int(lengths[episode]) - 14, 14) for episode in range(3)]  # to the last frame
    with SegmentReader(opened.split("train"), states=False) as reader:
        read = reader.read_batch(ids)
    columns = (read.frames, read.actions, read.rewards, read.terminations)
    batch = DeviceBatch(*(torch.from_numpy(column) for column in columns))
    train_on_batch(learner, batch, Phase(None, "ppppp", segments=2, warm_up=4), 2, lambda update: 1e-4, lambda _: None)
    (hidden, rewards, ends), (_, later_rewards, later_ends) = shown
    assert hidden.shape == (3, 5, 8)
    assert not hidden.requires_grad
    left = (read.frames == 1).any(axis=2).argmax(axis=2)
    arrived = (left == SIZE - SQUARE).astype(np.float32) - (left == 0)
    np.testing.assert_array_equal(rewards, arrived[:, 4:9])
    np.testing.assert_array_equal(later_rewards, arrived[:, 9:14])
    assert not ends.any()
    assert later_ends[:, -1].all()
    assert not later_ends[:, :-1].any()


def test_a_run_keeps_the_heads_it_began_with(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", "--heads", "end")
    command = ["train", str(data), "--out", str(tmp_path / "run"), *OPTIONS, "--resume", "--heads", "reward"]
    with pytest.raises(SystemExit):
        main([*command, "--updates", "20"])
    with pytest.raises(UserError, match="no head named"):
        RunSpec(heads="reward,lives")


def test_checkpoints_from_before_heads_still_load(data: Path, tmp_path: Path) -> None:
    step = train(data, tmp_path / "run")
    content = json.loads((step / "config.json").read_text())
    assert content.pop("heads") is None
    del content["run"]["heads"]
    (tmp_path / "config.json").write_text(json.dumps(content))
    old = Configuration.read(tmp_path)
    assert old == Configuration.read(step) or old.run.keys() < Configuration.read(step).run.keys()
    assert old.heads is None
    assert RunSpec.from_json({name: value for name, value in old.run.items() if name != "preset"}).heads is None
    assert open_checkpoint(step).heads() is None
