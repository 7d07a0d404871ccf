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
def independent_run(counting: DataSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prediction-independent simulator without heads."""
    return write_dreaming_run(tmp_path_factory.mktemp("runs") / "independent", counting, "pi-h")
