"""Heads: what they say in expectation, what they never touch, and how they are rebuilt."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from framedream.errors import UserError
from framedream.model.heads import Heads
from framedream.model.heads_spec import HEADS, HeadsSpec, read_head_names

SIZE = 4


def heads(largest: float = 1.0, names: tuple[str, ...] = HEADS) -> Heads:
    return Heads(HeadsSpec(names, SIZE, largest, width=32)).initialise(0)


@pytest.mark.parametrize("largest", [0.25, 1.0, 7.0, 900.0])
def test_a_two_hot_reward_has_two_neighbouring_weights_whose_mean_it_is(largest: float) -> None:
    under_test = heads(largest)
    bins = under_test.bins.double().numpy()
    assert (np.diff(bins) > 0).all()
    assert 0.0 in bins
    evenly = np.linspace(-1, 1, len(bins)) * np.log1p(largest)
    np.testing.assert_allclose(bins, np.sign(evenly) * np.expm1(np.abs(evenly)), rtol=1e-4, atol=1e-7)
    rewards = np.concatenate([np.random.default_rng(0).uniform(-largest, largest, 500), bins, [0.0]])
    weights = under_test.two_hot(torch.from_numpy(rewards).float()).double().numpy()
    np.testing.assert_allclose(weights @ bins, rewards, rtol=1e-4, atol=1e-5 * largest)
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-6)
    assert weights.min() >= 0
    for row in weights:
        places = np.flatnonzero(row)
        assert len(places) <= 2
        assert np.ptp(places) <= 1
    beyond = under_test.two_hot(torch.tensor([2 * largest, -5 * largest]))
    assert beyond[0, -1] == 1
    assert beyond[1, 0] == 1


def test_rewards_of_any_size_are_learnt_in_expectation() -> None:
    """Four states with rewards of their own, one of which is 300 in three cases of ten: the head says the means."""
    under_test = heads(largest=300.0)
    states = torch.eye(SIZE).repeat(10, 1)
    rewards = torch.tensor([[0.0, 1.0, -1.0, 300.0 if case < 3 else 0.0] for case in range(10)]).flatten()
    ends = torch.tensor([[False, True, False, case < 7] for case in range(10)]).flatten()
    optimiser = torch.optim.Adam(under_test.parameters(), 0.02)
    for _ in range(400):
        optimiser.zero_grad()
        sum(under_test.losses(states, rewards, ends).values()).backward()  # type: ignore[union-attr]
        optimiser.step()
    said, odds = under_test.reward(torch.eye(SIZE)), under_test.end(torch.eye(SIZE))
    assert said is not None
    assert odds is not None
    np.testing.assert_allclose(said.detach(), [0, 1, -1, 90], rtol=0.05, atol=0.15)
    np.testing.assert_allclose(odds.detach(), [0, 1, 0, 0.7], atol=0.05)


def test_heads_begin_by_saying_nothing() -> None:
    states = torch.randn(7, SIZE, generator=torch.Generator().manual_seed(0))
    said, odds = heads(900.0).reward(states), heads().end(states)
    assert said is not None
    assert odds is not None
    assert said.abs().max() < 1e-3
    assert (odds == 0.5).all()


def test_learning_heads_leaves_the_state_and_the_random_numbers_alone() -> None:
    before = torch.get_rng_state()
    under_test = heads()
    states = torch.randn(3, 5, SIZE, generator=torch.Generator().manual_seed(0)).requires_grad_()
    losses = under_test.losses(states, torch.zeros(3, 5), torch.zeros(3, 5, dtype=torch.bool))
    sum(losses.values()).backward()  # type: ignore[union-attr]
    assert states.grad is None
    assert all(parameter.grad is not None for parameter in under_test.parameters())
    assert torch.equal(torch.get_rng_state(), before)


def test_one_head_alone() -> None:
    states = torch.zeros(2, 3, SIZE)
    only_reward, only_end = heads(names=("reward",)), heads(names=("end",))
    assert only_reward.end(states) is None
    assert only_end.reward(states) is None
    assert only_reward.losses(states, torch.zeros(2, 3), torch.zeros(2, 3)).keys() == {"reward"}
    assert only_end.losses(states, torch.zeros(2, 3), torch.zeros(2, 3)).keys() == {"end"}


def test_other_seeds_draw_other_heads() -> None:
    drawn = [Heads(HeadsSpec(HEADS, SIZE)).initialise(seed).state_dict() for seed in (0, 0, 1)]
    assert all(torch.equal(drawn[0][name], drawn[1][name]) for name in drawn[0])
    assert any(not torch.equal(drawn[0][name], drawn[2][name]) for name in drawn[0])


def test_a_spec_survives_json() -> None:
    spec = HeadsSpec(("end",), 12, 3.5, 7)
    assert HeadsSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    with pytest.raises(UserError, match="another version"):
        HeadsSpec.from_json({"names": ["end"], "colour": 3})


def test_names() -> None:
    assert read_head_names("end, reward") == ("reward", "end")
    assert read_head_names("end") == ("end",)
    with pytest.raises(UserError, match="did you mean 'reward'"):
        read_head_names("rewards")
