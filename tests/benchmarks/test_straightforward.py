"""The straightforward version is the simulator: the same loss and gradients, the same frames."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from framedream.benchmarks.straightforward import (
    StraightforwardLearner,
    ordinary_float32,
    straightforward_loss,
    straightforward_rollout,
)
from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics
from framedream.training.learner import Learner
from framedream.training.objective import predict_segment
from framedream.training.scheme import Phase
from framedream.training.specification import RunSpec

HEIGHT, WIDTH, ACTIONS = 16, 19, 3
PHASES = (
    Phase(None, "pppp", warm_up=3),
    Phase(None, "oppo", warm_up=1),
    Phase(None, "oo", warm_up=2, warm_up_grad=1),
    Phase(None, "ppp", warm_up=4, warm_up_grad=3),
)


def simulator(name: str) -> Simulator:
    spec = SimulatorSpec.named(name, codec_for(HEIGHT, WIDTH).scaled(0.15), ACTIONS, rrelu="fixed")
    if spec.transition.hidden != "encoding":
        spec = replace(spec, transition=replace(spec.transition, hidden=12, fused=9))
    torch.manual_seed(0)
    made = Simulator(spec, FrameStatistics(torch.full((3, 1, 1), 0.4), None)).double().train()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(0, 0.3)
    return made


@pytest.mark.parametrize("name", ["base", "h-iz2816-2conv-da", "action-planes", "oh2015", "pi-h", "pi-h-iz2816-zero"])
def test_the_loss_and_its_gradients_are_the_same(name: str) -> None:
    model = simulator(name)
    for phase in PHASES:
        frames = torch.rand(2, phase.sequence_length, 3, HEIGHT, WIDTH, dtype=torch.float64) - 0.4
        actions = torch.randint(ACTIONS, (2, phase.sequence_length))
        exact = torch.autocast("cpu", enabled=False)
        loss, _ = predict_segment(model, frames, actions, None, phase, exact)
        expected = torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True)
        mine = straightforward_loss(model, frames, actions, phase)
        # The plain loss takes its differences in float32.
        assert mine.item() == pytest.approx(loss.item(), rel=1e-6)
        found = torch.autograd.grad(mine, list(model.parameters()), materialize_grads=True)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("run", [RunSpec(), RunSpec(optimiser="adamw", clip=True, loss_scale=0.5)])
def test_it_learns_the_same(run: RunSpec) -> None:
    phase = PHASES[0]
    frames = torch.randint(256, (2, phase.sequence_length, HEIGHT, WIDTH, 3), dtype=torch.uint8)
    actions = torch.randint(ACTIONS, (2, phase.sequence_length))
    plain, straightforward = simulator("base"), simulator("base")
    learner, own = Learner(plain, run), StraightforwardLearner(straightforward, run)
    for _ in range(3):
        learner.learn(frames, actions, None, phase, 1e-3)
        own.learn(frames, actions, phase, 1e-3)
    for one, other in zip(straightforward.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_it_dreams_the_same() -> None:
    model = simulator("base").eval()
    frames = model.normalise(torch.randint(256, (2, 3, HEIGHT, WIDTH, 3), dtype=torch.uint8))
    actions = torch.randint(ACTIONS, (2, 6))
    with torch.no_grad():
        begin = model.warm_up(frames, actions[:, :2])
        predictions, _ = model.unroll(begin, actions[:, 2:])
    reached = straightforward_rollout(model, begin, actions[:, 2:])
    assert reached.frame is not None and not reached.frame.requires_grad
    torch.testing.assert_close(reached.frame, predictions[:, -1])


def test_a_jump_draws_nothing() -> None:
    model = simulator("pi-h").eval()
    actions = torch.randint(ACTIONS, (2, 5))
    begin = model.initial_state(2)
    reached = straightforward_rollout(model, begin, actions)
    assert reached.frame is None
    torch.testing.assert_close(reached.hidden, model.jump(begin, actions).hidden)


def test_settings_come_back() -> None:
    cudnn, before = torch.backends.cudnn, torch.backends.cudnn.benchmark
    cudnn.benchmark = True
    try:
        with ordinary_float32():
            assert not (cudnn.benchmark or cudnn.allow_tf32 or torch.backends.cuda.matmul.allow_tf32)
        assert cudnn.benchmark and cudnn.allow_tf32
    finally:
        cudnn.benchmark = before
