"""How far predicted rewards and ends can be trusted: in open loop, on the sequences that frames are measured on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from framedream.data.dataset import Split
from framedream.data.reader import SegmentReader
from framedream.data.segment import Batch
from framedream.evaluation.results import EndScore, HeadScores, RewardScore
from framedream.model.heads import Heads

FIRST_STEPS = 10
EVEN_ODDS = 0.5

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ExaminedHeads:
    """Heads, and what is known of rewards from training data without any of them."""

    heads: Heads
    mean_reward: float
    event: float
    """A predicted reward of at least this size is an event: half the median size of those that are not 0."""

    @classmethod
    def of(cls, heads: Heads, training: Split) -> ExaminedHeads:
        with SegmentReader(training, states=False) as reader:
            rewards = reader.transitions("reward").astype(np.float64)
        sizes = np.abs(rewards[rewards != 0])
        return cls(heads, float(rewards.mean()), float(np.median(sizes)) / 2 if len(sizes) else 0.5)


class HeadTracking:
    """Fills up batch by batch and step by step."""

    def __init__(self, examined: ExaminedHeads, sequences: int, horizon: int, warm_up: int) -> None:
        self._examined, self._warm_up = examined, warm_up
        shape = (sequences, horizon)
        self._rewards, self._said_rewards, self._said_ends = (np.zeros(shape) for _ in range(3))
        self._ends = np.zeros(shape, np.bool_)
        self._ranges = [(1, FIRST_STEPS), (1, horizon)] if horizon > FIRST_STEPS else [(1, horizon)]

    def add(self, rows: slice, step: int, hidden: Tensor, batch: Batch) -> None:
        """What the heads say of the states (B, H) that the model came to in this step (from 0), and what happened."""
        into = self._warm_up - 1 + step
        self._rewards[rows, step] = batch.rewards[:, into]
        self._ends[rows, step] = batch.terminations[:, into]
        heads = self._examined.heads
        for said, column in ((heads.reward(hidden), self._said_rewards), (heads.end(hidden), self._said_ends)):
            if said is not None:
                column[rows, step] = said.double().cpu().numpy()

    def result(self) -> HeadScores:
        names = self._examined.heads.spec.names
        return HeadScores(
            rewards=tuple(self._reward_score(*steps) for steps in self._ranges) if "reward" in names else (),
            ends=tuple(self._end_score(*steps) for steps in self._ranges) if "end" in names else (),
        )

    def _reward_score(self, first: int, last: int) -> RewardScore:
        steps = slice(first - 1, last)
        real, said = self._rewards, self._said_rewards
        counts = np.zeros(4, np.int64)
        for sign in (1, -1):
            happened, predicted = sign * real > 0, sign * said >= self._examined.event
            found, right = happened & _or_next_to_it(predicted), predicted & _or_next_to_it(happened)
            counts += [int(flags[:, steps].sum()) for flags in (happened, found, predicted, right)]
        events, found_events, predictions, right_predictions = counts.tolist()
        real, said = real[:, steps], said[:, steps]
        return RewardScore(
            first=first,
            last=last,
            error=float(np.abs(real - said).mean()),
            error_of_zero=float(np.abs(real).mean()),
            error_of_mean=float(np.abs(real - self._examined.mean_reward).mean()),
            events=events,
            predictions=predictions,
            recall=_share(found_events, events),
            precision=_share(right_predictions, predictions),
        )

    def _end_score(self, first: int, last: int) -> EndScore:
        steps = slice(first - 1, last)
        happened, predicted = self._ends[:, steps], self._said_ends[:, steps] > EVEN_ODDS
        both, ends, predictions = (int(flags.sum()) for flags in (happened & predicted, happened, predicted))
        return EndScore(
            first=first,
            last=last,
            events=ends,
            base_rate=ends / happened.size,
            predictions=predictions,
            recall=_share(both, ends),
            precision=_share(both, predictions),
        )


def _or_next_to_it(flags: Flags) -> Flags:
    """Whether a flag is up at a step, the one before or the one after."""
    near = flags.copy()
    near[:, 1:] |= flags[:, :-1]
    near[:, :-1] |= flags[:, 1:]
    return near


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


Number = float | int | None


def tables(scores: HeadScores) -> list[tuple[str, tuple[str, ...], list[tuple[str, tuple[Number, ...]]]]]:
    """Title, columns and rows (steps, then numbers) of what there is to show, for consoles and pages."""
    rewards: list[tuple[str, tuple[Number, ...]]] = [
        (_steps(s), (s.error, s.error_of_zero, s.error_of_mean, s.events, s.predictions, s.recall, s.precision))
        for s in scores.rewards
    ]
    ends: list[tuple[str, tuple[Number, ...]]] = [
        (_steps(s), (s.events, s.base_rate, s.predictions, s.recall, s.precision)) for s in scores.ends
    ]
    found = [("Predicted rewards", REWARD_COLUMNS, rewards), ("Predicted ends", END_COLUMNS, ends)]
    return [table for table in found if table[2]]


REWARD_COLUMNS = (
    "steps",
    "error",
    "of always 0",
    "of training mean",
    "not 0",
    "predicted",
    "recall",
    "precision",
)
END_COLUMNS = ("steps", "ends", "base rate", "predicted", "recall", "precision")


def notes(scores: HeadScores) -> tuple[str, ...]:
    """What the numbers cannot say."""
    said = []
    if scores.rewards and not scores.rewards[-1].events:
        said.append("No transition in these sequences has a reward other than 0: they cannot show that any is found.")
    if scores.ends and not scores.ends[-1].events:
        said.append("No episode ends within these sequences: they cannot show that ends are found.")
    return tuple(said)


def _steps(score: RewardScore | EndScore) -> str:
    return f"{score.first} to {score.last}"
