"""A run's folder: `step-N` folders, of which the newest complete one wins, beside the run's metrics and lock."""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from framedream.checkpoint.folder import FILE_LIST, remove_folder
from framedream.checkpoint.shipped import folder_of
from framedream.errors import UserError

TRAINING_FILE = "training.json"
METRICS_FILE = "metrics.jsonl"
LOCK_FILE = ".lock"
STARTS_FOLDER = "starts"
"""In exported runs: a data set, so that dreams can begin where the one that they were trained on is not."""
_COUNTED = ("updates", "frames")
"""What every line of the metrics says."""
_STEP = re.compile(r"step-(\d+)")


def step_folder(run: Path, updates: int) -> Path:
    return run / f"step-{updates}"


def step_folders(run: Path) -> list[Path]:
    """The complete checkpoints of a run, oldest first. (Incomplete ones never carry the name.)"""
    found = [(int(match[1]), path) for path in run.glob("step-*") if (match := _STEP.fullmatch(path.name))]
    return [path for _, path in sorted(found)]


def find_checkpoint(run: Path) -> Path:
    """The checkpoint meant by a folder or by `sim:NAME`: itself when it is one, the newest one when it is a run."""
    folder = folder_of(run)
    if not folder.exists():
        raise UserError(f"There is no run or checkpoint at {folder}: `framedream train` makes one.")
    if (folder / FILE_LIST).exists():
        return folder
    steps = step_folders(folder) if folder.is_dir() else []
    if not steps:
        raise UserError(f"{folder} is neither a run nor a checkpoint: it has no step-N folder and no {FILE_LIST}.")
    return steps[-1]


def read_training(step: Path) -> dict[str, Any]:
    """How far training was at this checkpoint: `updates`, `frames`, …, and the `score` it had, if one was taken."""
    content: dict[str, Any] = json.loads((step / TRAINING_FILE).read_text())
    return content


def remove_old_checkpoints(run: Path, keep: int) -> None:
    """Keep the newest `keep` checkpoints and the one with the lowest score; `keep` = 0 keeps all."""
    steps = step_folders(run)
    if keep == 0 or len(steps) <= keep:
        return
    best = best_checkpoint(run)
    for step in steps[:-keep]:
        if step != best:
            remove_folder(step)


def best_checkpoint(run: Path) -> Path | None:
    """The checkpoint with the lowest score, the newest of equals; None where nothing was measured."""
    measured = {step: score for step in step_folders(run) if (score := _score(step)) is not None}
    return min(reversed(measured), key=lambda step: measured[step], default=None)


def _score(step: Path) -> float | None:
    """What was measured at a checkpoint; nothing where an old one is damaged, which training need not care about."""
    try:
        score = read_training(step).get("score")
    except (OSError, ValueError, AttributeError):
        return None
    return score if isinstance(score, int | float) else None


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """The lines of a run's metrics; what a killed program left half written, or is not ours, is passed over."""
    path = run / METRICS_FILE
    rows = []
    for line in path.read_text(errors="replace").splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and all(isinstance(row.get(name), int | float) for name in _COUNTED):
            rows.append(row)
    return rows


@contextmanager
def only_trainer(run: Path) -> Iterator[None]:
    """Hold a run for training, or refuse because another program does; the system frees it when we die."""
    try:
        file = (run / LOCK_FILE).open("a")
    except OSError as error:
        raise UserError(f"{run} cannot be written ({error.strerror}): copy it elsewhere to go on with it.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"Another program is training {run}; wait until it has ended, or choose another --out."
            ) from error
        yield
