"""Episodes on their way into a data set: read piece by piece, checked, and named in every complaint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framedream.data.episode import NO_ACTION, Frames, Rows, check_frames
from framedream.errors import UserError


@dataclass(frozen=True)
class IncomingEpisode:
    """An episode from elsewhere. Its frames come in blocks, so that a long film never has to fit in memory."""

    source: str
    blocks: Callable[[], Iterator[Frames]]
    actions: NDArray[np.integer[Any]]
    """One per transition: `actions[i]` leads from frame i to frame i + 1."""
    rewards: NDArray[Any] | None = None
    states: NDArray[Any] | None = None
    terminated: bool = False
    truncated: bool = True
    """A recording that just stops is truncated."""
    seed: int = 0

    def __post_init__(self) -> None:
        with naming(self.source):
            _check_actions(self.actions)
            if self.rewards is not None and np.shape(self.rewards) != self.actions.shape:
                raise UserError(f"there are {len(self.actions)} actions but rewards of shape {np.shape(self.rewards)}.")
            if self.states is not None and len(self.states) != len(self):
                raise UserError(f"there are {len(self.states)} states for {len(self)} frames.")
            if self.seed < 0:
                raise UserError(f"the seed must be 0 or more, not {self.seed}.")

    def __len__(self) -> int:
        return len(self.actions) + 1

    @property
    def image_shape(self) -> tuple[int, ...]:
        """The shape of its first frame."""
        with naming(self.source):
            for block in self.blocks():
                check_frames(block)
                return block.shape[1:]
            raise UserError("there are no frames in it.")

    def rows(self, convert: Callable[[Frames], Frames]) -> Iterator[Rows]:
        """The rows it is stored as; `convert` is applied to its frames."""
        length = len(self)
        actions = np.append(self.actions, NO_ACTION).astype(np.int16)
        rewards = np.zeros(length, np.float32)
        if self.rewards is not None:
            rewards[:-1] = self.rewards
        last = np.arange(length) == length - 2
        done = 0
        for frames in self.blocks():
            check_frames(frames)
            place = slice(done, done + len(frames))
            done += len(frames)
            if done <= length:
                yield Rows(
                    convert(frames),
                    actions[place],
                    rewards[place],
                    (last & self.terminated)[place],
                    (last & self.truncated)[place],
                    None if self.states is None else self.states[place],
                )
        if done != length:
            raise UserError(
                f"there are {done} frames but {length - 1} actions; {done} frames have {max(done - 1, 0)} transitions "
                "between them, and each needs one action."
            )


def _check_actions(actions: Any) -> None:
    if not isinstance(actions, np.ndarray) or actions.ndim != 1:
        raise UserError(f"actions must be one list of numbers, not an array of shape {np.shape(actions)}.")
    if not np.issubdtype(actions.dtype, np.integer):
        raise UserError(f"actions must be whole numbers 0, 1, 2 …, not {actions.dtype}.")
    if len(actions) == 0:
        raise UserError("there are no actions in it; an episode needs at least 2 frames and 1 action between them.")
    if actions.min() < 0 or actions.max() > np.iinfo(np.int16).max:
        raise UserError(
            f"actions must be numbers from 0 to {np.iinfo(np.int16).max}; these reach from {actions.min()} to "
            f"{actions.max()}."
        )


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Say in every complaint which file it is about."""
    try:
        yield
    except UserError as error:
        if source in str(error):
            raise
        raise UserError(f"{source}: {error}") from error.__cause__
