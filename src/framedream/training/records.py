"""A run's records: `metrics.jsonl`, TensorBoard, and the alarm when the loss is no longer a number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from torch.utils.tensorboard import SummaryWriter

from framedream.checkpoint.folder import replace_file
from framedream.checkpoint.run_folder import METRICS_FILE, read_metrics
from framedream.errors import UserError
from framedream.training.learner import Position
from framedream.training.loop import Update

TENSORBOARD_FOLDER = "tensorboard"


class Diverged(UserError):
    """The loss or the gradient is no longer a number."""


class Records:
    """Writes what happens in a run; what an interrupted run had written beyond `updates` is taken back."""

    def __init__(self, run: Path, updates: int) -> None:
        try:
            _cut_metrics(run / METRICS_FILE, updates)
            self._file = (run / METRICS_FILE).open("a")
            self._board = SummaryWriter(str(run / TENSORBOARD_FOLDER), purge_step=updates + 1)
        except OSError as error:
            raise UserError(f"{run} cannot be written ({error.strerror}): make room, or move the run.") from error
        self._losses: list[float] = []
        self._heads_losses: dict[str, list[float]] = {}
        self._pending: list[Update] = []
        self._latest = (math.nan, math.nan)
        self._seconds = self._frames = 0.0

    def start(self, position: Position) -> None:
        """Measure speeds from here on."""
        self._seconds, self._frames = position.seconds, position.frames_with_warm_up

    def add(self, update: Update) -> None:
        """Note an update; its tensors are read by the next `check`."""
        self._pending.append(update)

    def check(self) -> None:
        """Read the noted updates (which waits for a GPU); raises `Diverged` at the first that is not a number."""
        pending, self._pending = self._pending, []
        for update in pending:
            loss, norm = update.loss.item(), update.gradient_norm.item()
            if not math.isfinite(loss) or not math.isfinite(norm):
                what = f"loss is {loss}" if not math.isfinite(loss) else f"gradient's norm is {norm}"
                raise Diverged(f"The {what} at update {update.number}")
            self._losses.append(loss)
            for name, tensor in update.heads.items():
                heads_loss = tensor.item()
                if not math.isfinite(heads_loss):
                    raise Diverged(f"The loss of the head {name} is {heads_loss} at update {update.number}")
                self._heads_losses.setdefault(name, []).append(heads_loss)
            self._latest = (norm, update.learning_rate)

    @property
    def has_more(self) -> bool:
        """Whether updates have been noted since the last line."""
        return bool(self._losses or self._pending)

    def write_training(self, position: Position) -> dict[str, Any]:
        """Write and return a line about the updates since the last one."""
        self.check()
        norm, rate = self._latest
        heads = {f"{name}_loss": sum(losses) / len(losses) for name, losses in self._heads_losses.items()}
        seconds = position.seconds - self._seconds
        row = {
            **_counts(position),
            "loss": sum(self._losses) / len(self._losses),
            **heads,
            "gradient_norm": norm,
            "learning_rate": rate,
            "frames_per_second": (position.frames_with_warm_up - self._frames) / max(seconds, 1e-9),
        }
        self._losses.clear()
        self._heads_losses.clear()
        self.start(position)
        self._write("training", row, ("loss", *heads, "gradient_norm", "learning_rate", "frames_per_second"))
        return row

    def write_evaluation(self, position: Position, errors: Mapping[str, float]) -> None:
        """Write prediction errors, by names such as `test/error_10`; JSON has no word for one that is not a number."""
        known = {name: error if math.isfinite(error) else None for name, error in errors.items()}
        self._write("evaluation", {**_counts(position), **known}, tuple(errors))

    def _write(self, kind: str, row: Mapping[str, Any], plotted: tuple[str, ...]) -> None:
        try:
            self._file.write(json.dumps({"kind": kind, **row}) + "\n")
            self._file.flush()
        except OSError as error:
            raise self._cannot_write(error) from error
        for name in plotted:
            if row[name] is not None:
                self._board.add_scalar(name if "/" in name else f"training/{name}", row[name], row["updates"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What could not be written has been said; closing would try once more.
        for closing in (self._file, self._board):
            with suppress(OSError):
                closing.close()

    def _cannot_write(self, error: OSError) -> UserError:
        return UserError(
            f"{self._file.name} cannot be written ({error.strerror}): the newest checkpoint is good, "
            "so make room and go on with --resume."
        )


def _counts(position: Position) -> dict[str, Any]:
    return {
        "updates": position.updates,
        "frames": position.frames,
        "frames_with_warm_up": position.frames_with_warm_up,
        "seconds": round(position.seconds, 3),
    }


def _cut_metrics(path: Path, updates: int) -> None:
    if path.exists():
        kept = [row for row in read_metrics(path.parent) if row["updates"] <= updates]
        replace_file(path, "".join(json.dumps(row) + "\n" for row in kept))
