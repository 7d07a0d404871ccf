"""RReLU(1/8, 1/3)."""

from __future__ import annotations

import pytest
import torch
from small_simulators import random_sequence, small_simulator

from framedream.model.activation import RReLU, given_slopes

MEAN = 11 / 48


def test_slopes_are_uniform_and_independent_in_training() -> None:
    torch.manual_seed(0)
    rectifier = RReLU(random=True).train()
    x = -torch.ones(40_000)
    slopes = -rectifier(x)
    assert 1 / 8 <= slopes.min() < 0.126 and 0.332 < slopes.max() <= 1 / 3
    assert slopes.mean() == pytest.approx(MEAN, abs=0.002)
    assert slopes.std() == pytest.approx((1 / 3 - 1 / 8) / 12**0.5, abs=0.002)
    assert not torch.equal(slopes, -rectifier(x))
    assert torch.equal(rectifier(-x), -x)


@pytest.mark.parametrize(("random", "training"), [(True, False), (False, False), (False, True)])
def test_the_mean_slope_otherwise(random: bool, training: bool) -> None:
    x = torch.linspace(-3, 3, 101, dtype=torch.float64)
    expected = torch.where(x >= 0, x, x * MEAN)
    torch.testing.assert_close(RReLU(random).train(training)(x), expected)


def test_gradients_follow_the_slopes_that_were_drawn() -> None:
    rectifier = RReLU(random=True).train()
    x = torch.randn(1000, dtype=torch.float64, requires_grad=True)
    y = rectifier(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, (y / x).detach())


@pytest.mark.parametrize("variant", ["base", "2conv"])
def test_a_simulator_is_random_in_training_only_and_obeys_the_seed(variant: str) -> None:
    frames, actions = random_sequence(batch=2, length=5)

    def rollout(training: bool, seed: int, rrelu: str = "random") -> torch.Tensor:
        simulator = small_simulator(variant, rrelu=rrelu).train(training)
        torch.manual_seed(seed)
        with torch.no_grad():
            state = simulator.warm_up(frames[:, :3], actions[:, :2])
            return simulator.unroll(state, actions[:, 2:])[0]

    assert torch.equal(rollout(False, 1), rollout(False, 2))
    assert not torch.equal(rollout(True, 1), rollout(True, 2))
    assert torch.equal(rollout(True, 1), rollout(True, 1))
    assert torch.equal(rollout(True, 1, "fixed"), rollout(False, 2, "fixed"))


def test_given_slopes_are_used_and_then_forgotten() -> None:
    simulator = small_simulator("2conv")
    names = {name for name, part in simulator.named_modules() if isinstance(part, RReLU)}
    assert {"encoder.rectifiers.0", "decoder.rectifiers.0", "cell.reads.z.rectifier"} <= names
    frames, actions = random_sequence(batch=1, length=2)
    with torch.no_grad():
        before = simulator.warm_up(frames, actions[:, :1]).hidden
        with given_slopes(simulator, {name: torch.tensor(MEAN, dtype=torch.float64) for name in names}):
            torch.testing.assert_close(simulator.train().warm_up(frames, actions[:, :1]).hidden, before)
        with given_slopes(simulator, {name: torch.tensor(1.0, dtype=torch.float64) for name in names}):
            assert not torch.allclose(simulator.warm_up(frames, actions[:, :1]).hidden, before)
        assert torch.equal(simulator.eval().warm_up(frames, actions[:, :1]).hidden, before)
    with pytest.raises(ValueError, match="rectifiers are"), given_slopes(simulator, {}):
        pass
