"""Frames and states that a part does not store: its environment shows them again, from seeds and actions.

A replayed column is read like a stored one, by whole rows from any thread, and only the rows that are asked for are
drawn. What it takes to draw them (in mazes: the layout, and where the agent was at every step) is worked out once per
episode and kept for the episodes used last.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
from numpy.typing import NDArray

from framedream.data.recording import Recording
from framedream.envs import make_environment
from framedream.envs.replay import Replay
from framedream.errors import UserError

MOST_MEMORY = 256 * 2**20
"""Bytes of episodes to keep: in mazes of the ordinary size, about 8,000 episodes."""


def recording_of(file: h5py.File) -> Recording:
    """What an open part says it is a recording of."""
    return Recording.from_json(json.loads(file.attrs["recording"]))


class ReplayedPart:
    """The frames and states of one part, which is open while this is made and not needed after."""

    def __init__(self, path: Path, file: h5py.File) -> None:
        recording = recording_of(file)
        try:
            self._replayer = _replayer(file.attrs["recording"])
        except UserError as error:
            raise UserError(f"{path} stores actions only, and its frames cannot be shown again: {error}") from error
        table = file["episode"]
        self._starts, self._lengths = table["start"][:], table["length"][:]
        self._seeds, self._actions = table["seed"][:], file["action"][:]
        rows = len(self._actions)
        self.frames = ReplayedColumn(self, "frames", (rows, *recording.image_shape), np.dtype(np.uint8))
        self.states: ReplayedColumn | None = None
        if recording.state_shape is not None and recording.state_type is not None:
            self.states = ReplayedColumn(self, "states", (rows, *recording.state_shape), recording.state_type)

    def stretches(self, start: int, rows: int) -> Iterator[tuple[Replay, int, slice]]:
        """(episode, its first row wanted, where those rows go) for every episode that the rows touch."""
        filled = 0
        number = int(np.searchsorted(self._starts, start, side="right")) - 1
        while filled < rows:
            first, end = int(self._starts[number]), int(self._starts[number] + self._lengths[number])
            skipped = start + filled - first
            count = min(rows - filled, end - first - skipped)
            # The last row's action is none: an episode has one frame more than actions.
            replay = self._replayer.episode(int(self._seeds[number]), self._actions[first : end - 1])
            yield replay, skipped, slice(filled, filled + count)
            number, filled = number + 1, filled + count

    def close(self) -> None:
        """Nothing is held open."""


@dataclass(frozen=True)
class ReplayedColumn:
    """One of the two, read like a column that is stored."""

    part: ReplayedPart
    what: Literal["frames", "states"]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, start: int, out: NDArray[Any]) -> None:
        """Fill `out`, a C-contiguous array of whole rows, with rows `start`, `start + 1`, …"""
        if not 0 <= start < start + len(out) <= len(self):
            raise IndexError(f"there are {len(self)} rows, not rows {start} to {start + len(out)}")
        for replay, first, place in self.part.stretches(start, len(out)):
            getattr(replay, self.what)(first, out[place])

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        out = np.empty((rows.stop - rows.start, *self.shape[1:]), self.dtype)
        self.read(rows.start, out)
        return out


class Replayer:
    """Shows the episodes of one recording again; safe to use from many threads."""

    def __init__(self, recording: Recording) -> None:
        self._environment = make_environment(recording.environment, **recording.arguments)
        _refuse_changed(recording, self._environment.provenance())
        self._kept: OrderedDict[tuple[int, bytes], Replay] = OrderedDict()
        self._memory = 0
        self._lock = threading.Lock()

    def episode(self, seed: int, actions: NDArray[np.int16]) -> Replay:
        """The episode with this seed and these actions."""
        key = seed, actions.tobytes()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        replay = self._environment.replay(seed, actions)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = replay
                self._memory += replay.memory
            while self._memory > MOST_MEMORY and len(self._kept) > 1:
                self._memory -= self._kept.popitem(last=False)[1].memory
        return replay


@lru_cache(maxsize=2)
def _replayer(recording: str) -> Replayer:
    """One for all parts of a data set, by what they say they are a recording of."""
    return Replayer(Recording.from_json(json.loads(recording)))


def _refuse_changed(recording: Recording, now: dict[str, Any]) -> None:
    """Refuse an environment that shows something else than it did; where it has proofs, versions do not matter."""
    before = recording.provenance
    decisive = [name for name in before if name.endswith("sha256")] or list(before)
    for name in decisive:
        if now.get(name) != before[name]:
            versions = ", ".join(f"{name} {value}" for name, value in before.items() if not name.endswith("sha256"))
            raise UserError(
                f"{recording.environment} has changed since ({name} is {now.get(name)!r}, not {before[name]!r}); use "
                f"the versions of then ({versions or 'not recorded'}), or record again with --store frames."
            )
