"""One sitting of a training run: what happens after every update and every batch."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from framedream.checkpoint.checkpoint import save_checkpoint
from framedream.checkpoint.configuration import Configuration
from framedream.checkpoint.run_folder import remove_old_checkpoints, step_folders
from framedream.model.simulator import Simulator
from framedream.training.interruption import Stop
from framedream.training.learner import Learner
from framedream.training.loop import Update
from framedream.training.records import Diverged, Records
from framedream.training.specification import RunSpec

Outcome = Literal["finished", "interrupted", "out of time"]
Evaluate = Callable[[Simulator, Callable[[], None]], Mapping[str, float]]
"""Measures a simulator, by names such as `test/error_10`; calls its second argument often, which may raise, to stop."""

RATES = "--learning-rate and --early-learning-rate, which the phases before the last one use,"
_PREDICTION_ERROR = re.compile(r"(train|test)/error_(\d+)")


class Display(Protocol):
    """Who watches a run."""

    def begin(self, updates_made: int, updates: int) -> None: ...
    def advance(self, updates_made: int) -> None: ...
    def show(self, row: Mapping[str, Any]) -> None: ...
    def say(self, text: str) -> None: ...


class Session:
    """One sitting of a run: what happens after every update and every batch."""

    def __init__(
        self,
        learner: Learner,
        out: Path,
        run: RunSpec,
        config: Configuration,
        evaluate: Evaluate | None,
        records: Records,
        stop: Stop,
        display: Display,
        score: float | None = None,
    ) -> None:
        self._learner, self._out, self._run, self._config = learner, out, run, config
        self._evaluate, self._records, self._stop, self._display = evaluate, records, stop, display
        self._seen = learner.position.updates
        self._score = score
        self._clock = time.monotonic()

    def begin(self) -> None:
        position = self._learner.position
        self._records.start(position)
        self._display.begin(position.updates, self._run.updates)
        if position.updates == 0:
            # From here on the folder can be opened and resumed, whatever happens.
            self._save()
        self._clock = time.monotonic()

    def on_update(self, update: Update) -> None:
        self._score = None
        self._records.add(update)
        # Reading a loss waits for a GPU, but costs nothing on a CPU.
        if self._learner.device.type == "cpu":
            self._check()

    def go_on(self) -> bool:
        position = self._learner.position
        due = self._is_due(self._run.log_every)
        if due:
            self._check()  # waits for a GPU to finish what it was told: that is training time too
        position.seconds += time.monotonic() - self._clock
        self._display.advance(position.updates)
        if due:
            self._log()
        if self._is_due(self._run.evaluate_every):
            self._measure()
        if self._is_due(self._run.checkpoint_every):
            self._save()
        self._seen = position.updates
        self._clock = time.monotonic()
        return not self._stop.requested

    def end(self) -> Outcome:
        finished = self._learner.position.updates >= self._run.updates
        if finished and self._score is None:
            self._measure()
        if self._records.has_more:
            self._log()
        self._save()
        if finished:
            return "finished"
        return "interrupted" if self._stop.signalled else "out of time"

    def _is_due(self, every: int) -> bool:
        """Whether a multiple of `every` lies among the last batch's updates."""
        return every > 0 and self._learner.position.updates // every > self._seen // every

    def _log(self) -> None:
        self._check()
        self._display.show(self._records.write_training(self._learner.position))

    def _measure(self) -> None:
        if self._evaluate is None:
            return
        simulator = self._learner.simulator
        simulator.eval()
        try:
            found = self._evaluate(simulator, self._stop.raise_if_signalled)
        except KeyboardInterrupt:
            return
        finally:
            simulator.train()
        self._records.write_evaluation(self._learner.position, found)
        self._score = score(found)
        self._display.say(in_words(self._learner.position.updates, found))

    def _save(self) -> None:
        self._check()
        learner, run = self._learner, self._run
        if not learner.is_finite():
            raise self._explained(Diverged(f"A parameter is no longer a number at update {learner.position.updates}"))
        shard_bytes = None if run.shard_size is None else run.shard_size * 1_000_000
        training = {**learner.progress(), "score": self._score}
        heads = None if learner.heads is None else learner.heads.heads
        save_checkpoint(self._out, learner.simulator, self._config, training, learner.tensors(), shard_bytes, heads)
        remove_old_checkpoints(self._out, run.keep_checkpoints)

    def _check(self) -> None:
        try:
            self._records.check()
        except Diverged as error:
            raise self._explained(error) from None

    def _explained(self, error: Diverged) -> Diverged:
        good = step_folders(self._out)
        rates = "--learning-rate" if self._run.early_learning_rate is None else RATES
        remedy = f"a lower {rates}{'' if self._run.clip else ' or --clip'}"
        if not good:
            return Diverged(f"{error}: use {remedy}.")
        return Diverged(f"{error}; {good[-1]} is good: go on with --resume and {remedy}.")


def score(found: Mapping[str, float]) -> float | None:
    """What checkpoints of a run are compared by: the prediction error, averaged over the measured test steps."""
    errors = [error for (split, _), error in _prediction_errors(found).items() if split == "test"]
    return sum(errors) / len(errors) if errors and all(map(math.isfinite, errors)) else None


def in_words(updates: int, found: Mapping[str, float]) -> str:
    """A line such as "update 500: prediction error at steps 1/5/10: train 1.2/3.4/5.6, test 1.3/3.5/5.9"."""
    errors = _prediction_errors(found)
    steps = sorted({step for _, step in errors})
    texts = [
        f"{split} " + "/".join(f"{errors[split, step]:.3g}" for step in steps)
        for split in dict.fromkeys(split for split, _ in errors)
    ]
    return f"update {updates:,}: prediction error at steps {'/'.join(map(str, steps))}: {', '.join(texts)}"


def _prediction_errors(found: Mapping[str, float]) -> dict[tuple[str, int], float]:
    matches = {name: _PREDICTION_ERROR.fullmatch(name) for name in found}
    return {(match[1], int(match[2])): found[name] for name, match in matches.items() if match}
