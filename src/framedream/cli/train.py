"""Train a simulator on a data set.

Starts from a preset (`framedream presets`), any field of which can be changed here. Ctrl-C saves a checkpoint;
the same command with --resume goes on from the newest one, as if it had never stopped.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from framedream.checkpoint.configuration import Configuration
from framedream.checkpoint.folder import check_folder
from framedream.checkpoint.run_folder import step_folders
from framedream.errors import UserError
from framedream.experiments.presets import preset, refuse_misfit
from framedream.training.scheme import SCHEMES
from framedream.training.specification import RunSpec

if TYPE_CHECKING:
    import torch

    from framedream.data.dataset import DataSet
    from framedream.evaluation.periodic import PeriodicEvaluation

DEFAULT_PRESET = "small"
HOURS_TO_MENTION = 3.0
LINE_EVERY = 10.0  # seconds between lines of progress where there is no terminal to draw a bar on


@dataclass(frozen=True)
class Train:
    """What to train, on what, where."""

    data: Annotated[Path, tyro.conf.Positional]
    """Folder of the data set."""
    out: Path
    """Folder of the run; never overwritten."""
    run: Annotated[RunSpec, tyro.conf.arg(name="")]
    preset: str = DEFAULT_PRESET
    """Ready-made run to start from."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute; auto: on a GPU where there is one."""
    compile: bool = True
    """Take the fast path: on a GPU in bfloat16, with kernels that are compiled the first time; on a CPU by oneDNN."""
    resume: bool = False
    """Go on with the run in --out (or begin it, where there is none yet)."""
    minutes: float | None = None
    """Stop after so many minutes, with a checkpoint."""


def main(arguments: list[str]) -> None:
    """Run `framedream train`."""
    name, run = _starting_point(arguments)
    default = Train(data=tyro.MISSING, out=tyro.MISSING, run=run, preset=name)
    wanted = tyro.cli(Train, args=arguments, prog="framedream train", description=__doc__, default=default)

    if wanted.minutes is not None and not wanted.minutes > 0:
        raise UserError(f"--minutes must be above 0, not {wanted.minutes:g}.")
    from framedream.data.dataset import open_data_set
    from framedream.training.run import run_training

    device = _device(wanted.device)
    on_gpu = device.type == "cuda"
    fast = wanted.compile and (wanted.run.precision == "bfloat16" or not on_gpu)
    data = open_data_set(wanted.data)
    refuse_misfit(wanted.preset, wanted.data, data.recording.frame_shape, data.recording.action_meanings)
    with _Progress() as progress, _enough_memory():
        if fast and on_gpu:
            progress.say("Compiling for this GPU; kernels are kept for the next run (--no-compile does without).")
        outcome = run_training(
            data,
            wanted.out,
            wanted.run,
            progress,
            preset=wanted.preset,
            device=device,
            evaluate=_evaluation(data, wanted.run),
            resume=wanted.resume,
            minutes=wanted.minutes,
            fast=fast,
        )
    if outcome == "finished":
        words = shlex.join(["framedream", "evaluate", str(wanted.out), "--data", str(wanted.data)])
        progress.say(f"Trained: {wanted.out}. Next: {words}")
        return
    again = arguments if "--resume" in arguments else [*arguments, "--resume"]
    progress.say(f"Stopped ({outcome}), saved. To go on: framedream train {shlex.join(again)}")
    if outcome == "interrupted":
        sys.exit(130)


def _starting_point(arguments: list[str]) -> tuple[str, RunSpec]:
    """The preset's name and fields that the command line changes; those of the run itself when it is resumed."""
    out, name = _value_of("--out", arguments), _value_of("--preset", arguments)
    steps = step_folders(Path(out)) if out is not None and "--resume" in arguments else []
    if not steps:
        run = preset(name or DEFAULT_PRESET).run
        scheme = SCHEMES.get(_value_of("--scheme", arguments) or "")
        if scheme is not None and scheme.has_own_lengths:
            run = replace(run, prediction_length=None)  # the preset's is not meant for it
        return name or DEFAULT_PRESET, run
    check_folder(steps[-1])
    began = Configuration.read(steps[-1]).run
    began_with = began.pop("preset")
    if name not in (None, began_with):
        raise UserError(f"The run in {out} began with --preset {began_with}, not {name}: leave --preset out.")
    return began_with, RunSpec.from_json(began)


def _value_of(option: str, arguments: list[str]) -> str | None:
    """What the command line gives for an option, before it is parsed in earnest."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == option:
            return following
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _evaluation(data: DataSet, run: RunSpec) -> PeriodicEvaluation | None:
    from framedream.evaluation.periodic import PeriodicEvaluation

    if run.evaluate_every == 0:
        return None
    splits = [name for name, split in data.splits.items() if len(split.episodes)]
    return PeriodicEvaluation(data, run.evaluation_sequences, run.evaluation_horizon, run.warm_up, splits)


def _device(name: str) -> torch.device:
    import torch

    from framedream.model.device import chosen_device

    device = chosen_device(name)
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True  # every batch has the same shapes
    return device


@contextmanager
def _enough_memory() -> Iterator[None]:
    """Say in a sentence that memory does not suffice, of a GPU or of this machine."""
    import torch

    try:
        yield
    except RuntimeError as error:
        # On a CPU PyTorch has no kind of error of its own for this.
        if isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error):
            raise UserError(
                "There is not enough memory for this run: "
                "make --batch-size, --prediction-length, --filters or --hidden smaller."
            ) from error
        raise


class _Progress:
    """A bar with loss, speed and time left; on a pipe or in a log file, a line now and then."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = Console(highlight=False, soft_wrap=True)
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("updates, {task.fields[state]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("training", state="starting")
        self._latest_line = 0.0
        self._first: tuple[int, float] | None = None
        self._warned = False

    def begin(self, updates_made: int, updates: int) -> None:
        self._bar.reset(self._task, total=updates, completed=updates_made, state="starting")
        self._updates = updates

    def advance(self, updates_made: int) -> None:
        self._bar.update(self._task, completed=updates_made)

    def show(self, row: Mapping[str, Any]) -> None:
        self._warn_of_long_runs(row)
        state = f"loss {row['loss']:.4g}, {row['frames_per_second']:,.0f} frames/s"
        self._bar.update(self._task, state=state)
        if not self._console.is_terminal and time.monotonic() - self._latest_line > LINE_EVERY:
            self._latest_line = time.monotonic()
            self.say(f"update {row['updates']:,} of {self._updates:,}: {state}")

    def say(self, text: str) -> None:
        self._console.print(text)

    def _warn_of_long_runs(self, row: Mapping[str, Any]) -> None:
        """Say once that the run takes much longer than somebody may have thought."""
        if self._first is None:
            self._first = (row["updates"], row["seconds"])  # the first updates are slower than the others
            return
        updates, seconds = row["updates"] - self._first[0], row["seconds"] - self._first[1]
        hours = (self._updates - row["updates"]) * seconds / max(1, updates) / 3600
        if not self._warned and hours > HOURS_TO_MENTION:
            self._warned = True
            self.say(
                f"At this speed the run takes {hours:,.0f} hours more: --minutes M stops it in time, a GPU, smaller "
                "frames (--set resize=[64,64] when they are recorded) or --filters 0.25 make it faster."
            )

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()
