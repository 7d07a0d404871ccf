"""From a checkpoint and data sets to an evaluation: what is measured on what."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch

from framedream import __version__
from framedream.checkpoint.checkpoint import Checkpoint
from framedream.data.dataset import DataSet
from framedream.errors import UserError
from framedream.evaluation.environment_check import EnvironmentCheck, check_environment
from framedream.evaluation.heads import ExaminedHeads
from framedream.evaluation.measure import measure
from framedream.evaluation.reference import Reference, make_reference
from framedream.evaluation.results import Evaluation
from framedream.evaluation.sequences import Sequences, choose_horizon, choose_sequences
from framedream.evaluation.showcase import make_showcase
from framedream.model.simulator import Simulator

OTHER = "other"

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the number of frames to predict (0: unknown) and how many are done."""


@dataclass(frozen=True)
class Settings:
    """How much is measured. 10,000 sequences are the paper's number."""

    horizon: int = 200
    sequences: int = 1000
    warm_up: int = 10
    splits: tuple[str, ...] = ("test",)

    def __post_init__(self) -> None:
        for name in ("horizon", "sequences", "warm_up"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(self, name)}.")


class EvaluationPlan:
    """The sequences and the reference of a data set, made once for any number of checkpoints."""

    def __init__(
        self, data_set: DataSet, settings: Settings, device: torch.device, other: DataSet | None = None
    ) -> None:
        self.data_set, self.settings, self.device, self.other = data_set, settings, device, other
        training = data_set.split("train")
        splits = [data_set.split(name) for name in settings.splits]
        horizon, notes = choose_horizon([*splits, training], settings.warm_up, settings.horizon)
        self.sequences: dict[str, tuple[DataSet, Sequences]] = {
            split.name: (data_set, choose_sequences(split, settings.sequences, settings.warm_up, horizon, notes))
            for split in splits
        }
        if other is not None:
            split = other.split("test" if len(other.splits["test"].episodes) else "train")
            nearer, notes = choose_horizon([split], settings.warm_up, horizon)
            self.sequences[OTHER] = (
                other,
                choose_sequences(split, settings.sequences, settings.warm_up, nearer, notes),
            )
        self._horizon = horizon
        self._reference: Reference | None = None

    def check_environment(self) -> EnvironmentCheck:
        """Replay some episodes of the first split."""
        data_set, sequences = self.sequences[self.settings.splits[0]]
        return check_environment(data_set, sequences)

    def evaluate(self, checkpoint: Checkpoint, progress: Progress) -> Evaluation:
        """Measure everything on every set of sequences."""
        simulator = checkpoint.simulator(self.device)
        self._refuse_misfit(checkpoint, simulator)
        reference = self._get_reference(progress)
        heads = checkpoint.heads(self.device)
        examined = None if heads is None else ExaminedHeads.of(heads, self.data_set.split("train"))
        measurements = []
        for data, (data_set, sequences) in self.sequences.items():
            frames = len(sequences) * sequences.horizon
            report = partial(progress, f"{data} sequences", frames)
            measurements.append(
                measure(simulator, data_set, sequences, reference, data=data, progress=report, heads=examined)
            )
        return Evaluation(
            checkpoint=_describe(checkpoint, simulator, self.data_set),
            settings=self.as_json(),
            measurements=tuple(measurements),
            showcase=None,
            code_version=__version__,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def film(self, checkpoint: Checkpoint, progress: Progress, folder: Path) -> dict[str, Any]:
        """Film sequences of the first set into `folder`; returns what an evaluation says of that."""
        progress("film and sheets", 0, 0)
        simulator = checkpoint.simulator(self.device)
        return asdict(make_showcase(simulator, *self.sequences[self.settings.splits[0]], folder))

    def as_json(self) -> dict[str, Any]:
        """What is asked: equal for two plans that measure the same."""
        data = {data: data_set.identity for data, (data_set, _) in self.sequences.items()}
        settings: dict[str, Any] = json.loads(json.dumps({**asdict(self.settings), "data": data}))
        return settings

    def _refuse_misfit(self, checkpoint: Checkpoint, simulator: Simulator) -> None:
        """Refuse data that the simulator cannot be shown, naming both."""
        for data_set, _ in self.sequences.values():
            recording = data_set.recording
            checkpoint.configuration.refuse_other_data(
                checkpoint.folder,
                data_set.folder,
                frame_size=recording.frame_shape,
                action_meanings=recording.action_meanings,
            )
            if not simulator.knows_palette(data_set.palette):
                ours = "RGB frames rather" if simulator.palette is None else "another palette"
                raise UserError(
                    f"The simulator in {checkpoint.folder} was trained on {ours} than the palette of "
                    f"{data_set.folder}: evaluate it on data recorded as its own were."
                )

    def _get_reference(self, progress: Progress) -> Reference:
        if self._reference is None:
            progress("mean, median and blend of the training data", 0, 0)
            training = self.data_set.split("train")
            self._reference = make_reference(
                training, self.data_set.palette, self.settings.warm_up, self._horizon, self.device
            )
        return self._reference


def _describe(checkpoint: Checkpoint, simulator: Simulator, data_set: DataSet) -> dict[str, Any]:
    """Which simulator this is and how it came about."""
    counts = ("updates", "frames", "frames_with_warm_up", "seconds")
    folder = checkpoint.folder.resolve()
    return {
        "run": folder.parent.name,
        "folder": str(folder),
        "name": folder.name,
        **{name: checkpoint.training.get(name) for name in counts},
        "parameters": sum(parameter.numel() for parameter in simulator.parameters()),
        "trained_on_this_data": checkpoint.configuration.data.get("identity") == data_set.identity,
        "configuration": asdict(checkpoint.configuration),
    }
