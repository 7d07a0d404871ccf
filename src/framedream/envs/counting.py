"""A fake environment whose frames spell out where they come from, so that any off-by-one anywhere is caught.

Row 0 of a frame holds, as bytes: the seed's low 16 bits, the step within the episode (16 bits), the action that led
here (255 after a reset), and a checksum. The rows below repeat the step's bits as black or white bars, so that a
frame is also something to look at and to learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.errors import UserError

NO_ACTION = 255
WHITE = 255
CODE_WIDTH = 6


@dataclass(frozen=True)
class Count:
    """What one frame of the counting environment says about itself."""

    seed: int
    step: int
    action: int


def write_count(count: Count, height: int, width: int) -> Frame:
    """The frame of indices that says `count`."""
    frame = np.zeros((height, width), np.uint8)
    for bit in range(width):
        if count.step >> (bit % 16) & 1:
            frame[1:, bit] = WHITE
    code = [count.seed & 255, count.seed >> 8 & 255, count.step & 255, count.step >> 8 & 255, count.action]
    frame[0, :5] = code
    frame[0, 5] = sum(code) % 251
    return frame


def read_count(frame: Frame) -> Count:
    """What a frame (indices, or RGB of the same grey values) says; raises ValueError on a frame that was damaged."""
    grey = frame if frame.ndim == 2 else frame[..., 0]
    code = [int(value) for value in grey[0, :5]]
    if int(grey[0, 5]) != sum(code) % 251:
        raise ValueError(f"not a frame of the counting environment, or a damaged one: {grey[0, :6].tolist()}")
    return Count(seed=code[0] + 256 * code[1], step=code[2] + 256 * code[3], action=code[4])


class CountingEnvironment(FrameEnvironment):
    """Episodes of a length drawn from the seed; frames that encode (seed, step, action)."""

    def __init__(
        self,
        *,
        height: int = 12,
        width: int = 16,
        actions: int = 3,
        shortest: int = 20,
        longest: int = 40,
        rgb: bool = False,
    ) -> None:
        if height < 1 or width < CODE_WIDTH or not 1 <= actions <= NO_ACTION or not 2 <= shortest <= longest:
            raise UserError(
                f"counting needs a height of 1 or more, a width of {CODE_WIDTH} or more, 1 to {NO_ACTION} actions, "
                "and 2 ≤ shortest ≤ longest."
            )
        self.name = "counting"
        self.arguments = dict(height=height, width=width, actions=actions, shortest=shortest, longest=longest, rgb=rgb)
        self.action_meanings = tuple(f"action {number}" for number in range(actions))
        self.action_space = spaces.Discrete(actions)
        self._height, self._width, self._as_rgb = height, width, rgb
        self._shortest, self._longest = shortest, longest
        shape = (height, width, 3) if rgb else (height, width)
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)
        self.palette = None if rgb else np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        super().reset(seed=seed)
        self._count = Count(seed=int(self.np_random_seed) & 0xFFFF, step=0, action=NO_ACTION)
        # `frames` counts frames: the reset frame is one of them.
        self._frames = int(self.np_random.integers(self._shortest, self._longest + 1))
        self._truncates = bool(self.np_random.integers(2))
        return self._frame(), self._info()

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        self.check_action(action)
        self._count = Count(seed=self._count.seed, step=self._count.step + 1, action=int(action))
        last = self._count.step == self._frames - 1
        terminated, truncated = last and not self._truncates, last and self._truncates
        return self._frame(), float(self._count.step), terminated, truncated, self._info()

    def replay(self, seed: int, actions: NDArray[np.integer[Any]]) -> CountingReplay:
        return CountingReplay(self, seed & 0xFFFF, [NO_ACTION, *actions.tolist()])

    def draw(self, count: Count) -> Frame:
        """The frame that says `count`, as this environment shows it."""
        frame = write_count(count, self._height, self._width)
        return np.repeat(frame[..., None], 3, axis=2) if self._as_rgb else frame

    def _frame(self) -> Frame:
        return self.draw(self._count)

    def _info(self) -> dict[str, Any]:
        return {"state": state_of(self._count)}


@dataclass(frozen=True)
class CountingReplay:
    """An episode again: nothing has to be played, because a frame says only what is known."""

    environment: CountingEnvironment
    seed: int
    led_here: list[int]
    """The action that led to each frame."""

    @property
    def memory(self) -> int:
        return 8 * len(self.led_here)

    def frames(self, start: int, out: Frame) -> None:
        for step, frame in enumerate(out, start):
            frame[:] = self.environment.draw(Count(self.seed, step, self.led_here[step]))

    def states(self, start: int, out: NDArray[Any]) -> None:
        for step, state in enumerate(out, start):
            state[:] = state_of(Count(self.seed, step, self.led_here[step]))


def state_of(count: Count) -> NDArray[np.int32]:
    """The ground truth behind a frame: what it says, as numbers."""
    return np.array([count.seed, count.step, count.action], np.int32)
