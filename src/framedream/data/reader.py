"""Segments of a split, read by several threads: from the compressed chunks in place, or replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from framedream.data.chunks import CompressedRows, MappedFile
from framedream.data.replayed import ReplayedColumn, ReplayedPart, recording_of
from framedream.data.segment import Batch, Segment, SegmentId
from framedream.errors import UserError

if TYPE_CHECKING:
    from framedream.data.dataset import Split

COLUMNS = ("action", "reward", "termination", "truncation")
NO_OPERATION = 0
Column = CompressedRows | ReplayedColumn
"""Where frames or states come from."""


class SegmentReader:
    """Reads any segment of a split; safe to use from many threads at once.

    Frames and states stay compressed in their files, or are drawn when they are asked for where the data set stores
    actions only; actions, rewards and flags (8 bytes a row) are held in memory.
    With `cross_episodes` a segment may run on into the next episode: the transition from an episode's last frame to
    the next reset frame, which nobody chose an action for, then carries action 0 (in Atari games the no-op).
    """

    def __init__(self, split: Split, threads: int = 1, *, states: bool = True, cross_episodes: bool = False) -> None:
        table = split.episodes
        self.cross_episodes = cross_episodes
        self._parts = [_Part(path, states) for path in split.paths]
        self._columns = {name: np.concatenate([part.columns[name] for part in self._parts]) for name in COLUMNS}
        self._episode_part, self._episode_start = table.part, table.start
        self._lengths = np.asarray(table.length, np.int64)
        part_rows = np.cumsum([0, *(len(part.frames) for part in self._parts)])
        self._first_row = part_rows[table.part] + table.start
        """Where each episode begins in the columns."""
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads - 1, "segment-reader") if threads > 1 else None

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """(H, W) where frames are palette indices, (H, W, 3) where they are colours."""
        return self._parts[0].frames.shape[1:]

    def transitions(self, column: str) -> NDArray[Any]:
        """The `reward`, `termination`, … of every transition of the split, in the order of its parts."""
        return self._columns[column][self._columns["action"] >= 0]

    def actions(self, episode: int, stop: int | None = None) -> NDArray[np.int64]:
        """The actions of an episode, or its first `stop` ones. They are in memory: no frame is read for them."""
        transitions = int(self._lengths[episode]) - 1
        first = int(self._first_row[episode])
        count = transitions if stop is None else min(stop, transitions)
        return self._columns["action"][first : first + count].astype(np.int64)

    def read(self, segment: SegmentId) -> Segment:
        """One segment."""
        one = self.read_batch([segment])
        states = None if one.states is None else one.states[0]
        return Segment(one.frames[0], one.actions[0], one.rewards[0], one.terminations[0], one.truncations[0], states)

    def read_batch(self, ids: Sequence[SegmentId], frames_out: NDArray[np.uint8] | None = None) -> Batch:
        """Segments of one length, stacked; their frames in `frames_out` where the caller has a place for them."""
        lengths = {segment.length for segment in ids}
        if len(lengths) != 1 or min(lengths) < 1:
            raise ValueError(f"a batch is made of segments of one length, at least 1, not of {sorted(lengths)}")
        shape = (len(ids), *lengths)
        frames = np.empty((*shape, *self.frame_shape), np.uint8) if frames_out is None else frames_out
        if frames.shape != (*shape, *self.frame_shape) or frames.dtype != np.uint8:
            raise ValueError(
                f"frames_out must be uint8 {(*shape, *self.frame_shape)}, not {frames.dtype} {frames.shape}"
            )
        first_states = self._parts[0].states
        states = None if first_states is None else np.empty((*shape, *first_states.shape[1:]), first_states.dtype)

        rows = np.empty(shape, np.int64)
        tasks: list[tuple[Column, int, NDArray[Any]]] = []
        for number, segment in enumerate(ids):
            filled = 0
            for episode, start, length in self._stretches(segment):
                place = slice(filled, filled + length)
                part, part_row = self._parts[self._episode_part[episode]], int(self._episode_start[episode]) + start
                rows[number, place] = np.arange(length) + (self._first_row[episode] + start)
                tasks.append((part.frames, part_row, frames[number, place]))
                if part.states is not None and states is not None:
                    tasks.append((part.states, part_row, states[number, place]))
                filled += length
        self._read_all(tasks)

        actions = self._columns["action"][rows].astype(np.int64)
        # Only the last action of a segment may be "none"; within it, that is the joint of two episodes.
        np.copyto(actions[:, :-1], NO_OPERATION, where=actions[:, :-1] < 0)
        return Batch(
            frames=frames,
            actions=actions,
            rewards=self._columns["reward"][rows],
            terminations=self._columns["termination"][rows],
            truncations=self._columns["truncation"][rows],
            states=states,
            ids=tuple(ids),
        )

    def _stretches(self, segment: SegmentId) -> Iterator[tuple[int, int, int]]:
        """(episode, first frame, frames) of every episode that a segment touches."""
        episode, start, missing = segment.episode, segment.start, segment.length
        if not (0 <= episode < len(self._lengths) and 0 <= start < self._lengths[episode]):
            raise IndexError(f"{segment} does not begin in an episode of this split")
        while missing:
            if episode == len(self._lengths):
                raise IndexError(f"{segment} runs past the last episode")
            length = min(missing, int(self._lengths[episode]) - start)
            if length < missing and not self.cross_episodes:
                raise IndexError(f"{segment} runs past the end of its episode of {self._lengths[episode]} frames")
            yield episode, start, length
            episode, start, missing = episode + 1, 0, missing - length

    def _read_all(self, tasks: list[tuple[Column, int, NDArray[Any]]]) -> None:
        """Do all tasks, cut into one stretch per thread, of which the calling thread takes the first.

        Waking a thread costs as much as reading a segment, so it is done as rarely as possible.
        """
        edges = [len(tasks) * number // self._threads for number in range(self._threads + 1)]
        mine, *others = (tasks[start:end] for start, end in pairwise(edges))
        jobs = [self._pool.submit(_read_each, stretch) for stretch in others] if self._pool is not None else []
        _read_each(mine)
        for job in jobs:
            job.result()

    def close(self) -> None:
        """Stop the threads and let go of the files; arrays that were read stay valid."""
        if self._pool is not None:
            self._pool.shutdown()
        for part in self._parts:
            part.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read_each(tasks: list[tuple[Column, int, NDArray[Any]]]) -> None:
    for table, start, out in tasks:
        table.read(start, out)


class _Part:
    """One file of a split, ready to be read."""

    def __init__(self, path: Path, with_states: bool) -> None:
        try:
            with h5py.File(path, "r") as file:
                self.columns: dict[str, NDArray[Any]] = {name: file[name][:] for name in COLUMNS}
                replayed = recording_of(file).store == "actions"
                self._source = ReplayedPart(path, file) if replayed else _Stored(path, file, with_states)
        except (OSError, KeyError) as error:
            raise UserError(f"{path} cannot be read ({error}): `framedream data verify` says more.") from error
        self.frames: Column = self._source.frames
        self.states: Column | None = self._source.states if with_states else None

    def close(self) -> None:
        self._source.close()


class _Stored:
    """Frames and states as they lie in the file."""

    def __init__(self, path: Path, file: h5py.File, with_states: bool) -> None:
        self._file = MappedFile(path)
        self.frames = self._file.compressed(file["frames"])
        self.states = self._file.compressed(file["state"]) if with_states and "state" in file else None

    def close(self) -> None:
        self._file.close()
