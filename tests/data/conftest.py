"""What the tests of the writing side share: one recorded data set, and copies of it to damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from framedream.data import plan
from framedream.data.plan import Amount
from framedream.data.recorder import record

TRAIN, TEST, FRAMES_PER_PART = 700, 120, 200
"""Frames asked for, and per part: a few parts of a few episodes each."""


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set recorded by one worker without any disturbance. Not to be changed."""
    folder = tmp_path_factory.mktemp("recorded") / "reference"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "FRAMES_PER_PART", FRAMES_PER_PART)
        record("counting", folder, Amount(frames=TRAIN), Amount(frames=TEST), workers=1)
    return folder


@pytest.fixture
def copy(reference: Path, tmp_path: Path) -> Path:
    """A copy of the reference, to do anything to."""
    shutil.copytree(reference, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings of this process are cut into parts as small as the reference's."""
    monkeypatch.setattr(plan, "FRAMES_PER_PART", FRAMES_PER_PART)
