"""A training run from its first update to its last: measurements, checkpoints and records around the loop."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import torch

from framedream.checkpoint.checkpoint import open_checkpoint
from framedream.checkpoint.folder import remove_leftovers
from framedream.checkpoint.run_folder import METRICS_FILE, only_trainer, step_folders
from framedream.data.dataset import DataSet
from framedream.errors import UserError
from framedream.training.interruption import Stop
from framedream.training.loop import train
from framedream.training.records import TENSORBOARD_FOLDER, Records
from framedream.training.resident import choose_source
from framedream.training.session import Display, Evaluate, Outcome, Session
from framedream.training.setup import (
    configuration,
    learning_rate,
    new_learner,
    refuse_long_sequences,
    refuse_other_run,
    resumed_learner,
)
from framedream.training.specification import RunSpec


def run_training(
    data: DataSet,
    out: Path,
    run: RunSpec,
    display: Display,
    *,
    preset: str,
    device: torch.device,
    evaluate: Evaluate | None = None,
    resume: bool = False,
    minutes: float | None = None,
    fast: bool = False,
) -> Outcome:
    """Train in the folder `out`, from the beginning or from its newest checkpoint."""
    simulator_spec = run.simulator(*data.recording.frame_shape, len(data.recording.action_meanings))
    scheme = run.phases(simulator_spec.transition.prediction_independent)
    refuse_long_sequences(data, run, scheme)
    _prepare_folder(out, resume)
    with ExitStack() as stack:
        stack.enter_context(only_trainer(out))
        remove_leftovers(out)
        score = None
        if step_folders(out):
            checkpoint = open_checkpoint(out)
            refuse_other_run(checkpoint, data, run)
            learner, score = resumed_learner(checkpoint, run, device, fast), checkpoint.training.get("score")
        else:
            learner = new_learner(data, run, device, fast)
        session = Session(
            learner,
            out,
            run,
            configuration(data, run, scheme, learner, preset),
            evaluate,
            stack.enter_context(Records(out, learner.position.updates)),
            stack.enter_context(Stop(minutes)),
            display,
            score,
        )
        split = data.split("train")
        source = stack.enter_context(choose_source(split, run, device))
        session.begin()
        train(
            learner,
            scheme,
            run.updates,
            open_batches=source.open,
            learning_rate=learning_rate(run, scheme),
            on_update=session.on_update,
            go_on=session.go_on,
        )
        return session.end()


def _prepare_folder(out: Path, resume: bool) -> None:
    """Make the folder; refuse one that holds a run which nobody asked to resume, or anything else."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"The folder {out} cannot be made ({error.strerror}): choose another --out.") from error
    if step_folders(out):
        if not resume:
            raise UserError(f"{out} holds a run already: add --resume to go on with it, or choose another --out.")
    elif any(path.name not in (METRICS_FILE, TENSORBOARD_FOLDER) and path.name[0] != "." for path in out.iterdir()):
        raise UserError(f"{out} is not empty and holds no run: choose another --out.")
