"""Writing a checkpoint, and rebuilding from it: the simulator for anybody, the training state for resuming."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from framedream.checkpoint.configuration import Configuration
from framedream.checkpoint.folder import check_folder, new_folder
from framedream.checkpoint.run_folder import (
    STARTS_FOLDER,
    TRAINING_FILE,
    find_checkpoint,
    read_training,
    step_folder,
)
from framedream.checkpoint.tensors import has_tensors, in_full_precision, read_tensors, write_tensors
from framedream.errors import UserError
from framedream.model.heads import Heads
from framedream.model.heads_spec import HeadsSpec
from framedream.model.simulator import Simulator
from framedream.model.simulator_spec import SimulatorSpec
from framedream.model.statistics import FrameStatistics

MODEL, HEADS, TRAINING = "model", "heads", "training"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose bytes have been checked."""

    folder: Path
    configuration: Configuration
    training: dict[str, Any]

    def simulator(self, device: str | torch.device = "cpu") -> Simulator:
        """The simulator, rebuilt from what the checkpoint says of it; in evaluation mode."""
        tensors = in_full_precision(read_tensors(self.folder, MODEL))
        statistics = FrameStatistics(tensors["background"], tensors.get("palette"))
        # Without memory at first: drawing initial parameters would take seconds, and random numbers that are not ours.
        with torch.device("meta"):
            simulator = Simulator(SimulatorSpec.from_json(self.configuration.simulator), statistics)
        try:
            simulator.load_state_dict(tensors, assign=True)
        except RuntimeError as error:
            raise self._misfit() from error
        return simulator.to(device).eval()

    def heads(self, device: str | torch.device = "cpu") -> Heads | None:
        """What was trained to predict rewards and ends beside the simulator, if anything was."""
        if self.configuration.heads is None:
            return None
        heads = Heads(HeadsSpec.from_json(self.configuration.heads))
        try:
            heads.load_state_dict(in_full_precision(read_tensors(self.folder, HEADS)))
        except RuntimeError as error:
            raise self._misfit() from error
        return heads.to(device).eval()

    def _misfit(self) -> UserError:
        return UserError(
            f"The weights in {self.folder} do not fit its own configuration: "
            f"it was written by another version ({self.configuration.code_version}) of framedream."
        )

    def training_tensors(self) -> dict[str, Tensor]:
        """Optimiser and random states, by name."""
        if not has_tensors(self.folder, TRAINING):
            raise UserError(
                f"{self.folder} was exported without the state of its optimiser, so its training cannot be resumed: "
                "go on with the run it was exported from."
            )
        return read_tensors(self.folder, TRAINING)

    @property
    def starts_folder(self) -> Path:
        """Where an exported checkpoint has a data set of its own to begin in."""
        return self.folder.resolve().parent / STARTS_FOLDER

    @property
    def data_folder(self) -> Path | None:
        """A data set to begin in, if one is there: the one it was trained on, or else its own starts."""
        folders = (self.configuration.data_folder, self.starts_folder)
        return next((folder for folder in folders if folder is not None and folder.exists()), None)


def open_checkpoint(folder: Path) -> Checkpoint:
    """A run's newest checkpoint (`sim:NAME` is a run), or the given one; refused when it is damaged or not ours."""
    folder = find_checkpoint(folder)
    check_folder(folder)
    return Checkpoint(folder, Configuration.read(folder), read_training(folder))


def load_simulator(folder: Path | str, device: str | torch.device = "cpu") -> Simulator:
    """The simulator of a run folder (its newest checkpoint), of a step folder, or of `sim:NAME`."""
    return open_checkpoint(Path(folder)).simulator(device)


def save_checkpoint(
    run: Path,
    simulator: Simulator,
    configuration: Configuration,
    training: Mapping[str, Any],
    training_tensors: Mapping[str, Tensor] | None,
    shard_bytes: int | None = None,
    heads: Heads | None = None,
) -> Path:
    """Write `run/step-N` for N = `training["updates"]`; a checkpoint that is already there stays.

    Without `training_tensors` it can be used, but its training cannot be resumed.
    """
    step = step_folder(run, training["updates"])
    if step.exists():
        return step
    with new_folder(step) as folder:
        configuration.write(folder)
        (folder / TRAINING_FILE).write_text(json.dumps(dict(training), indent=1) + "\n")
        write_tensors(folder, MODEL, simulator.state_dict(), shard_bytes)
        if heads is not None:
            write_tensors(folder, HEADS, heads.state_dict())
        if training_tensors is not None:
            write_tensors(folder, TRAINING, training_tensors, shard_bytes)
    return step
