"""Small runs whose dreams are lively: weights drawn large, in double precision, so that exact checks mean something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from framedream.checkpoint.checkpoint import save_checkpoint
from framedream.checkpoint.configuration import Configuration
from framedream.data.dataset import DataSet
from framedream.model.codec_spec import codec_for
from framedream.model.heads import Heads
from framedream.model.heads_spec import HEADS, HeadsSpec
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics


def dreaming_simulator(data_set: DataSet, variant: str) -> Simulator:
    recording = data_set.recording
    codec = codec_for(*recording.frame_shape).scaled(0.1)
    spec = SimulatorSpec.named(variant, codec, len(recording.action_meanings))
    sizes = {name: 12 for name in ("hidden", "fused") if getattr(spec.transition, name) != "encoding"}
    spec = replace(spec, transition=replace(spec.transition, **sizes))
    palette = None if data_set.palette is None else torch.from_numpy(data_set.palette)
    torch.manual_seed(1)
    simulator = Simulator(spec, FrameStatistics(torch.full((3, 1, 1), 0.5), palette)).double().eval()
    with torch.no_grad():
        for parameter in simulator.parameters():
            parameter.normal_(0, 0.5)
    return simulator


def dreaming_heads(simulator: Simulator) -> Heads:
    """Heads that say something else of every state."""
    heads = Heads(HeadsSpec(HEADS, simulator.spec.hidden_size, largest_reward=3.0, width=16)).initialise(0)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in heads.parameters():
            parameter.copy_(torch.empty_like(parameter).normal_(0, 1.0, generator=generator))
        heads.networks["end"][-1].bias.fill_(-1.5)  # type: ignore[index,union-attr]
    return heads


def write_dreaming_run(run: Path, data_set: DataSet, variant: str, heads: bool = False) -> Path:
    recording = data_set.recording
    simulator = dreaming_simulator(data_set, variant)
    beside = dreaming_heads(simulator) if heads else None
    configuration = Configuration(
        simulator=simulator.spec.to_json(),
        environment={
            "name": recording.environment,
            "arguments": recording.arguments,
            "action_meanings": list(recording.action_meanings),
            "action_repeat": recording.action_repeat,
        },
        data={"folder": str(data_set.folder), "identity": data_set.identity, "policy": recording.policy},
        run={"preset": "tiny", "variant": variant},
        scheme={"name": "pdt-0-100"},
        code_version="0",
        heads=None if beside is None else beside.spec.to_json(),
    )
    counts = {"updates": 1, "frames": 240, "frames_with_warm_up": 400, "seconds": 1.0}
    save_checkpoint(run, simulator, configuration, counts, {}, heads=beside)
    return run


@contextmanager
def counted_frames(simulator: Simulator) -> Iterator[list[int]]:
    """A list to which the number of frames is added every time some are drawn."""
    drawn: list[int] = []
    hook = simulator.decoder.register_forward_hook(lambda module, inputs, frames: drawn.append(len(frames)))
    try:
        yield drawn
    finally:
        hook.remove()


def random_actions(*shape: int, seed: int = 0, actions: int = 3) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(actions, size=shape)
