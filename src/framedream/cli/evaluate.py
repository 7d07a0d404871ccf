"""Measure a simulator's open-loop error at every step to a horizon, beside baselines that need no simulator.

Every sequence is watched for ten frames and then predicted from actions alone. Results go to
RUN/evaluation/step-N/: results.json, steps.csv, a film and sheets of salient frames; `framedream report` makes a
page of them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from framedream.errors import UserError

if TYPE_CHECKING:
    from framedream.checkpoint.checkpoint import Checkpoint
    from framedream.evaluation.evaluate import EvaluationPlan
    from framedream.evaluation.results import Evaluation

PAPER_SEQUENCES = 10_000
USUAL_SEQUENCES = 1_000


@dataclass(frozen=True)
class Evaluate:
    """The command's options."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run (its newest checkpoint) or one of its checkpoints, RUN/step-N."""
    data: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """The data set to measure on; by default the one it was trained on."""
    horizon: int = 200
    """Steps to predict."""
    sequences: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Sequences per split: 1,000 unless told; 10,000, the paper's number, for runs of the paper's presets."""
    full: bool = False
    """10,000 sequences for any run."""
    split: Literal["test", "train", "both"] = "test"
    """Held-out episodes, those trained on, or one after the other."""
    warm_up: int = 10
    """Frames observed before the first prediction."""
    other_data: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """A data set of another policy, measured beside."""
    all_checkpoints: bool = False
    """Measure every checkpoint of the run: error against frames seen."""
    check_environment: bool = False
    """Replay some episodes in their environment first: it must make no error at all."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to run the simulator."""
    overwrite: bool = False
    """Measure again what was measured with other settings, and replace it."""
    json: bool = False
    """Print everything as JSON, and nothing else, on standard output."""


def main(arguments: list[str]) -> None:
    """Run `framedream evaluate`."""
    options = tyro.cli(
        Evaluate,
        args=arguments,
        prog="framedream evaluate",
        description=__doc__,
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    from framedream.checkpoint.checkpoint import open_checkpoint
    from framedream.checkpoint.run_folder import find_checkpoint, step_folders
    from framedream.evaluation.console import show
    from framedream.evaluation.results import write_results
    from framedream.evaluation.store import results_folder

    newest = find_checkpoint(options.run)
    folders = step_folders(newest.parent) if options.all_checkpoints else [newest]
    checkpoints = [open_checkpoint(folder) for folder in folders]
    plan = _make_plan(options, checkpoints[-1])
    stored = [_stored(options, plan, checkpoint) for checkpoint in checkpoints]
    check = plan.check_environment() if options.check_environment else None
    if check is not None:
        print(check, file=sys.stderr)
    evaluations = [
        known or _measure(plan, checkpoint, showcase=checkpoint is checkpoints[-1])
        for checkpoint, known in zip(checkpoints, stored, strict=True)
    ]
    if check is not None:
        evaluations[-1] = replace(evaluations[-1], environment_check=check.as_json())
        write_results(evaluations[-1], results_folder(newest))
    if options.json:
        content = [evaluation.as_json() for evaluation in evaluations]
        print(json.dumps(content if options.all_checkpoints else content[0], ensure_ascii=False))
    else:
        show(evaluations)
    if check is not None and check.largest_error:
        sys.exit(1)


def _make_plan(options: Evaluate, checkpoint: Checkpoint) -> EvaluationPlan:
    from framedream.data.dataset import open_data_set
    from framedream.evaluation.evaluate import EvaluationPlan, Settings
    from framedream.model.device import chosen_device

    data = options.data or checkpoint.configuration.data_folder
    if options.data is None and not data.exists():
        raise UserError(f"The data set it was trained on, {data}, is not there: name one with --data.")
    full = options.full or str(checkpoint.configuration.run.get("preset")).startswith("paper-")
    usual = PAPER_SEQUENCES if full else USUAL_SEQUENCES
    settings = Settings(
        horizon=options.horizon,
        sequences=usual if options.sequences is None else options.sequences,
        warm_up=options.warm_up,
        splits=("test", "train") if options.split == "both" else (options.split,),
    )
    other = None if options.other_data is None else open_data_set(options.other_data)
    return EvaluationPlan(open_data_set(data), settings, chosen_device(options.device), other)


def _stored(options: Evaluate, plan: EvaluationPlan, checkpoint: Checkpoint) -> Evaluation | None:
    """What was measured before with the same settings; refused if the settings were others."""
    from framedream.evaluation.store import results_folder, stored_evaluation

    stored = None if options.overwrite else stored_evaluation(checkpoint.folder)
    if stored is None:
        return None
    folder = results_folder(checkpoint.folder)
    if stored.settings != plan.as_json():
        raise UserError(f"{folder} holds an evaluation with other settings: add --overwrite to replace it.")
    print(f"{folder} holds this evaluation already; --overwrite measures again.", file=sys.stderr)
    return stored


def _measure(plan: EvaluationPlan, checkpoint: Checkpoint, showcase: bool) -> Evaluation:
    """Measure one checkpoint and write the results down, with something to look at for the one that matters."""
    from framedream.evaluation.console import EvaluationProgress
    from framedream.evaluation.results import write_results
    from framedream.evaluation.store import results_folder

    folder = results_folder(checkpoint.folder)
    with EvaluationProgress(checkpoint.folder.name) as progress, _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass  # better to learn now that nothing can be written than after hours of measuring
        evaluation = plan.evaluate(checkpoint, progress)
        write_results(evaluation, folder)
        if showcase:
            evaluation = replace(evaluation, showcase=plan.film(checkpoint, progress, folder))
            write_results(evaluation, folder)
    print(f"Written: {folder}", file=sys.stderr)
    return evaluation


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Say in a sentence that the results cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"The results cannot be written to {folder} ({error.strerror or error}): make room there, or copy the run "
            "to a place that can be written, and run the same command with --overwrite."
        ) from error
