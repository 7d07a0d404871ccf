"""A simulator in use: bytes and action numbers on the outside, states handed back and forth, nothing remembered."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from threading import Lock
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from framedream.errors import UserError
from framedream.fast.doubles import faster, picture_of, quickest
from framedream.model.simulator import Simulator, State
from framedream.use.starts import Start, stacked

BYTES_AT_ONCE = 64 * 2**20
"""Frames of warm-ups that are encoded at once, as floats: thousands of dreams begin in bounded memory."""


class Dreamer:
    """Begins and continues any number of dreams at once. A `State` is all that a dream is: keep it to come back.

    It dreams with the simulator's double, of the weights that the simulator has now, and of that `kind` if told so.
    """

    def __init__(self, simulator: Simulator, kind: torch.dtype | None = None) -> None:
        self._source = simulator.eval()
        self.simulator = faster(simulator, kind)
        self.device = simulator.background.device
        self.actions = simulator.spec.actions
        # On a GPU a double computes in memory of its own: games in several threads take turns.
        self._turn: AbstractContextManager[Any] = Lock() if self.device.type == "cuda" else nullcontext()

    def quickest(self) -> Self:
        """A dreamer of the same simulator, as quick as the machine allows where rounding is of no concern."""
        return type(self)(self._source, quickest(self.device))

    @torch.inference_mode()
    def begin(self, starts: Sequence[Start]) -> State:
        """One dream for each start: s_τ with x_τ, the last real frame."""
        frame_bytes = 4 * int(np.prod(starts[0].frames.shape[:3])) * 3
        at_once = max(1, BYTES_AT_ONCE // frame_bytes)
        with self._turn:
            return joined([self._warm_up(starts[first : first + at_once]) for first in range(0, len(starts), at_once)])

    def _warm_up(self, starts: Sequence[Start]) -> State:
        frames, actions = stacked(starts)
        return self.simulator.warm_up(self.simulator.normalise(torch.from_numpy(frames)), self._numbers(actions))

    @torch.inference_mode()
    def step(self, state: State, actions: ArrayLike) -> State:
        """One action (B,) further, with the predicted frame."""
        with self._turn:
            return self.simulator.step(state, self._numbers(actions))

    @torch.inference_mode()
    def jump(self, state: State, actions: ArrayLike) -> State:
        """Actions (B, T) further. Prediction-independent simulators draw no frame on the way, nor the last one."""
        with self._turn:
            return self.simulator.jump(state, self._numbers(actions))

    @torch.inference_mode()
    def look(self, state: State) -> NDArray[np.uint8]:
        """What is seen in a state: RGB bytes (B, H, W, 3)."""
        seen: NDArray[np.uint8] = self.see(state).cpu().numpy()
        return seen

    @torch.inference_mode()
    def see(self, state: State) -> Tensor:
        """The same bytes, left on the simulator's device."""
        with self._turn:
            return self.simulator.to_bytes(self.simulator.decode(state) if state.frame is None else state.frame)

    @torch.inference_mode()
    def taken_over(self, state: State) -> State:
        """The same dreams for this dreamer, from one of the same simulator on another device or of another kind."""
        own = self.simulator.initial_state(1)
        if state.hidden.shape[1] != own.hidden.shape[1]:
            ours, theirs = own.hidden.shape[1], state.hidden.shape[1]
            raise UserError(f"This state has {theirs} numbers, the simulator's have {ours}: it is another's.")
        frame = None
        if state.frame is not None:
            frame = self.simulator.frames_of(picture_of(state.frame, self.simulator.spec.codec).to(own.hidden))
        return State(state.hidden.to(own.hidden), state.cell.to(own.cell), state.action.to(self.device), frame)

    def _numbers(self, actions: ArrayLike) -> Tensor:
        numbers = np.asarray(actions, np.int64)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < self.actions):
            raise ValueError(f"actions are numbers from 0 to {self.actions - 1}")
        return torch.from_numpy(numbers).to(self.device)


def rows(state: State, which: Sequence[int] | Tensor) -> State:
    """Some of the dreams of a state, in this order, each as often as it is named."""
    index = torch.as_tensor(which, device=state.hidden.device)
    return State(*(None if part is None else part[index] for part in _parts(state)))  # type: ignore[arg-type]


@torch.inference_mode()
def joined(states: Sequence[State]) -> State:
    """All dreams of several states, one after the other; all have frames, or none has."""
    columns = zip(*(_parts(state) for state in states), strict=True)
    return State(*(None if parts[0] is None else torch.cat(parts) for parts in columns))  # type: ignore[arg-type]


@torch.inference_mode()
def with_rows(state: State, which: Sequence[int], others: State) -> State:
    """The state, with these of its dreams replaced by `others`; both have frames, or neither has."""
    index = torch.as_tensor(which, device=state.hidden.device)
    parts = []
    for ours, theirs in zip(_parts(state), _parts(others), strict=True):
        if (ours is None) != (theirs is None):
            raise ValueError("one of the states has frames, the other has none: look at both, or at neither")
        parts.append(None if ours is None or theirs is None else ours.index_copy(0, index, theirs))
    return State(*parts)  # type: ignore[arg-type]


def _parts(state: State) -> list[Tensor | None]:
    return [getattr(state, field.name) for field in fields(State)]
