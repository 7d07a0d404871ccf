"""Simulators of random weights that dream from random frames: how fast they are does not depend on what was learnt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics
from framedream.use.starts import Start

WARM_UP = 10


def random_simulator(variant: str, height: int, width: int, filters: float, actions: int) -> Simulator:
    """A simulator that has learnt nothing; with few filters, its fused streams are as large as the encoding."""
    torch.manual_seed(0)
    spec = SimulatorSpec.named(variant, codec_for(height, width).scaled(filters), actions, "signal-preserving")
    if filters != 1 and spec.transition.fused != "encoding":
        spec = replace(spec, transition=replace(spec.transition, fused=spec.codec.encoding_size))
    return Simulator(spec, FrameStatistics(torch.zeros(3, 1, 1), None)).eval()


class NoiseStarts:
    """The same random frames each time."""

    def __init__(self, height: int, width: int) -> None:
        frames = np.random.default_rng(0).integers(256, size=(WARM_UP, height, width, 3), dtype=np.uint8)
        actions = np.zeros(WARM_UP - 1, np.int64)
        self._start = Start(frames, actions, {}, seed=0, way=actions)

    def draw(self, generator: np.random.Generator) -> Start:
        return self._start

    def close(self) -> None:
        pass
