"""Episodes in memory, the rows they are stored as, and the hash of their contents."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from framedream.errors import UserError

Frames = NDArray[np.uint8]
NO_ACTION = -1
"""The action of an episode's last row, which no transition leaves."""


class Rows(NamedTuple):
    """Consecutive rows of an episode as they are stored: each a frame and the transition out of it."""

    frames: Frames
    actions: NDArray[np.int16]
    rewards: NDArray[np.float32]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    states: NDArray[Any] | None

    def slice(self, start: int, stop: int) -> Rows:
        """Rows `start` to `stop`, without copying."""
        return Rows._make(None if column is None else column[start:stop] for column in self)


@dataclass(frozen=True)
class Episode:
    """One whole episode: L frames and the L-1 transitions between them, validated."""

    frames: Frames
    actions: NDArray[np.integer[Any]]
    rewards: NDArray[np.floating[Any]]
    terminated: bool
    truncated: bool
    states: NDArray[Any] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_frames(self.frames)
        transitions = len(self.frames) - 1
        if transitions < 1:
            raise UserError(f"An episode needs at least 2 frames and 1 action between them, not {len(self.frames)}.")
        for name, values in (("actions", self.actions), ("rewards", self.rewards)):
            if np.shape(values) != (transitions,):
                raise UserError(
                    f"An episode of {len(self.frames)} frames has {transitions} transitions, "
                    f"but its {name} have shape {np.shape(values)}; give one for each transition."
                )
        if not np.isfinite(self.rewards).all():
            raise UserError("The rewards of an episode must be finite numbers; replace those that are not.")
        if not np.issubdtype(self.actions.dtype, np.integer):
            raise UserError(f"Actions are numbers 0, 1, 2 … of an integer type, not {self.actions.dtype}.")
        if self.actions.min() < 0 or self.actions.max() > np.iinfo(np.int16).max:
            raise UserError(
                f"Actions are numbers from 0 to {np.iinfo(np.int16).max}; "
                f"these reach from {self.actions.min()} to {self.actions.max()}."
            )
        if not (self.terminated or self.truncated):
            raise UserError("An episode ends by termination or truncation: mark one that just stops as truncated.")
        if self.states is not None and len(self.states) != len(self.frames):
            raise UserError(f"An episode of {len(self.frames)} frames needs as many states, not {len(self.states)}.")

    def __len__(self) -> int:
        return len(self.frames)

    def rows(self) -> Rows:
        """The rows this episode is stored as: the flags stand on the last transition, the last row has no action."""
        ending = np.arange(len(self)) == len(self) - 2
        return Rows(
            frames=self.frames,
            actions=np.append(self.actions, NO_ACTION).astype(np.int16),
            rewards=np.append(self.rewards, 0).astype(np.float32),
            terminations=ending & self.terminated,
            truncations=ending & self.truncated,
            states=self.states,
        )


def check_frames(frames: Any) -> None:
    """Refuse what is not a run of frames of bytes, saying why."""
    if not isinstance(frames, np.ndarray) or frames.dtype == object:
        raise UserError("The frames of an episode must be one array; these change their shape from frame to frame.")
    if frames.dtype != np.uint8:
        hint = "scale 0..1 to 0..255 and round" if np.issubdtype(frames.dtype, np.floating) else "convert them"
        raise UserError(f"Frames must be bytes (uint8), not {frames.dtype}; {hint}.")
    if not (frames.ndim == 3 or (frames.ndim == 4 and frames.shape[3] == 3)) or 0 in frames.shape[1:]:
        raise UserError(
            f"Frames must be (N, height, width) indices or (N, height, width, 3) colours, not {frames.shape}."
        )


class ContentHash:
    """SHA-256 of an episode's content, taken as its rows pass by in pieces of any size.

    Every column has a hash of its own and the episode's is taken over those, so that the result depends neither on
    how the rows were cut nor on how they are compressed. SHA-256 costs 19 microseconds for an Atari frame on a CPU
    with SHA instructions (BLAKE2b 26), a fifteenth of what playing it costs.
    """

    def __init__(self, seed: int, palette: Frames | None) -> None:
        self._header: dict[str, Any] = {"seed": seed, "palette": None if palette is None else _digest(palette)}
        self._columns = {name: hashlib.sha256() for name in Rows._fields}
        self._length = 0

    def update(self, rows: Rows) -> None:
        """Take the next rows in."""
        for name, column in rows._asdict().items():
            if column is not None:
                self._columns[name].update(np.ascontiguousarray(column).data)
                self._header[name] = [column.dtype.str, *column.shape[1:]]
        self._length += len(rows.frames)

    def hexdigest(self) -> str:
        """The hash of the rows so far, as 64 letters."""
        digests = {name: column.hexdigest() for name, column in self._columns.items()}
        content = {"length": self._length, "header": self._header, "columns": digests}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
