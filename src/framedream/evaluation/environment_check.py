"""The environment itself as a predictor: replayed from the same seed and actions it must make no error at all.

This checks the pipeline, from recording over storage to the definition of the error; it is not a baseline.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.data.recording import IMPORTED
from framedream.data.segment import SegmentId
from framedream.envs import make_environment
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.errors import UserError
from framedream.evaluation.frames import as_floats
from framedream.evaluation.measures import prediction_error
from framedream.evaluation.sequences import Sequences

EPISODES = 8
ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class EnvironmentCheck:
    """What a replay found."""

    episodes: int
    frames: int
    largest_error: float
    where: str
    """The first frame that differs, in words; empty when none does."""

    def __str__(self) -> str:
        found = f"it differs from {self.where} on" if self.where else "no error at all: the recording is deterministic"
        return (
            f"Environment replayed from seeds and actions: {self.episodes} episodes, {self.frames:,} frames; {found}."
        )

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return asdict(self)


def check_environment(data_set: DataSet, sequences: Sequences, episodes: int = EPISODES) -> EnvironmentCheck:
    """Replay the episodes of the first few sequences, each from its reset to the sequence's end."""
    if data_set.recording.environment == IMPORTED:
        raise UserError(
            f"{data_set.folder} was imported: it has no environment to be replayed in; leave the check out."
        )
    last_of = {segment.episode: segment for segment in reversed(sequences.ids)}
    chosen = [last_of[episode] for episode in dict.fromkeys(sequences.episodes)][:episodes]
    environment = make_environment(data_set.recording.environment, **data_set.recording.arguments)
    frames, largest, where = 0, 0.0, ""
    try:
        with SegmentReader(sequences.split, states=False) as reader:
            for segment in chosen:
                errors = _replay(
                    environment, data_set, reader, segment, int(sequences.split.episodes.seed[segment.episode])
                )
                frames += len(errors)
                if not where and errors.any():
                    where = f"{sequences.split.name} episode {segment.episode}, frame {int(errors.argmax())}"
                largest = max(largest, float(errors.max()))
    finally:
        environment.close()
    return EnvironmentCheck(len(chosen), frames, largest, where)


def _replay(
    environment: FrameEnvironment, data_set: DataSet, reader: SegmentReader, segment: SegmentId, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The error of every frame of the episode up to the end of `segment`."""
    errors: list[float] = []
    frame, _ = environment.reset(seed=seed)
    end = segment.start + segment.length
    for start in range(0, end, ROWS_AT_ONCE):
        stored = reader.read(SegmentId(segment.episode, start, min(ROWS_AT_ONCE, end - start)))
        for number, (real, action) in enumerate(zip(stored.frames, stored.actions, strict=True), start):
            errors.append(_error(environment.rgb(frame), real if data_set.palette is None else data_set.palette[real]))
            if number + 1 < end:
                frame, *_ = environment.step(int(action))
    return np.array(errors)


def _error(replayed: Frame, real: Frame) -> float:
    """The prediction error, taken only where bytes differ at all (they should not)."""
    if np.array_equal(replayed, real):
        return 0.0
    return float(prediction_error(*(as_floats(torch.from_numpy(picture))[None] for picture in (replayed, real))))
