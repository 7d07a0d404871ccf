"""Batches: a function of (seed, step, rank), every admissible start equally likely, never across an episode's end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from framedream.data.dataset import Split
from framedream.data.sampler import AdmissibleStarts, SegmentSampler, evaluation_index
from framedream.data.segment import SegmentId
from framedream.errors import UserError

LENGTHS = [7, 30, 12, 4, 25]
episode_lengths = st.lists(st.integers(2, 40), min_size=1, max_size=8)


def all_starts(lengths: list[int], length: int) -> set[tuple[int, int]]:
    return {(episode, start) for episode, frames in enumerate(lengths) for start in range(frames - length + 1)}


def split_of(lengths: list[int]) -> Split:
    return cast(Split, SimpleNamespace(episodes=SimpleNamespace(length=np.array(lengths))))


@given(lengths=episode_lengths, length=st.integers(1, 45))
def test_admissible_starts_are_numbered_without_gaps(lengths: list[int], length: int) -> None:
    expected = sorted(all_starts(lengths, length))
    if not expected:
        with pytest.raises(UserError, match=rf"{length} frames .*{max(lengths)} frames in the longest"):
            AdmissibleStarts(lengths, length)
        return
    starts = AdmissibleStarts(lengths, length)
    assert starts.count == len(expected)
    assert starts.segments(np.arange(starts.count)) == [SegmentId(*start, length) for start in expected]


@given(lengths=episode_lengths, length=st.integers(1, 200))
def test_admissible_starts_across_episodes(lengths: list[int], length: int) -> None:
    # By brute force: position p of the concatenated split is admissible when p + length frames exist.
    positions = [(episode, start) for episode, frames in enumerate(lengths) for start in range(frames)]
    expected = positions[: max(0, len(positions) - length + 1)]
    if not expected:
        with pytest.raises(UserError, match=f"{length} frames .*{sum(lengths)} frames altogether"):
            AdmissibleStarts(lengths, length, cross_episodes=True)
        return
    starts = AdmissibleStarts(lengths, length, cross_episodes=True)
    assert starts.segments(np.arange(starts.count)) == [SegmentId(*start, length) for start in expected]


@given(seed=st.integers(0, 2**32), step=st.integers(0, 10**7))
def test_any_batch_can_be_drawn_again(seed: int, step: int) -> None:
    sampler = SegmentSampler(LENGTHS, 5, 16, seed)
    batch = sampler.batch(step)
    assert batch == SegmentSampler(LENGTHS, 5, 16, seed).batch(step)
    assert batch != sampler.batch(step + 1)
    assert batch != SegmentSampler(LENGTHS, 5, 16, seed + 1).batch(step)
    assert {(one.episode, one.start) for one in batch} <= all_starts(LENGTHS, 5)


@given(lengths=episode_lengths, length=st.integers(1, 20), ranks=st.sampled_from([1, 4]), cross_episodes=st.booleans())
def test_first_frames_are_those_of_the_segments(
    lengths: list[int], length: int, ranks: int, cross_episodes: bool
) -> None:
    assume(max(lengths) >= length)
    before = np.cumsum([0, *lengths])
    for rank in range(ranks):
        sampler = SegmentSampler(lengths, length, 8, 3, rank, ranks, cross_episodes)
        for step in range(3):
            expected = [before[segment.episode] + segment.start for segment in sampler.batch(step)]
            assert sampler.first_frames(step).tolist() == expected


@given(ranks=st.sampled_from([1, 2, 4]), step=st.integers(0, 1000))
def test_ranks_share_one_stream_without_overlap(ranks: int, step: int) -> None:
    together = SegmentSampler(LENGTHS, 5, 8, 3).batch(step)
    apart = [SegmentSampler(LENGTHS, 5, 8 // ranks, 3, rank, ranks).batch(step) for rank in range(ranks)]
    assert [segment for batch in apart for segment in batch] == together


def test_every_admissible_start_is_equally_likely() -> None:
    sampler = SegmentSampler(LENGTHS, 5, 64, seed=0)
    counts = dict.fromkeys(all_starts(LENGTHS, 5), 0)
    for step in range(500):
        for segment in sampler.batch(step):
            counts[segment.episode, segment.start] += 1
    expected = 500 * 64 / len(counts)
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    # With k degrees of freedom it has mean k and variance 2k; six deviations are a chance of one in a million.
    freedom = len(counts) - 1
    assert abs(chi_square - freedom) < 6 * np.sqrt(2 * freedom)
    assert min(counts.values()) > 0


def test_impossible_samplers_are_refused() -> None:
    with pytest.raises(UserError, match=r"31 frames .* 30 frames in the longest episode"):
        SegmentSampler(LENGTHS, 31, 4, 0)
    with pytest.raises(UserError, match="0 frames"):
        SegmentSampler(LENGTHS, 0, 4, 0)
    with pytest.raises(ValueError, match="rank 2 of 2"):
        SegmentSampler(LENGTHS, 5, 4, 0, rank=2, ranks=2)


@given(lengths=st.lists(st.integers(5, 60), min_size=1, max_size=10), sequences=st.integers(1, 300))
def test_the_evaluation_index_is_fixed_spread_and_free_of_repetition(lengths: list[int], sequences: int) -> None:
    index = evaluation_index(split_of(lengths), sequences, 5)
    assert index == evaluation_index(split_of(lengths), sequences, 5)
    starts = all_starts(lengths, 5)
    drawn = [(segment.episode, segment.start) for segment in index]
    assert len(set(drawn)) == len(drawn) == min(sequences, len(starts))
    assert set(drawn) <= starts and drawn == sorted(drawn)
    # Each episode is drawn from by its share of the starts, give or take the stretches cut by its two ends.
    for episode, frames in enumerate(lengths):
        share = len(drawn) * (frames - 4) / len(starts)
        assert abs(sum(segment.episode == episode for segment in index) - share) <= 2


def test_the_evaluation_index_of_a_data_set_does_not_depend_on_its_parts(tmp_path: Path) -> None:
    from counting_data import make_data_set

    small = make_data_set(tmp_path / "small", frames_per_part=30).split("test")
    whole = make_data_set(tmp_path / "whole").split("test")
    assert len(small.paths) > len(whole.paths) == 1
    assert evaluation_index(small, 20, 6) == evaluation_index(whole, 20, 6)
    other_seed = evaluation_index(whole, 20, 6, seed=1)
    assert other_seed != evaluation_index(whole, 20, 6)
    assert evaluation_index(replace(whole, name="anything"), 20, 6, seed=1) == other_seed


def test_segments_of_a_sampler_are_readable(tmp_path: Path) -> None:
    from counting_data import assert_counts, make_data_set

    from framedream.data.reader import SegmentReader

    split = make_data_set(tmp_path / "data", frames_per_part=60).split("train")
    for cross in (False, True):
        sampler: Any = SegmentSampler(split.episodes.length, 15, 32, seed=5, cross_episodes=cross)
        with SegmentReader(split, cross_episodes=cross) as reader:
            for step in range(5):
                batch = reader.read_batch(sampler.batch(step))
                for segment, frames, actions in zip(batch.ids, batch.frames, batch.actions, strict=True):
                    inside = min(15, int(split.episodes.length[segment.episode]) - segment.start)
                    assert inside == 15 or cross
                    seed = int(split.episodes.seed[segment.episode])
                    assert_counts(frames[:inside], actions, seed, segment.start)
