"""A simulator that records what every transition reads, and a data set whose frames say which ones they are.

Encoder, cell and decoder are replaced; the order of things is the real simulator's. An encoding is the code in the
first row of a counting frame, so a transition knows which observed frame it was given; a prediction of time t shows
the code -t, which no observed frame does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from framedream.data.assembly import write_data_set
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.episode import Episode
from framedream.data.recording import Recording
from framedream.envs.counting import CountingEnvironment, read_count
from framedream.model.cell import Prepared
from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics

SIZE, ACTIONS = 16, 3


def counting_data_set(folder: Path, train: int = 4, test: int = 2, shortest: int = 60, longest: int = 80) -> DataSet:
    """Episodes of the counting environment, acted at random."""
    environment = CountingEnvironment(height=SIZE, width=SIZE, actions=ACTIONS, shortest=shortest, longest=longest)
    recording = Recording(
        environment=environment.name,
        arguments=environment.arguments,
        action_meanings=environment.action_meanings,
        action_repeat=1,
        frame_shape=(SIZE, SIZE),
        indexed=True,
        policy={"name": "random"},
        provenance={},
        seed=0,
    )
    seeds = np.arange(train + test)
    episodes = [play(environment, int(seed)) for seed in seeds]
    write_data_set(folder, recording, environment.palette, {"train": episodes[:train], "test": episodes[train:]})
    return open_data_set(folder)


def play(environment: CountingEnvironment, seed: int) -> Episode:
    generator = np.random.default_rng(seed)
    frames, actions, ended = [environment.reset(seed=seed)[0]], [], False
    while not ended:
        actions.append(int(generator.integers(ACTIONS)))
        frame, _, terminated, truncated, _ = environment.step(actions[-1])
        frames.append(frame)
        ended = terminated or truncated
    return Episode(np.stack(frames), np.array(actions), np.zeros(len(actions)), terminated, truncated, seed=seed)


@dataclass
class Transition:
    """One transition of a batch, from time `time` to the next."""

    time: int
    reads: list[tuple[str, int]]
    """Per sequence: ("frame", step in its episode), ("prediction", time) or ("state", 0)."""
    actions: list[int]
    probe: Tensor
    """Added to the resulting state; has a gradient when that of a loss came by."""


class RecordingSimulator(Simulator):
    """The real simulator around an encoder, a cell and a decoder that can be read."""

    def __init__(self, variant: str = "base") -> None:
        spec = SimulatorSpec.named(variant, codec_for(SIZE, SIZE).scaled(0.1), ACTIONS)
        spec = replace(spec, transition=replace(spec.transition, hidden=4, fused=4))
        grey = torch.arange(256, dtype=torch.uint8)[:, None].expand(256, 3).contiguous()
        super().__init__(spec, FrameStatistics(torch.zeros(3, 1, 1), grey))
        self.transitions: list[Transition] = []
        self.encoder, self.decoder = CodeEncoder(), MarkingDecoder()
        self.cell = RecordingCell(self.transitions)
        if self.prediction_cell is not None:
            self.prediction_cell = RecordingCell(self.transitions)


class CodeEncoder(nn.Module):
    def forward(self, frames: Tensor, actions: Tensor) -> Tensor:
        return frames[:, 0, 0, :8] * 255


class MarkingDecoder(nn.Module):
    def forward(self, hidden: Tensor, actions: Tensor) -> Tensor:
        # The state's first number is its time.
        frames = hidden.new_zeros(len(hidden), 3, SIZE, SIZE)
        return torch.cat([frames[..., :1] - hidden[:, :1, None, None] / 255, frames[..., 1:]], dim=-1)


class RecordingCell(nn.Module):
    def __init__(self, transitions: list[Transition]) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.ones(1))
        self._transitions = transitions

    def prepare(self, encoding: Tensor, action: Tensor) -> Prepared:
        return Prepared(encoding, (action,), None)

    def forward(self, hidden: Tensor, cell: Tensor, prepared: Prepared) -> tuple[Tensor, Tensor]:
        encoding, (one_hot,) = prepared.sums, prepared.factors
        probe = torch.zeros_like(hidden).requires_grad_()
        time = int(hidden[0, 0].item()) + 1  # s_1 is zero
        self._transitions.append(
            Transition(time, [reading(code) for code in encoding.detach()], one_hot.argmax(1).tolist(), probe)
        )
        # Time goes on by one; what was read adds nothing but a gradient.
        read = (encoding - encoding.detach()).sum(dim=1, keepdim=True)
        return hidden + self.bias + read + probe, cell


def reading(code: Tensor) -> tuple[str, int]:
    if len(code) < 8:
        return "state", 0
    if code[0] < 0:
        return "prediction", int((-code[0]).round()) + 1
    frame = np.zeros((1, SIZE), np.uint8)
    frame[0, :8] = code.round().to(torch.uint8).numpy()
    return "frame", read_count(frame).step
