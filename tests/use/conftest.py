"""What the tests of use share: the contract of environments, small recorded worlds, and small runs on them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

TESTS = Path(__file__).parents[1]
for folder in ("envs", "evaluation", "training"):  # where contract.py, worlds.py and moving_square.py are
    sys.path.insert(0, str(TESTS / folder))

from dreamed import write_dreaming_run  # noqa: E402
from worlds import counting_data_set  # noqa: E402

from framedream.cli import main  # noqa: E402
from framedream.data.dataset import DataSet  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def counting(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return counting_data_set(tmp_path_factory.mktemp("counting") / "data", size=(16, 19))


@pytest.fixture(scope="session")
def run(counting: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prediction-dependent simulator without heads."""
    return write_dreaming_run(tmp_path_factory.mktemp("runs") / "plain", counting, "base")


@pytest.fixture(scope="session")
def run_with_heads(counting: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same one with heads for rewards and ends."""
    return write_dreaming_run(tmp_path_factory.mktemp("runs") / "heads", counting, "base", heads=True)


@pytest.fixture(scope="session")
def made_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with heads that the commands themselves recorded, trained and evaluated; its data set lies beside it."""
    folder = tmp_path_factory.mktemp("made")
    data, run = str(folder / "data"), folder / "run"
    main(["collect", "counting", "--out", data, "--frames", "700", "--test-frames", "400", "--workers", "1",
          "--set", "height=16", "shortest=60", "longest=90"])  # fmt: skip
    main(["train", data, "--out", str(run), "--preset", "tiny", "--updates", "6", "--evaluate-every", "0",
          "--heads", "reward,end", "--device", "cpu"])  # fmt: skip
    main(["evaluate", str(run), "--horizon", "12", "--sequences", "6", "--device", "cpu"])
    return run


@pytest.fixture(scope="session")
def exported(made_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run as others get it, with weights of half the size."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "failures.md").write_text("It cannot count | past nine.\n")
    words = ["--precision", "bfloat16", "--starts", "150", "--failures", str(folder / "failures.md")]
    main(["export", str(made_run), "--out", str(folder / "counted"), *words])
    return folder / "counted"


@pytest.fixture(scope="session")
def independent_run(counting: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prediction-independent simulator without heads."""
    return write_dreaming_run(tmp_path_factory.mktemp("runs") / "independent", counting, "pi-h")
