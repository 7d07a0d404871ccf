"""Which episodes a split still needs, and which can be packed: the recorder's decisions, without files or processes."""

from __future__ import annotations

from dataclasses import dataclass

from framedream.data.assembly import FRAMES_PER_PART
from framedream.errors import UserError

SHORTEST_EPISODE = 2
"""Frames of the shortest episode there can be."""


@dataclass(frozen=True)
class Amount:
    """How much of a split is wanted: at least so many frames, or exactly so many episodes."""

    frames: int | None = None
    episodes: int | None = None

    def __post_init__(self) -> None:
        if (self.frames is None) == (self.episodes is None):
            raise UserError("Ask for a number of frames or for a number of episodes, one of the two.")
        if min(self.frames or 0, self.episodes or 0) < 0:
            raise UserError("A number of frames or episodes cannot be negative.")

    def as_json(self) -> dict[str, int]:
        """What is asked for, for the manifest."""
        return {"episodes": self.episodes} if self.frames is None else {"frames": self.frames}  # type: ignore[dict-item]

    def reached(self, frames: int, episodes: int) -> bool:
        """Whether a run of so many frames in so many episodes is enough."""
        return frames >= self.frames if self.frames is not None else episodes >= (self.episodes or 0)


class SplitPlan:
    """Decides for one split: episodes 0, 1, 2 … up to the first that reaches what was asked for.

    Parts are cut in the order of the episodes and wherever they reach `FRAMES_PER_PART`, so that neither the episodes
    of a data set nor its files depend on the number of workers.
    """

    def __init__(self, amount: Amount, packed: list[int], staged: dict[int, int]) -> None:
        self.amount = amount
        self._lengths = dict(enumerate(packed)) | staged
        self._packed = len(packed)
        self._playing: dict[int, int] = {}
        self._next, self._frames_before_next = 0, 0
        self._run, self._frames_of_run = 0, 0
        self._advance()

    @property
    def complete(self) -> bool:
        """Whether enough episodes are finished, with none missing in between."""
        return self.amount.reached(self._frames_of_run, self._run)

    @property
    def frames(self) -> int:
        """Frames of all episodes so far, those being played included."""
        return sum(self._lengths.values()) + sum(self._playing.values())

    @property
    def episodes(self) -> int:
        """Finished episodes."""
        return len(self._lengths)

    def next_to_play(self) -> int | None:
        """The next episode that may be needed, counted as being played from now on; none if there is none."""
        while self._next in self._lengths:
            self._frames_before_next += self._lengths[self._next]
            self._next += 1
        at_least = self._frames_before_next + sum(self._playing.values())
        if self.complete or self.amount.reached(at_least, self._next):
            return None
        number = self._next
        self._playing[number] = SHORTEST_EPISODE
        self._next += 1
        return number

    def progress(self, number: int, frames: int) -> None:
        """An episode being played has so many frames by now."""
        self._playing[number] = frames

    def finish(self, number: int, frames: int) -> None:
        """An episode is staged."""
        del self._playing[number]
        self._lengths[number] = frames
        self._frames_before_next += frames
        self._advance()

    def next_to_pack(self, everything: bool = False) -> list[int]:
        """The episodes of the next part, if enough are finished; `everything`: however few they are."""
        numbers: list[int] = []
        frames = 0
        for number in range(self._packed, self._run):
            numbers.append(number)
            frames += self._lengths[number]
            if frames >= FRAMES_PER_PART:
                break
        if frames < FRAMES_PER_PART and not (self.complete or everything):
            return []
        self._packed += len(numbers)
        return numbers

    def _advance(self) -> None:
        """Extend the run of finished episodes without gaps, stopping at the first that is enough."""
        while self._run in self._lengths and not self.complete:
            self._frames_of_run += self._lengths[self._run]
            self._run += 1
