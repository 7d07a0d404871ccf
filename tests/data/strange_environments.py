"""Environments and policies with something wrong with them, for recorders to meet as `strange_environments:name`."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from framedream.envs.counting import CountingEnvironment, CountingReplay
from framedream.envs.frame_environment import Frame, FrameEnvironment


class Growing(CountingEnvironment):
    """Its frames become higher at step 18, inside the second chunk."""

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        frame, *rest = super().step(action)
        return (np.vstack([frame, frame[:1]]) if self._count.step == 18 else frame, *rest)


class Threads(CountingEnvironment):
    """Its states are how many threads its process was told to calculate with."""

    def _info(self) -> dict[str, Any]:
        told = [int(os.environ.get(name, 0)) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")]
        return {"state": np.array(told, np.int32)}


class FloatFrames(CountingEnvironment):
    def _frame(self) -> Frame:
        return super()._frame() / np.float32(255)


class FloatFramesLater(CountingEnvironment):
    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        frame, *rest = super().step(action)
        return (frame.astype(np.float32), *rest)


class Raising(CountingEnvironment):
    """Its third episode fails."""

    episodes = 0

    def reset(self, **arguments: Any) -> tuple[Frame, dict[str, Any]]:
        self.episodes += 1
        return super().reset(**arguments)

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        if self.episodes == 3:
            raise ZeroDivisionError("a bug of the environment")
        return super().step(action)


class Priceless(CountingEnvironment):
    """Rewards that are no numbers."""

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        frame, _, *rest = super().step(action)
        return (frame, float("nan"), *rest)


class Dying(Raising):
    """Its third episode kills the process, as the system does when memory runs out."""

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        if self.episodes == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class Slow(CountingEnvironment):
    """Takes a hundredth of a second per step, and says so to nobody."""

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        time.sleep(0.01)
        return super().step(action)


class Long(Slow):
    """Episodes of a hundred seconds."""

    def __init__(self) -> None:
        super().__init__(shortest=10_000, longest=10_000)


class Unequal(CountingEnvironment):
    """Even episodes take ten times as long to play as odd ones, so that they finish out of order."""

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        time.sleep(0.002 if self._count.seed // 2 % 2 == 0 else 0.0002)
        return super().step(action)


class NotReplayable(CountingEnvironment):
    """Shows a moment only by playing what comes before it."""

    replay = FrameEnvironment.replay


class ReplaysOtherwise(CountingEnvironment):
    """Its replays say another action than the one that was taken."""

    def replay(self, seed: int, actions: NDArray[np.integer[Any]]) -> CountingReplay:
        return super().replay(seed, (actions + 1) % 3)


class NoActions(FrameEnvironment):
    def __init__(self) -> None:
        self.name, self.arguments, self.action_meanings = "none", {}, ()
        self.action_space = spaces.Discrete(1)
        self.observation_space = spaces.Box(0, 255, (4, 4, 3), np.uint8)

    def reset(self, **_: Any) -> tuple[Frame, dict[str, Any]]:
        return np.zeros((4, 4, 3), np.uint8), {}


class TooHigh:
    """A policy that chooses an action too many in its 10th step."""

    def begin(self, seed: int, actions: int) -> None:
        self._steps, self._actions = 0, actions

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        self._steps += 1
        return self._actions if self._steps == 10 else 0

    def describe(self) -> dict[str, Any]:
        return {"name": "too high"}


def too_high(environment: FrameEnvironment) -> TooHigh:
    return TooHigh()
