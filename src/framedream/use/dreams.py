"""Dreams as an environment counts them: how far they are, what a transition brings, when they end.

Explicit values in, explicit values out: the single and the vector environment keep one and share all of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from framedream.errors import UserError
from framedream.model.simulator import State
from framedream.use.dreamer import rows, with_rows
from framedream.use.opening import Opened
from framedream.use.starts import RecordedStarts, Start

EVEN_ODDS = 0.5
"""A predicted end is one that is more likely than not."""


@dataclass(frozen=True, eq=False)
class DreamState:
    """One or several dreams between two steps: all that decides how they go on. Keep it, and come back to it.

    It never changes. What it does not hold is the random numbers that choose where the next dreams begin.
    """

    state: State
    steps: NDArray[np.int64]
    """(B,) steps since the last real frame."""
    ended: NDArray[np.bool_]
    """(B,) whether the last step was the last one."""
    origins: tuple[dict[str, Any], ...]
    """Where each began."""

    def __post_init__(self) -> None:
        for array in (self.steps, self.ended):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.steps)

    def rows(self, which: Sequence[int]) -> DreamState:
        """Some of the dreams, in this order, each as often as it is named."""
        order = list(which)
        origins = tuple(self.origins[number] for number in order)
        return DreamState(rows(self.state, order), self.steps[order], self.ended[order], origins)


@dataclass(frozen=True)
class Outcome:
    """What one transition brought each dream."""

    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    end_probability: NDArray[np.float64] | None
    """None where the checkpoint has no head for it."""


class Dreams:
    """Begins and continues dreams with a time limit; rewards are 0 and nothing terminates without heads."""

    def __init__(self, opened: Opened, time_limit: int) -> None:
        if time_limit < 0:
            raise UserError(f"time_limit must be at least 1, or 0 for none, not {time_limit}.")
        self._dreamer, self._heads, self._starts = opened.dreamer, opened.heads, opened.starts
        self._time_limit = time_limit
        names = () if opened.heads is None else opened.heads.spec.names
        self.plain_words = {
            "rewards": "predicted" if "reward" in names else "always 0",
            "ends": "predicted, or time limit" if "end" in names else "time limit only",
        }
        """What `info` says of rewards and ends."""

    def start(self, generator: np.random.Generator, place: dict[str, Any]) -> Start:
        """A start: the one at a place of the recording, such as an origin names, or any."""
        if not place:
            return self._starts.draw(generator)
        if not isinstance(self._starts, RecordedStarts):
            raise UserError("Only dreams that begin in a data set can begin at a given place of it.")
        if not {"episode", "start"} <= place.keys() <= {"episode", "start", "data", "split"}:
            raise UserError(f"A place in a data set is an episode and a start, not {', '.join(place)}.")
        start = self._starts.at(int(place["episode"]), int(place["start"]))
        if place.items() - start.origin.items():
            raise UserError(f"The place {place} is one of another data set or split than {start.origin}.")
        return start

    def begin(self, starts: Sequence[Start]) -> DreamState:
        """One dream for each start."""
        state, count = self._dreamer.begin(starts), len(starts)
        return DreamState(state, np.zeros(count, np.int64), np.zeros(count, np.bool_), tuple(s.origin for s in starts))

    def step(self, dreams: DreamState, actions: ArrayLike, look: bool) -> tuple[DreamState, Outcome]:
        """One action (B,) further. Without `look` no frame is drawn, unless the next transition has to read it."""
        if look:
            state = self._dreamer.step(dreams.state, actions)
        else:
            state = self._dreamer.jump(dreams.state, np.asarray(actions)[:, None])
        steps = dreams.steps + 1
        outcome = self._outcome(state, steps)
        return DreamState(state, steps, outcome.terminations | outcome.truncations, dreams.origins), outcome

    def jump(self, dreams: DreamState, actions: ArrayLike) -> DreamState:
        """Actions (B, T) further. Nothing is looked at on the way: no frames, no rewards, no ends."""
        length = np.shape(actions)[1]
        if length == 0:
            return dreams
        return replace(dreams, state=self._dreamer.jump(dreams.state, actions), steps=dreams.steps + length)

    def see(self, dreams: DreamState) -> Tensor:
        """RGB bytes (B, H, W, 3), on the simulator's device."""
        return self._dreamer.see(dreams.state)

    def replaced(self, dreams: DreamState, which: Sequence[int], others: DreamState, look: bool = True) -> DreamState:
        """The dreams, with these of them replaced by `others`."""
        state, theirs = dreams.state, others.state
        if state.frame is None and not look and self._dreamer.simulator.prediction_independent:
            theirs = replace(theirs, frame=None)  # which nobody sees, and no transition reads
        if (state.frame is None) != (theirs.frame is None):
            state, theirs = self._seen(state), self._seen(theirs)
        steps, ended, origins = dreams.steps.copy(), dreams.ended.copy(), list(dreams.origins)
        steps[which], ended[which] = others.steps, others.ended
        for number, origin in zip(which, others.origins, strict=True):
            origins[number] = origin
        return DreamState(with_rows(state, which, theirs), steps, ended, tuple(origins))

    def placed(self, dreams: DreamState) -> DreamState:
        """The dreams on this simulator's device and in its form; refused if they are another simulator's."""
        return replace(dreams, state=self._dreamer.taken_over(dreams.state))

    @torch.inference_mode()
    def _seen(self, state: State) -> State:
        return state.seen(self._dreamer.simulator.decode(state)) if state.frame is None else state

    @torch.inference_mode()
    def _outcome(self, state: State, steps: NDArray[np.int64]) -> Outcome:
        reward = end = None
        if self._heads is not None:
            reward, end = self._heads.reward(state.hidden), self._heads.end(state.hidden)
        probability = None if end is None else end.double().cpu().numpy()
        return Outcome(
            rewards=np.zeros(len(steps)) if reward is None else reward.double().cpu().numpy(),
            terminations=np.zeros(len(steps), np.bool_) if probability is None else probability > EVEN_ODDS,
            truncations=steps >= self._time_limit if self._time_limit else np.zeros(len(steps), np.bool_),
            end_probability=probability,
        )
