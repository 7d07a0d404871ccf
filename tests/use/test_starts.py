"""Starts: real frames with the actions between them, from anywhere in a recording or from a live environment."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import numpy as np
import pytest

from framedream.agents import make_policy
from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.data.segment import SegmentId
from framedream.envs.counting import CountingEnvironment, read_count
from framedream.errors import UserError
from framedream.use.starts import LONGEST_WAY_IN, LiveStarts, RecordedStarts, Start, stacked

WARM_UP = 7


def assert_actions_lie_between_frames(start: Start) -> None:
    counts = [read_count(frame) for frame in start.frames]
    assert len(start.frames) == len(start.actions) + 1
    assert [count.step - counts[0].step for count in counts] == list(range(len(counts)))
    assert [count.action for count in counts[1:]] == start.actions.tolist()


def test_a_recorded_start_is_that_place_of_the_recording(counting: DataSet) -> None:
    split = counting.split("test")
    with closing(RecordedStarts(counting, "test", WARM_UP)) as starts, SegmentReader(split, states=False) as reader:
        start = starts.draw(np.random.default_rng(5))
        assert_actions_lie_between_frames(start)
        place = SegmentId(start.origin["episode"], start.origin["start"], WARM_UP)
        np.testing.assert_array_equal(start.frames, reader.read(place).frames)
        again = starts.at(place.episode, place.start)
        np.testing.assert_array_equal(again.frames, start.frames)
        assert again.origin == start.origin
        assert start.origin["data"] == counting.identity
        assert read_count(start.frames[0]).step == place.start


def test_every_place_where_a_warm_up_fits_is_equally_likely(counting: DataSet) -> None:
    lengths = counting.split("test").episodes.length
    places = {(e, s) for e, length in enumerate(lengths) for s in range(int(length) - WARM_UP + 1)}
    generator = np.random.default_rng(0)
    with closing(RecordedStarts(counting, "test", WARM_UP)) as starts:
        draws = 40 * len(places)
        drawn = Counter(
            (start.origin["episode"], start.origin["start"]) for start in (starts.draw(generator) for _ in range(draws))
        )
    assert drawn.keys() == places
    # Pearson's statistic has a mean of n - 1 and a variance of 2(n - 1): six deviations are no accident.
    statistic = sum((count - 40) ** 2 / 40 for count in drawn.values())
    assert abs(statistic - len(places) + 1) < 6 * (2 * len(places)) ** 0.5


@pytest.mark.parametrize("place", [(0, -1), (0, 10_000), (-1, 0), (99, 0)])
def test_places_that_do_not_exist_are_refused(counting: DataSet, place: tuple[int, int]) -> None:
    with closing(RecordedStarts(counting, "test", WARM_UP)) as starts, pytest.raises(UserError):
        starts.at(*place)


def live(shortest: int = 100) -> LiveStarts:
    environment = CountingEnvironment(shortest=shortest, longest=shortest + 20)
    return LiveStarts(environment, make_policy("random", environment), WARM_UP)


def test_a_live_start_is_decided_by_the_generator_and_lies_a_random_way_in() -> None:
    starts = live()
    ways = set()
    for seed in range(12):
        start = starts.draw(np.random.default_rng(seed))
        again = live().draw(np.random.default_rng(seed))
        np.testing.assert_array_equal(start.frames, again.frames)
        np.testing.assert_array_equal(start.actions, again.actions)
        assert start.origin == again.origin
        assert_actions_lie_between_frames(start)
        first = read_count(start.frames[0])
        assert (first.step, first.seed) == (start.origin["start"], start.origin["seed"] % 65536)
        ways.add(first.step)
    starts.close()
    assert len(ways) > 6
    assert max(ways) <= LONGEST_WAY_IN


def test_a_live_start_out_of_a_short_episode_is_its_end() -> None:
    for seed in range(5):
        start = live(shortest=10).draw(np.random.default_rng(seed))
        assert_actions_lie_between_frames(start)
        assert len(start.frames) == WARM_UP


def test_episodes_shorter_than_the_warm_up_are_refused() -> None:
    environment = CountingEnvironment(shortest=3, longest=3)
    starts = LiveStarts(environment, make_policy("random", environment), WARM_UP)
    with pytest.raises(UserError, match="before a warm-up of 7"):
        for seed in range(10):
            starts.draw(np.random.default_rng(seed))


def test_stacking_keeps_the_order(counting: DataSet) -> None:
    with closing(RecordedStarts(counting, "train", WARM_UP)) as starts:
        several = [starts.at(0, start) for start in (3, 0, 5)]
    frames, actions = stacked(several)
    assert [read_count(frame).step for frame in frames[:, 0]] == [3, 0, 5]
    assert actions.shape == (3, WARM_UP - 1)
