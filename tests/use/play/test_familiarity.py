"""How unusual actions are: the trigram model against its definition, and what must and must not be noticed."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from framedream.use.play.familiarity import STRANGE, WINDOW, Familiarity


def dithered(seed: int, length: int, actions: int = 4, change: float = 0.3) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    chosen = [int(generator.integers(actions))]
    while len(chosen) < length:
        chosen.append(int(generator.integers(actions)) if generator.random() < change else chosen[-1])
    return np.array(chosen)


def probability(context: tuple[int, ...], action: int, episodes: list[list[int]], actions: int) -> float:
    """Witten and Bell's smoothing, as it is defined, one context after the other."""
    order = len(context)
    followers: Counter[int] = Counter()
    for episode in episodes:
        for place in range(order, len(episode)):
            if tuple(episode[place - order : place]) == context:
                followers[episode[place]] += 1
    shorter = probability(context[1:], action, episodes, actions) if context else 1 / actions
    total, kinds = sum(followers.values()), len(followers)
    return (followers[action] + kinds * shorter) / (total + kinds) if total else shorter


def test_the_trigram_model_is_witten_and_bells() -> None:
    episodes = [dithered(seed, 40, actions=3).tolist() for seed in range(3)]
    model = Familiarity(episodes, 4)  # the fourth action never comes up
    for first, second, third in np.ndindex(4, 4, 4):
        expected = probability((first, second), third, episodes, 4)
        assert model._probability[first, second, third] == pytest.approx(expected, rel=1e-12)
    assert model._probability.sum(axis=-1) == pytest.approx(np.ones((4, 4)))


def test_strangeness_is_the_share_of_less_strange_training_windows() -> None:
    episodes = [dithered(seed, 60) for seed in range(4)]
    model = Familiarity(episodes, 4)
    windows = [one[start : start + WINDOW + 2] for one in episodes for start in range(60 - WINDOW - 1)]
    lists = [one.tolist() for one in episodes]

    def numbers(window: NDArray[np.int64]) -> tuple[float, float]:
        steps = range(2, WINDOW + 2)
        surprise = -sum(
            math.log2(probability((int(window[n - 2]), int(window[n - 1])), int(window[n]), lists, 4)) for n in steps
        )
        everything = np.concatenate(episodes)
        shares = [(np.sum(everything == a) + 0.25) / (len(everything) + 1) for a in range(4)]
        mine = [float(np.mean(window[2:] == a)) for a in range(4)]
        return surprise / WINDOW, sum(m * math.log2(m / s) for m, s in zip(mine, shares, strict=True) if m)

    known = np.array([numbers(window) for window in windows])
    for window in (windows[0], windows[17], dithered(99, WINDOW + 2), np.zeros(WINDOW + 2, np.int64)):
        mine = np.array(numbers(window))
        expected = float((known < mine - 1e-8).mean(axis=0).max())
        assert model.strangeness(window.tolist()) == pytest.approx(expected)


def test_players_like_the_training_data_are_hardly_ever_warned() -> None:
    model = Familiarity([dithered(seed, 1000) for seed in range(20)], 4)
    alike = dithered(1000, 5000).tolist()
    found = [model.strangeness(alike[:end]) for end in range(WINDOW + 2, len(alike))]
    assert np.mean([one >= STRANGE for one in found if one is not None]) < 0.01


HAMMERING = np.random.default_rng(5).integers(4, size=40).tolist()


@pytest.mark.parametrize(
    ("trained_on", "played"),
    [
        pytest.param("random", [2] * 40, id="one key held, where nobody ever did"),
        pytest.param("dithered", [0, 1] * 20, id="two keys in turn, where keys were held"),
        pytest.param("dithered", HAMMERING, id="hammering, where keys were held"),
        pytest.param("three", [3, 3, 0, 3] * 10, id="a key that nobody ever pressed"),
    ],
)
def test_players_unlike_the_training_data_are_warned(trained_on: str, played: list[int]) -> None:
    random = np.random.default_rng(0)
    episodes = {
        "random": [random.integers(4, size=2000) for _ in range(10)],
        "dithered": [dithered(seed, 2000, change=0.1) for seed in range(10)],
        "three": [random.integers(3, size=2000) for _ in range(10)],
    }
    strangeness = Familiarity(episodes[trained_on], 4).strangeness(played)
    assert strangeness is not None and strangeness >= STRANGE


def test_nothing_is_said_before_there_is_something_to_say() -> None:
    model = Familiarity([dithered(0, 100)], 4)
    assert model.strangeness([0] * (WINDOW + 1)) is None
    assert model.strangeness([0] * (WINDOW + 2)) is not None
    short = Familiarity([[0, 1, 2]], 4)
    assert not short.available and short.strangeness([0] * 100) is None
