"""Simulators small enough for exact checks in double precision."""

from __future__ import annotations

from dataclasses import replace

import torch

from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics

# Sizes that differ from each other and an odd width, so that no two dimensions can be mistaken for each other.
HEIGHT, WIDTH, ACTIONS, HIDDEN, FUSED = 16, 19, 3, 12, 9


def small_simulator(variant: str, seed: int = 0, rrelu: str = "random", spread: float = 0.35) -> Simulator:
    """A variant on 16x19 frames in float64, its weights drawn large enough that every nonlinearity matters."""
    spec = SimulatorSpec.named(variant, codec_for(HEIGHT, WIDTH).scaled(0.15), ACTIONS, rrelu=rrelu)
    spec = narrowed(spec, HIDDEN, FUSED)
    torch.manual_seed(seed)
    simulator = Simulator(spec, FrameStatistics(torch.full((3, 1, 1), 0.4), None)).double().eval()
    with torch.no_grad():
        for parameter in simulator.parameters():
            parameter.normal_(0, spread)
    return simulator


def narrowed(spec: SimulatorSpec, hidden: int, fused: int) -> SimulatorSpec:
    """The same with other sizes of h and v, unless they have the encoding's."""
    if spec.transition.hidden == "encoding":
        return spec
    return replace(spec, transition=replace(spec.transition, hidden=hidden, fused=fused))


def random_sequence(batch: int, length: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised frames x_1… and actions a_1…, both (batch, length, …)."""
    generator = torch.Generator().manual_seed(seed)
    frames = torch.rand(batch, length, 3, HEIGHT, WIDTH, generator=generator, dtype=torch.float64) - 0.4
    return frames, torch.randint(ACTIONS, (batch, length), generator=generator)
