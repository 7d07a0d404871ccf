"""What the tests of TORCS share: they run wherever TORCS is installed, and otherwise say why they do not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from framedream.envs.torcs.build import build_host
from framedream.envs.torcs.environment import TorcsEnvironment
from framedream.errors import UserError

sys.path.insert(0, str(Path(__file__).parents[1]))  # where contract.py is, also when only this folder is tested

SMALL: dict[str, Any] = dict(height=48, width=64)


@pytest.fixture(autouse=True, scope="session")
def torcs() -> None:
    try:
        build_host()
    except UserError as error:
        pytest.skip(f"TORCS cannot be driven here: {error}")


@pytest.fixture
def make() -> Iterator[Callable[..., TorcsEnvironment]]:
    """Environments with small frames, closed when the test ends."""
    made: list[TorcsEnvironment] = []

    def make(**options: Any) -> TorcsEnvironment:
        made.append(TorcsEnvironment(**SMALL | options))
        return made[-1]

    yield make
    for environment in made:
        environment.close()
