"""One episode, played by a policy and written as it goes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from framedream.agents import Policy
from framedream.data.episode import NO_ACTION, Rows, check_frames
from framedream.data.part import FRAMES_PER_CHUNK, PartWriter
from framedream.data.recording import Recording, Store
from framedream.data.seeds import EpisodeSeeds
from framedream.envs import FrameEnvironment
from framedream.errors import UserError

LONGEST_EPISODE = 1_000_000
"""Frames. Only whole episodes make a data set, and one that never ends would be recorded for ever."""


def describe_recording(environment: FrameEnvironment, policy: Policy, seed: int, store: Store = "frames") -> Recording:
    """What recording this environment with this policy is. Looks at one frame, to see what its states are like."""
    frame, info = environment.reset(seed=0)
    check_frames(np.asarray(frame)[None])
    if store == "actions":
        # Refused here where it cannot be done; what it shows is compared when episodes are packed.
        environment.replay(0, np.empty(0, np.int16))
    state = info.get("state")
    if state is not None and not (isinstance(state, np.ndarray) and state.ndim == 1 and state.dtype.kind in "biuf"):
        raise UserError(f"The state of {environment.name} must be a flat array of numbers in info['state'].")
    return Recording(
        environment=environment.name,
        arguments=environment.arguments,
        action_meanings=environment.action_meanings,
        action_repeat=environment.action_repeat,
        frame_shape=(frame.shape[0], frame.shape[1]),
        indexed=environment.palette is not None,
        policy=policy.describe(),
        provenance=environment.provenance(),
        seed=seed,
        state_shape=None if state is None else state.shape,
        state_dtype=None if state is None else state.dtype.name,
        store=store,
    )


def play_episode(
    environment: FrameEnvironment,
    policy: Policy,
    seeds: EpisodeSeeds,
    part: PartWriter,
    after_chunk: Callable[[int], None],
) -> None:
    """Play until the episode ends. `after_chunk` hears the number of frames now and then."""
    rows = _RowBuffer(part)
    actions = len(environment.action_meanings)
    frame, info = environment.reset(seed=seeds.environment)
    policy.begin(seeds.policy, actions)
    terminated = truncated = False
    while not (terminated or truncated):
        action = policy.act(frame, info)
        if not 0 <= action < actions:
            raise UserError(f"The policy chose action {action}; {environment.name} has actions 0 to {actions - 1}.")
        seen, state = frame, info.get("state")
        frame, reward, terminated, truncated, info = environment.step(action)
        rows.add(seen, state, action, float(reward), terminated, truncated)
        if rows.empty:
            after_chunk(part.frames)
            if part.frames > LONGEST_EPISODE:
                raise UserError(
                    f"An episode of {environment.name} has not ended after {LONGEST_EPISODE:,} frames; end it there, "
                    "for example with gymnasium.wrappers.TimeLimit."
                )
    rows.add(frame, info.get("state"), NO_ACTION, 0.0, False, False)
    rows.flush()


class _RowBuffer:
    """Gathers single rows into a chunk, refusing frames and states that are not what the recording says."""

    def __init__(self, part: PartWriter) -> None:
        self._part = part
        recording = part.recording
        size = FRAMES_PER_CHUNK
        states = None
        if recording.state_shape is not None:
            states = np.empty((size, *recording.state_shape), recording.state_type)
        self._rows = Rows(
            frames=np.empty((size, *recording.image_shape), np.uint8),
            actions=np.empty(size, np.int16),
            rewards=np.empty(size, np.float32),
            terminations=np.empty(size, np.bool_),
            truncations=np.empty(size, np.bool_),
            states=states,
        )
        self._filled = 0

    @property
    def empty(self) -> bool:
        return self._filled == 0

    def add(self, frame: Any, state: Any, action: int, reward: float, terminated: bool, truncated: bool) -> None:
        rows, at = self._rows, self._filled
        # numpy would broadcast and convert without a word.
        if getattr(frame, "shape", None) != rows.frames.shape[1:] or frame.dtype != np.uint8:
            check_frames(np.asarray(frame)[None])
            raise UserError(f"Frames must keep one shape: {rows.frames.shape[1:]} at first, later {frame.shape}.")
        if not math.isfinite(reward):
            raise UserError(f"Rewards must be finite numbers, not {reward}.")
        rows.frames[at] = frame
        rows.actions[at] = action
        rows.rewards[at] = reward
        rows.terminations[at] = terminated
        rows.truncations[at] = truncated
        if rows.states is not None:
            if getattr(state, "shape", None) != rows.states.shape[1:] or state.dtype != rows.states.dtype:
                now = "none" if state is None else f"{np.shape(state)} {getattr(state, 'dtype', type(state).__name__)}"
                raise UserError(
                    f"States must keep one shape and type: {rows.states[0].shape} {rows.states.dtype} at first, "
                    f"later {now}."
                )
            rows.states[at] = state
        self._filled += 1
        if self._filled == len(rows.frames):
            self.flush()

    def flush(self) -> None:
        if self._filled:
            self._part.append(self._rows.slice(0, self._filled))
            self._filled = 0
