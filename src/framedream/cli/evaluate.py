"""Measure a simulator's open-loop error at every step to a horizon, beside baselines that need no simulator.

Every sequence is watched for ten frames and then predicted from actions alone. Results go to
RUN/evaluation/step-N/: results.json, steps.csv, a film and sheets of salient frames; `framedream report` makes a
page of them. Of simulators that ship with the package (sim:NAME) nothing is written unless --out says where.
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
    """A run (its newest checkpoint), one of its checkpoints, RUN/step-N, or sim:NAME."""
    data: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """The data set to measure on; by default the one it was trained on, or else the starts it was exported with."""
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
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Write the results here instead."""
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

    if options.out is not None:
        _refuse_target(options)
    newest = find_checkpoint(options.run)
    steps = step_folders(newest.parent) if options.all_checkpoints else [newest]
    checkpoints = [open_checkpoint(step) for step in steps]
    folders = [_folder(options, checkpoint) for checkpoint in checkpoints]
    plan = _make_plan(options, checkpoints[-1])
    stored = [_stored(options, plan, *pair) for pair in zip(checkpoints, folders, strict=True)]
    check = plan.check_environment() if options.check_environment else None
    if check is not None:
        print(check, file=sys.stderr)
    evaluations = [
        known or _measure(plan, checkpoint, folder, showcase=checkpoint is checkpoints[-1])
        for checkpoint, folder, known in zip(checkpoints, folders, stored, strict=True)
    ]
    if check is not None:
        evaluations[-1] = replace(evaluations[-1], environment_check=check.as_json())
        if folders[-1] is not None:
            write_results(evaluations[-1], folders[-1])
    if options.json:
        content = [evaluation.as_json() for evaluation in evaluations]
        print(json.dumps(content if options.all_checkpoints else content[0], ensure_ascii=False))
    else:
        show(evaluations)
    if check is not None and check.largest_error:
        sys.exit(1)


def _refuse_target(options: Evaluate) -> None:
    """Refuse a folder that cannot be meant, before anything is measured."""
    from framedream.evaluation.store import evaluation_in

    out = options.out
    assert out is not None
    if options.all_checkpoints:
        raise UserError("--out is a folder for one evaluation: leave it out, or leave --all-checkpoints out.")
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and evaluation_in(out) is None):
        raise UserError(f"{out} is there and is no evaluation: choose another --out.")


def _folder(options: Evaluate, checkpoint: Checkpoint) -> Path | None:
    """Where results go; None where that would be inside the package, which is not ours to write in."""
    from framedream.checkpoint.shipped import shipped_name
    from framedream.evaluation.store import results_folder

    if options.out is None and shipped_name(checkpoint.folder) is not None:
        return None
    return options.out or results_folder(checkpoint.folder)


def _make_plan(options: Evaluate, checkpoint: Checkpoint) -> EvaluationPlan:
    from framedream.data.dataset import open_data_set
    from framedream.evaluation.evaluate import EvaluationPlan, Settings
    from framedream.model.device import chosen_device

    data = options.data or checkpoint.data_folder
    if data is None:
        name = checkpoint.configuration.data["folder"]
        raise UserError(f"The data set it was trained on, {name}, is not there: name one with --data.")
    if options.data is None and data == checkpoint.starts_folder:
        print(f"Measuring on {data}, the few episodes that it was exported with: --data names more.", file=sys.stderr)
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


def _stored(options: Evaluate, plan: EvaluationPlan, checkpoint: Checkpoint, folder: Path | None) -> Evaluation | None:
    """What was measured before with the same settings; refused if the settings were others."""
    from framedream.evaluation.store import evaluation_in

    stored = None if options.overwrite or folder is None else evaluation_in(folder)
    if stored is None:
        return None
    if options.out is not None and stored.checkpoint["folder"] != str(checkpoint.folder.resolve()):
        raise UserError(f"{folder} holds the evaluation of another checkpoint: choose another --out.")
    if stored.settings != plan.as_json():
        raise UserError(
            f"{folder} holds an evaluation with other settings: add --overwrite to replace it, or choose another --out."
        )
    print(f"{folder} holds this evaluation already; --overwrite measures again.", file=sys.stderr)
    return stored


def _measure(plan: EvaluationPlan, checkpoint: Checkpoint, folder: Path | None, showcase: bool) -> Evaluation:
    """Measure one checkpoint and write the results down, with something to look at for the one that matters."""
    from framedream.evaluation.console import EvaluationProgress
    from framedream.evaluation.results import write_results

    if folder is None:
        with EvaluationProgress(checkpoint.folder.name) as progress:
            return plan.evaluate(checkpoint, progress)
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
