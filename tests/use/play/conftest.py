"""One small simulator of the counting environment, and what it takes to play in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from stages import make_stage

from framedream.cli import main
from framedream.data.dataset import DataSet, open_data_set
from framedream.use.play.game import Game
from framedream.use.play.stage import Stage

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few updates, evaluated. Its environment ends after 400 frames, so that reality lasts."""
    folder = tmp_path_factory.mktemp("played")
    amounts = ["--frames", "1200", "--test-frames", "700"]
    options = ["--set", "height=16", "shortest=300", "longest=400"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        main(["collect", "counting", "--out", str(folder / "data"), *amounts, *options])
        words = ["--preset", "tiny", "--updates", "4", "--evaluate-every", "0", "--device", "cpu"]
        main(["train", str(folder / "data"), "--out", str(folder / "run"), *words])
        main(["evaluate", str(folder / "run"), "--horizon", "20", "--sequences", "4", "--device", "cpu"])
    return folder / "run"


@pytest.fixture(scope="module")
def data(run: Path) -> DataSet:
    return open_data_set(run.parent / "data")


@pytest.fixture(scope="module")
def stage(run: Path, data: DataSet) -> Iterator[Stage]:
    stage = make_stage(run, data)
    yield stage
    stage.starts.close()


@pytest.fixture
def game(stage: Stage) -> Iterator[Game]:
    game = Game(stage, seed=1)
    yield game
    game.close()
