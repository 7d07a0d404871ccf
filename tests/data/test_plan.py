"""The recorder's decisions: whatever order episodes finish in, the same episodes in the same parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framedream.data import plan
from framedream.data.plan import Amount, SplitPlan
from framedream.data.seeds import episode_seeds
from framedream.errors import UserError

LENGTHS = np.random.default_rng(0).integers(2, 60, 2000).tolist()


def expected_parts(amount: Amount, frames_per_part: int) -> list[list[int]]:
    """By the definition: the shortest run of episodes, cut wherever a part is full."""
    episodes = 0
    while not amount.reached(sum(LENGTHS[:episodes]), episodes):
        episodes += 1
    parts: list[list[int]] = [[]]
    for number in range(episodes):
        if sum(LENGTHS[one] for one in parts[-1]) >= frames_per_part:
            parts.append([])
        parts[-1].append(number)
    return [part for part in parts if part]


@settings(deadline=None)
@given(
    amount=st.one_of(
        st.integers(0, 1500).map(lambda frames: Amount(frames=frames)),
        st.integers(0, 40).map(lambda episodes: Amount(episodes=episodes)),
    ),
    workers=st.integers(1, 9),
    frames_per_part=st.integers(1, 400),
    seed=st.integers(0, 10**6),
)
def test_any_order_gives_the_same_parts(amount: Amount, workers: int, frames_per_part: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    already = int(random.integers(0, 5))
    parts = expected_parts(amount, frames_per_part)
    kept = [number for part in parts[:already] for number in part]
    # Some later episodes are staged from an earlier run, with gaps.
    staged = {int(number): LENGTHS[number] for number in random.integers(len(kept), len(kept) + 20, 5)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "FRAMES_PER_PART", frames_per_part)
        split = SplitPlan(amount, [LENGTHS[number] for number in kept], staged)
        known = {number: LENGTHS[number] for number in kept} | staged  # frames that there are, at least
        playing: list[int] = []
        packed = parts[:already]
        played: list[int] = []
        while True:
            while numbers := split.next_to_pack():
                packed.append(numbers)
            while len(playing) < workers and (number := split.next_to_play()) is not None:
                # Nobody plays an episode when those before it are certain to be enough.
                assert not amount.reached(sum(known.get(before, 2) for before in range(number)), number)
                playing.append(number)
                played.append(number)
            if not playing:
                break
            for number in playing:
                known[number] = int(random.integers(2, LENGTHS[number] + 1))
                split.progress(number, known[number])
            done = playing.pop(int(random.integers(len(playing))))
            known[done] = LENGTHS[done]
            split.finish(done, LENGTHS[done])
        while numbers := split.next_to_pack():
            packed.append(numbers)
    assert packed == parts
    assert len(set(played)) == len(played) and not set(played) & (set(kept) | set(staged))


def test_one_worker_plays_nothing_that_is_thrown_away() -> None:
    split = SplitPlan(Amount(frames=500), [], {})
    while (number := split.next_to_play()) is not None:
        split.finish(number, LENGTHS[number])
    assert [split.next_to_pack()] == expected_parts(Amount(frames=500), 10**9)


def test_everything_is_packed_up_to_the_first_gap() -> None:
    split = SplitPlan(Amount(frames=500), [], {0: 30, 1: 30, 3: 30})
    assert split.next_to_pack() == []
    assert split.next_to_pack(everything=True) == [0, 1]
    assert split.next_to_pack(everything=True) == []


def test_an_amount_is_one_number() -> None:
    for wrong in (dict(), dict(frames=1, episodes=1), dict(frames=-1), dict(episodes=-5)):
        with pytest.raises(UserError):
            Amount(**wrong)


def test_train_and_test_never_share_a_seed() -> None:
    seeds = {
        split: [episode_seeds(3, split, number).environment for number in range(5000)] for split in ("train", "test")
    }
    # Not by luck: all of one split are even, all of the other odd.
    assert {seed % 2 for seed in seeds["train"]} == {0} and {seed % 2 for seed in seeds["test"]} == {1}
    assert len(set(seeds["train"])) > 4990
    assert all(0 <= seed < 2**31 for seed in seeds["train"] + seeds["test"])
    assert episode_seeds(3, "train", 0) != episode_seeds(4, "train", 0)
    environment, policy = episode_seeds(3, "train", 0)
    assert environment != policy
