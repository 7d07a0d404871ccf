"""Stages for tests."""

from __future__ import annotations

from pathlib import Path

from framedream.checkpoint.checkpoint import open_checkpoint
from framedream.data.dataset import DataSet
from framedream.use.play.stage import Stage, set_stage

WARM_UP = 4


def make_stage(run: Path, data: DataSet | None, *, real: bool = True) -> Stage:
    checkpoint = open_checkpoint(run)
    return set_stage(checkpoint, data, split="test", warm_up=WARM_UP, device="cpu", real=real)
