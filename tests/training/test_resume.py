"""A run that is stopped, or killed at any instant, and resumed ends with the same bits as one that never stopped."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from command import run, start
from recording import counting_data_set

from framedream.checkpoint.checkpoint import open_checkpoint
from framedream.checkpoint.run_folder import read_metrics, step_folders
from framedream.checkpoint.tensors import read_tensors
from framedream.cli import main

# Random slopes, so that the random state matters.
OPTIONS = ("--preset", "tiny", "--rrelu", "random", "--evaluate-every", "7")
# Two segments, so that a batch makes several updates; a prediction-independent simulator, whose encoder learns.
RECIPES = {
    "modern": (),
    "paper": ("--optimiser", "rmsprop", "--no-clip", "--segments", "2"),
    "prediction-independent": ("--variant", "pi-h", "--scheme", "modern"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counting") / "data"
    counting_data_set(folder)
    return folder


def assert_same_bits(one: Path, other: Path) -> None:
    for name in ("model.safetensors", "training.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    ours, theirs = (open_checkpoint(folder).training for folder in (one, other))
    for record in (ours, theirs):
        record.pop("seconds")
    assert ours == theirs


@pytest.mark.parametrize("recipe", RECIPES)
def test_twenty_updates_and_twenty_more_equal_forty(recipe: str, data: Path, tmp_path: Path) -> None:
    command = ["train", str(data), "--device", "cpu", *OPTIONS, *RECIPES[recipe]]
    main([*command, "--out", str(tmp_path / "whole"), "--updates", "40"])
    main([*command, "--out", str(tmp_path / "halves"), "--updates", "20"])
    main([*command, "--out", str(tmp_path / "halves"), "--updates", "40", "--resume"])
    assert_same_bits(tmp_path / "halves" / "step-40", tmp_path / "whole" / "step-40")


def kill_at_random_instants(data: Path, out: Path, kills: int, updates: int) -> list[int]:
    """Kill and resume a run again and again; returns how far it was, by its checkpoints, after every kill."""
    generator = random.Random(kills)
    options = (*OPTIONS, "--updates", str(updates), "--checkpoint-every", "1")
    reached = []
    for _ in range(kills):
        program = start(data, out, *options, "--resume")
        before = step_folders(out)[-1:]
        if generator.random() < 0.8:
            while step_folders(out)[-1:] == before and program.poll() is None:
                time.sleep(0.001)
            # In the middle of training, in the midst of writing checkpoints.
            time.sleep(generator.uniform(0.0, 0.1))
        else:
            # From before the folder exists to the first update.
            time.sleep(generator.uniform(0.0, 3.0))
        os.kill(program.pid, signal.SIGKILL)
        program.communicate()
        if step_folders(out):
            checkpoint = open_checkpoint(out)  # refuses whatever is not whole
            checkpoint.simulator()
            assert read_tensors(checkpoint.folder, "training")
            reached.append(checkpoint.training["updates"])
    finished = run(data, out, *options, "--resume")
    assert finished.returncode == 0, finished.stderr
    return reached


def check_kills(data: Path, tmp_path: Path, kills: int, updates: int) -> None:
    whole = run(data, tmp_path / "whole", *OPTIONS, "--updates", str(updates))
    assert whole.returncode == 0, whole.stderr
    reached = kill_at_random_instants(data, tmp_path / "killed", kills, updates)
    assert any(0 < number < updates for number in reached), reached
    assert_same_bits(tmp_path / "killed" / f"step-{updates}", tmp_path / "whole" / f"step-{updates}")
    assert not [path for path in (tmp_path / "killed").iterdir() if path.name.startswith((".writing", ".removing"))]
    # What a killed program had logged beyond its last checkpoint was taken back.
    numbers = [row["updates"] for row in read_metrics(tmp_path / "killed") if row["kind"] == "training"]
    assert numbers == list(range(5, updates + 1, 5))


def test_kills_at_random_instants(data: Path, tmp_path: Path) -> None:
    check_kills(data, tmp_path, kills=4, updates=40)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_twenty_kills_at_random_instants(data: Path, tmp_path: Path) -> None:
    check_kills(data, tmp_path, kills=20, updates=200)
