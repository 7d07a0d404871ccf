"""What an update multiplies, counted by hand, and by PyTorch while it happens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from framedream.benchmarks.limit import flop_per_frame, operations_per_second, rollout_flop, step_products, update_flop
from framedream.benchmarks.straightforward import straightforward_loss
from framedream.model.codec_spec import ATARI, codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics
from framedream.model.variants import VARIANTS
from framedream.training.scheme import Phase

BASE = SimulatorSpec.named("base", ATARI, actions=6)
PHASES = (
    Phase(None, "ppp", warm_up=3),
    Phase(None, "oppo", warm_up=2),
    Phase(None, "pp", warm_up=4, warm_up_grad=2),
    Phase(None, "oo", warm_up=2, warm_up_grad=1),
)
GROUPED = {name for name, known in VARIANTS.items() if known.transition.operation == "two-convolutions"} | {
    name
    for name, known in VARIANTS.items()
    if known.transition.operation != "dense" and known.transition.fusion_per_gate
}


def test_the_papers_baseline_by_hand() -> None:
    # Kernel² · channels · filters · places, of 210x160 → 102x78 → 50x38 → 24x18 → 11x8.
    first = 8 * 8 * 3 * 64 * 102 * 78
    layers = first + 6 * 6 * 64 * 32 * 50 * 38 + 6 * 6 * 32 * 32 * 24 * 18 + 4 * 4 * 32 * 32 * 11 * 8
    of_state, of_action = 1024 * 2048, 6 * 2048
    transition = of_state + of_action + 2048 * 4 * 1024 + 2816 * 4 * 1024
    expansion = 1024 * 2816
    warm_up = 9 * (layers + transition)
    predicted = 15 * (layers + transition + expansion + layers)
    # Backwards the same again for weights and for inputs, except inputs that nothing has made: x_10, s_10, actions.
    backwards = 2 * predicted - first - of_state - 15 * of_action
    expected = 2 * (warm_up + predicted + backwards)
    phase = Phase(None, "p" * 15)
    assert update_flop(BASE, phase) == expected
    assert flop_per_frame(BASE, phase) == expected / 25 == pytest.approx(2.12e9, rel=1e-3)
    assert rollout_flop(BASE) == 2 * (layers + transition + expansion + layers)


def test_a_jump_draws_no_frames() -> None:
    independent = SimulatorSpec.named("pi-h", ATARI, actions=6)
    assert rollout_flop(independent) == 2 * (1024 * 2048 + 6 * 2048 + (2048 + 1024) * 4 * 1024)


@pytest.mark.parametrize("name", sorted(set(VARIANTS) - GROUPED))
def test_pytorch_counts_the_same_in_an_update(name: str) -> None:
    # Of the gradients of grouped convolutions' weights PyTorch counts each group as large as all of them together.
    spec = small(name)
    simulator = Simulator(spec, FrameStatistics(torch.zeros(3, 1, 1), None))
    for phase in PHASES:
        frames = torch.rand(2, phase.sequence_length, 3, spec.codec.height, spec.codec.width)
        actions = torch.zeros(2, phase.sequence_length, dtype=torch.int64)
        with Counter() as counter:
            straightforward_loss(simulator, frames, actions, phase).backward()
        assert counter.flop == 2 * update_flop(spec, phase), phase


@pytest.mark.parametrize("name", sorted(GROUPED))
def test_pytorch_counts_the_same_forwards(name: str) -> None:
    spec = small(name)
    simulator = Simulator(spec, FrameStatistics(torch.zeros(3, 1, 1), None))
    frame, action = torch.rand(1, 3, spec.codec.height, spec.codec.width), torch.zeros(1, dtype=torch.int64)
    with torch.no_grad(), Counter() as counter:
        simulator.decode(simulator.advance(simulator.initial_state(1), action, frame))
    assert counter.flop == sum(product.flop for product in step_products(spec, predicts=True))


class Counter(TorchDispatchMode):
    """PyTorch's own formulas, for every operation that is called; its `FlopCounterMode` looks at modules as well."""

    flop = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        formula = flop_registry.get(function._overloadpacket)
        self.flop += 0 if formula is None else formula(*args, **(kwargs or {}), out_val=made)
        return made


def small(name: str) -> SimulatorSpec:
    spec = SimulatorSpec.named(name, codec_for(33, 37).scaled(0.25), actions=3)
    if spec.transition.hidden == "encoding":
        return spec
    return replace(spec, transition=replace(spec.transition, hidden=24, fused=40))


def test_the_machines_rate_is_that_of_one_product() -> None:
    assert operations_per_second(torch.device("cpu"), torch.float32, 0.01, size=64) > 0
