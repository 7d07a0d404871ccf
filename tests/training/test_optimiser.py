"""Optimisers against NumPy in float64, clipping, and learning-rate schedules."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from framedream.training.optimiser import GravesRMSProp, RunningNormClip, Schedule, gradient_norm, make_optimiser


def test_rmsprop_is_the_one_of_graves() -> None:
    generator = np.random.default_rng(0)
    shapes = [(3, 4), (5,), ()]
    weights = [generator.normal(size=shape) for shape in shapes]
    parameters = [torch.nn.Parameter(torch.tensor(weight)) for weight in weights]
    optimiser = GravesRMSProp(parameters, lr=1e-2)

    n = [np.zeros(shape) for shape in shapes]
    m = [np.zeros(shape) for shape in shapes]
    delta = [np.zeros(shape) for shape in shapes]
    for step in range(50):
        gradients = [generator.normal(scale=10.0 ** (step % 5 - 2), size=shape) for shape in shapes]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = torch.tensor(gradient)
        optimiser.step()
        for i, g in enumerate(gradients):
            # Graves (2013), Eqs. 38-41, with the paper's decay, momentum and epsilon.
            n[i] = 0.95 * n[i] + 0.05 * g**2
            m[i] = 0.95 * m[i] + 0.05 * g
            delta[i] = 0.9 * delta[i] - 1e-2 * g / np.sqrt(n[i] - m[i] ** 2 + 0.01)
            weights[i] = weights[i] + delta[i]
    for parameter, weight in zip(parameters, weights, strict=True):
        np.testing.assert_allclose(parameter.detach().numpy(), weight, rtol=1e-12, atol=1e-12)


def test_rmsprop_is_not_pytorchs() -> None:
    parameter, other = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    ours = GravesRMSProp([parameter])
    theirs = torch.optim.RMSprop([other], lr=1e-5, alpha=0.95, eps=0.01, momentum=0.9, centered=True)
    parameter.grad = other.grad = torch.tensor([1e-3])
    ours.step()
    theirs.step()
    assert parameter.item() != pytest.approx(other.item(), rel=0.05)


def test_rmsprop_survives_rounding_of_huge_constant_gradients() -> None:
    # The same huge gradient again and again: n - m² is zero, and its rounded difference may be below it.
    parameter = torch.nn.Parameter(torch.zeros(64))
    optimiser = GravesRMSProp([parameter])
    for _ in range(2_000):
        parameter.grad = torch.linspace(1e6, 1e7, 64)
        optimiser.step()
    assert parameter.isfinite().all()


def test_parameters_without_gradient_stay() -> None:
    still, moving = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    for name in ("rmsprop", "adamw"):
        optimiser = make_optimiser(name, [still, moving])
        optimiser.param_groups[0]["lr"] = 0.1
        moving.grad = torch.ones(2)
        optimiser.step()
    assert still.tolist() == [1, 1]
    assert moving[0].item() < 0.9


def test_adamw_is_the_recipes() -> None:
    optimiser = make_optimiser("adamw", [torch.nn.Parameter(torch.zeros(1))])
    assert isinstance(optimiser, torch.optim.AdamW)
    group = optimiser.param_groups[0]
    assert (group["betas"], group["weight_decay"], group["eps"]) == ((0.9, 0.95), 0.0, 1e-8)


def test_clipping_to_twice_the_running_norm() -> None:
    clip = RunningNormClip(torch.device("cpu"))
    average = None
    for norm in (3.0, 4.0, 100.0, 1.0, 50.0):
        gradients = [torch.full((4,), norm / 4), torch.full((12,), norm / 4)]
        before = gradient_norm(gradients)
        assert before.item() == pytest.approx(norm)
        clip(gradients, before)
        average = norm if average is None else average
        limit = 2 * average
        assert gradient_norm(gradients).item() == pytest.approx(min(norm, limit), rel=1e-5)
        average = 0.99 * average + 0.01 * min(norm, limit)
        assert clip.average.item() == pytest.approx(average, rel=1e-6)


def test_flat_schedule_rises_over_its_warm_up() -> None:
    schedule = Schedule(1e-3, warm_up=4)
    assert [schedule.at(update, 10) for update in range(6)] == pytest.approx(
        [0.25e-3, 0.5e-3, 0.75e-3, 1e-3, 1e-3, 1e-3]
    )


def test_cosine_schedule_ends_where_it_should() -> None:
    schedule = Schedule(7e-4, final=2e-5)
    rates = [schedule.at(update, 100) for update in range(101)]
    assert rates[0] == pytest.approx(7e-4)
    assert rates[50] == pytest.approx((7e-4 + 2e-5) / 2)
    assert rates[100] == pytest.approx(2e-5)
    assert all(later < earlier for earlier, later in itertools.pairwise(rates))
    assert rates[25] == pytest.approx(2e-5 + 6.8e-4 * (1 + math.cos(math.pi / 4)) / 2)
