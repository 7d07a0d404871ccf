"""Small recorded worlds, and simulators whose errors are known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from framedream.checkpoint.checkpoint import save_checkpoint
from framedream.checkpoint.configuration import Configuration
from framedream.data.assembly import write_data_set
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.episode import Episode
from framedream.data.recording import Recording
from framedream.data.seeds import episode_seeds
from framedream.envs.counting import Count, CountingEnvironment, read_count, write_count
from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec, State
from framedream.model.statistics import FrameStatistics

Bytes = NDArray[np.uint8]
Played = tuple[Bytes, NDArray[np.int64]]
"""The frames of an episode, and the actions between them."""


def counting_data_set(folder: Path, episodes: int = 6, size: tuple[int, int] = (12, 16)) -> DataSet:
    """Episodes of the counting environment, played by random actions."""
    environment = CountingEnvironment(height=size[0], width=size[1], shortest=20, longest=30)

    def played(split: str, count: int) -> Iterator[Episode]:
        for number in range(count):
            seed = episode_seeds(0, split, number).environment
            generator = np.random.default_rng(seed)
            frames, actions, rewards, over = [environment.reset(seed=seed)[0]], [], [], (False, False)
            while not any(over):
                actions.append(int(generator.integers(3)))
                frame, reward, *over, _ = environment.step(actions[-1])
                frames.append(frame)
                rewards.append(reward)
            yield Episode(np.stack(frames), np.array(actions), np.array(rewards), *over, seed=seed)

    recording = Recording(
        environment=environment.name,
        arguments=environment.arguments,
        action_meanings=environment.action_meanings,
        action_repeat=1,
        frame_shape=size,
        indexed=True,
        policy={"name": "random"},
        provenance={},
        seed=0,
    )
    splits = {split: played(split, episodes) for split in ("train", "test")}
    write_data_set(folder, recording, environment.palette, splits)
    return open_data_set(folder)


def rgb_data_set(
    folder: Path, train: Iterable[Played], test: Iterable[Played], actions: int = 3, environment: str = "drawn"
) -> DataSet:
    """Episodes given as (frames, actions)."""

    def episodes(split: str, given: Iterable[Played]) -> Iterator[Episode]:
        for number, (frames, chosen) in enumerate(given):
            rewards = np.zeros(len(chosen), np.float32)
            yield Episode(frames, chosen, rewards, True, False, seed=episode_seeds(0, split, number).environment)

    first, *_ = train = list(train)
    recording = Recording(
        environment=environment,
        arguments={},
        action_meanings=tuple(f"action {number}" for number in range(actions)),
        action_repeat=1,
        frame_shape=first[0].shape[1:3],
        indexed=False,
        policy={"name": "drawn"},
        provenance={},
        seed=0,
    )
    write_data_set(folder, recording, None, {"train": episodes("train", train), "test": episodes("test", test)})
    return open_data_set(folder)


def noise_episodes(count: int, length: int, size: tuple[int, int], seed: int, speed: float = 0.2) -> Iterator[Played]:
    """Slowly changing noise: every statistic of it is different at every pixel and step."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        picture = generator.integers(256, size=(*size, 3))
        frames = []
        for _ in range(length):
            changed = generator.random(picture.shape) < speed
            picture = np.where(changed, generator.integers(256, size=picture.shape), picture)
            frames.append(picture.astype(np.uint8))
        yield np.stack(frames), generator.integers(3, size=length - 1)


class FakeSimulator(nn.Module):
    """The calls of a simulator, over a rule that says the next frame (bytes) from the present one and an action.

    The rule sees one frame at a time; hidden and cell stay empty, because the frame is the whole state.
    """

    palette: Tensor | None = None

    def __init__(self, rule: Callable[[Bytes, int], Bytes], palette: Bytes | None = None) -> None:
        super().__init__()
        self.rule = rule
        self.register_buffer("background", torch.tensor([0.3, 0.2, 0.1])[:, None, None])
        self.palette = None if palette is None else torch.from_numpy(palette)
        self.largest_batch = 0

    def normalise(self, frames: Tensor) -> Tensor:
        if frames.shape[-1] != 3:
            assert self.palette is not None
            frames = self.palette[frames.int()]
        return frames.movedim(-1, -3).float() / 255 - self.background

    def to_bytes(self, frames: Tensor) -> Tensor:
        return ((frames + self.background) * 255).round().clamp(0, 255).to(torch.uint8).movedim(-3, -1)

    def warm_up(self, frames: Tensor, actions: Tensor) -> State:
        assert actions.shape[1] == frames.shape[1] - 1
        self.largest_batch = max(self.largest_batch, len(frames))
        nothing = torch.zeros(len(frames), 1)
        return State(nothing, nothing, torch.zeros(len(frames), dtype=torch.int64), frames[:, -1])

    def advance(self, state: State, action: Tensor, observed: Tensor | None = None) -> State:
        assert state.frame is not None
        frames = self.to_bytes(state.frame).numpy()
        following = [self.rule(frame, int(one)) for frame, one in zip(frames, action, strict=True)]
        # What `decode` will say travels in the hidden state, as in a real simulator.
        hidden = self.normalise(torch.from_numpy(np.stack(following)))
        return State(hidden, state.cell, action, None)

    def decode(self, state: State) -> Tensor:
        return state.hidden

    def step(self, state: State, action: Tensor) -> State:
        state = self.advance(state, action)
        return state.seen(self.decode(state))

    def picture(self, frames: Tensor) -> Tensor:
        return frames


def count_on(frame: Bytes, action: int) -> Bytes:
    """The counting environment's own rule: a perfect simulator."""
    count = read_count(frame)
    return np.repeat(write_count(Count(count.seed, count.step + 1, action), 12, 16)[..., None], 3, axis=2)


def count_on_regardless(frame: Bytes, action: int) -> Bytes:
    """The same for a simulator that takes every action for action 1."""
    return count_on(frame, 1)


def as_simulator(fake: FakeSimulator) -> Simulator:
    """For the type checker: it has the calls that evaluation makes."""
    return fake  # type: ignore[return-value]


def write_run(run: Path, data_set: DataSet, updates: tuple[int, ...] = (20, 40), variant: str = "base") -> Path:
    """Checkpoints of small untrained simulators that fit a data set."""
    recording = data_set.recording
    codec = codec_for(*recording.frame_shape).scaled(0.1)
    spec = SimulatorSpec.named(variant, codec, len(recording.action_meanings))
    narrow = {
        field: size for field, size in (("hidden", 24), ("fused", 32)) if getattr(spec.transition, field) != "encoding"
    }
    spec = replace(spec, transition=replace(spec.transition, **narrow))
    palette = None if data_set.palette is None else torch.from_numpy(data_set.palette)
    for count in updates:
        torch.manual_seed(count)
        simulator = Simulator(spec, FrameStatistics(torch.full((3, 1, 1), 0.4), palette))
        configuration = Configuration(
            simulator=spec.to_json(),
            environment={"name": recording.environment, "action_meanings": list(recording.action_meanings)},
            data={"folder": str(data_set.folder), "identity": data_set.identity, "policy": recording.policy},
            run={"preset": "tiny", "variant": variant, "scheme": "pdt-0-100"},
            scheme={"name": "pdt-0-100"},
            code_version="0",
        )
        counts = {"updates": count, "frames": count * 240, "frames_with_warm_up": count * 400, "seconds": count / 10}
        save_checkpoint(run, simulator, configuration, counts, {})
    return run
