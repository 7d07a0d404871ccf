"""A checkpoint for others: all that rebuilds the simulator, nothing that only resumes its training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from framedream.checkpoint.checkpoint import Checkpoint, save_checkpoint

Precision = Literal["float32", "bfloat16"]


def export_checkpoint(checkpoint: Checkpoint, run: Path, precision: Precision, shard_bytes: int | None) -> Path:
    """Write `run/step-N`, whose weights are kept as they were trained or rounded to bfloat16.

    Of its data set it keeps the name only: the folders of one machine mean nothing on another.
    """
    simulator, heads = checkpoint.simulator(), checkpoint.heads()
    if precision == "bfloat16":
        _round(simulator)
        if heads is not None:
            _round(heads)
    configuration = checkpoint.configuration
    data = {**configuration.data, "folder": Path(str(configuration.data["folder"])).name}
    shared = replace(configuration, data=data)
    return save_checkpoint(run, simulator, shared, checkpoint.training, None, shard_bytes, heads)


def _round(module: nn.Module) -> None:
    """Parameters only: background and palette say what bytes mean, and bytes must stay what they are."""
    for parameter in module.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
