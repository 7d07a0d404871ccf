"""Where evaluations lie: `RUN/evaluation/step-N/` for the checkpoint `RUN/step-N`, never inside the checkpoint."""

from __future__ import annotations

import shlex
from pathlib import Path

from framedream.checkpoint.run_folder import find_checkpoint, step_folders
from framedream.errors import UserError
from framedream.evaluation.results import RESULTS_FILE, Evaluation, read_results

EVALUATION_FOLDER = "evaluation"


def results_folder(checkpoint: Path) -> Path:
    """Where the evaluation of a checkpoint is written."""
    checkpoint = checkpoint.resolve()
    return checkpoint.parent / EVALUATION_FOLDER / checkpoint.name


def stored_evaluation(checkpoint: Path) -> Evaluation | None:
    """The evaluation of a checkpoint, where there is one."""
    return evaluation_in(results_folder(checkpoint))


def evaluation_in(folder: Path) -> Evaluation | None:
    """The evaluation that was written to a folder, where there is one."""
    return read_results(folder) if (folder / RESULTS_FILE).exists() else None


def evaluated_checkpoints(run: Path) -> list[tuple[Path, Evaluation]]:
    """The evaluated checkpoints of a run, or the one that `run` is, oldest first."""
    newest = find_checkpoint(run)
    checkpoints = [run] if newest == run else step_folders(run)
    found = [(checkpoint, stored_evaluation(checkpoint)) for checkpoint in checkpoints]
    evaluated = [(checkpoint, evaluation) for checkpoint, evaluation in found if evaluation is not None]
    if not evaluated:
        raise UserError(f"{run} has not been evaluated: run `framedream evaluate {shlex.quote(str(run))}` first.")
    return evaluated
