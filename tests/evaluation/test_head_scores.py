"""Scores of rewards and ends: against brute force, and against heads that know the answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from worlds import FakeSimulator, as_simulator, count_on, counting_data_set

from framedream.data.segment import Batch
from framedream.envs.counting import read_count
from framedream.evaluation.heads import ExaminedHeads, HeadTracking, notes
from framedream.evaluation.measure import measure
from framedream.evaluation.reference import make_reference
from framedream.evaluation.results import HeadScores, Measurement
from framedream.evaluation.sequences import choose_sequences

WARM_UP, SEQUENCES, HORIZON = 4, 7, 25


@dataclass
class ToldHeads:
    """They say what the state says: the reward first, then the odds of an end."""

    names: tuple[str, ...] = ("reward", "end")

    @property
    def spec(self) -> Any:
        return SimpleNamespace(names=self.names)

    def reward(self, hidden: Tensor) -> Tensor:
        return hidden[:, 0]

    def end(self, hidden: Tensor) -> Tensor:
        return hidden[:, 1]


def scored(
    real: NDArray[Any], said: NDArray[Any], ends: NDArray[Any], odds: NDArray[Any], mean: float = 0.3
) -> HeadScores:
    examined = ExaminedHeads(ToldHeads(), mean_reward=mean, event=0.5)  # type: ignore[arg-type]
    tracking = HeadTracking(examined, len(real), HORIZON, WARM_UP)
    before = np.full((len(real), WARM_UP - 1), 99.0)  # what lies before the first prediction must not count
    batch = Batch(
        frames=np.zeros((len(real), WARM_UP + HORIZON), np.uint8),
        actions=np.zeros((len(real), WARM_UP + HORIZON), np.int64),
        rewards=np.concatenate([before, real, before[:, :1]], axis=1).astype(np.float32),
        terminations=np.concatenate([before > 0, ends, before[:, :1] > 0], axis=1),
        truncations=np.zeros((len(real), WARM_UP + HORIZON), np.bool_),
        states=None,
        ids=(),
    )
    for step in range(HORIZON):
        tracking.add(slice(0, len(real)), step, torch.from_numpy(np.stack([said, odds], -1)[:, step]), batch)
    return tracking.result()


def share(hits: list[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_brute_force(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = (SEQUENCES, HORIZON)
    real = random.choice([0.0, 0.0, 0.0, 0.0, 1.0, -1.0], size=shape)
    said = np.roll(real, random.integers(-1, 2), 1) * random.choice([0.3, 1.0], size=shape) + random.normal(
        0, 0.2, shape
    )
    ends, odds = random.random(shape) < 0.1, random.random(shape)
    scores = scored(real, said, ends, odds)
    for score, end_score in zip(scores.rewards, scores.ends, strict=True):
        assert score.first == end_score.first == 1
        places = [(s, t) for s in range(SEQUENCES) for t in range(score.last)]

        def near(values: NDArray[Any], s: int, t: int, sign: float, least: float) -> bool:
            return any(sign * values[s, u] >= least for u in (t - 1, t, t + 1) if 0 <= u < HORIZON)

        found = [near(said, s, t, real[s, t], 0.5) for s, t in places if real[s, t]]
        right = [near(real, s, t, np.sign(said[s, t]), 0.5) for s, t in places if abs(said[s, t]) >= 0.5]
        assert (score.events, score.predictions) == (len(found), len(right))
        assert score.recall == pytest.approx(share(found))
        assert score.precision == pytest.approx(share(right))
        errors = [[abs(real[p] - guess) for p in places] for guess in (0.0, 0.3)]
        assert score.error == pytest.approx(np.mean([abs(real[p] - said[p]) for p in places]), rel=1e-6)
        assert (score.error_of_zero, score.error_of_mean) == pytest.approx(tuple(map(np.mean, errors)), rel=1e-6)
        ended = [bool(odds[p] > 0.5) for p in places if ends[p]]
        predicted = [bool(ends[p]) for p in places if odds[p] > 0.5]
        assert (end_score.events, end_score.predictions) == (len(ended), len(predicted))
        assert end_score.base_rate == pytest.approx(len(ended) / len(places))
        assert (end_score.recall, end_score.precision) == (share(ended), share(predicted))
    assert [score.last for score in scores.rewards] == [10, HORIZON]


def test_what_the_data_cannot_show_is_said() -> None:
    nothing = np.zeros((SEQUENCES, HORIZON))
    scores = scored(nothing, nothing + 0.1, nothing > 0, nothing)
    assert scores.rewards[-1].recall is None
    assert scores.rewards[-1].precision is None
    assert scores.ends[-1].recall is None
    assert len(notes(scores)) == 2
    assert notes(scored(nothing + 1, nothing, nothing == 0, nothing)) == ()


class ReadingHeads(ToldHeads):
    """Heads that read the step out of the frame in the state: the counting environment's reward is its step."""

    def __init__(self, simulator: FakeSimulator) -> None:
        super().__init__(("reward",))
        self.simulator = simulator

    def reward(self, hidden: Tensor) -> Tensor:
        frames = self.simulator.to_bytes(hidden).numpy()
        return torch.tensor([float(read_count(frame).step) for frame in frames])

    def end(self, hidden: Tensor) -> Tensor | None:  # type: ignore[override]
        return None


def test_a_reward_belongs_to_the_transition_into_its_state(tmp_path: Path) -> None:
    """A perfect simulator with heads that know makes no error at all; one step off would be an error of 1."""
    data = counting_data_set(tmp_path / "data")
    simulator = FakeSimulator(count_on, data.palette)
    examined = ExaminedHeads.of(ReadingHeads(simulator), data.split("train"))  # type: ignore[arg-type]
    reference = make_reference(data.split("train"), data.palette, WARM_UP, 12, torch.device("cpu"))
    chosen = choose_sequences(data.split("test"), 30, WARM_UP, 12)
    measured = measure(as_simulator(simulator), data, chosen, reference, heads=examined)
    assert measured.heads is not None
    whole = measured.heads.rewards[-1]
    assert whole.error == 0
    assert whole.precision == 1
    assert whole.recall == pytest.approx(1, abs=0.05)  # rewards far below the usual size are not looked for
    assert whole.error_of_zero > 5
    assert measured.heads.ends == ()
    # The mean over all training transitions, of which none leaves an episode's last frame.
    lengths = data.split("train").episodes.length
    assert examined.mean_reward == pytest.approx(sum(n * (n - 1) / 2 for n in lengths) / sum(n - 1 for n in lengths))


def test_measurements_without_heads_read_as_before(tmp_path: Path) -> None:
    data = counting_data_set(tmp_path / "data")
    reference = make_reference(data.split("train"), data.palette, WARM_UP, 12, torch.device("cpu"))
    chosen = choose_sequences(data.split("test"), 8, WARM_UP, 12)
    measured = measure(as_simulator(FakeSimulator(count_on, data.palette)), data, chosen, reference)
    assert measured.heads is None
    fields = {name: getattr(measured, name) for name in Measurement.__dataclass_fields__ if name != "heads"}
    old = {**fields, "curves": [], "differences": [], "objects": []}
    assert Measurement.from_json(old).heads is None
