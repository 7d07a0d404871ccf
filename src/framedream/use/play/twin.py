"""The real environment beside a dream: brought to the same place, and given the same actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from framedream.checkpoint.configuration import Configuration
from framedream.envs import make_environment
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.errors import UserError
from framedream.use.starts import Start


class Twin:
    """One real environment. It stands still once its episode is over; the dream may go on."""

    def __init__(self, environment: FrameEnvironment) -> None:
        self.environment = environment
        self.over = False
        self.frame: Frame
        self.info: dict[str, Any] = {}

    def enter(self, start: Start, actions: Sequence[int] = ()) -> Frame:
        """To the last frame of a start, and the given actions further."""
        frame, self.info = self.environment.reset(seed=start.seed)
        self.frame, self.over = self.environment.rgb(frame), False
        for action in (*start.way.tolist(), *actions):
            self.step(action)
        return self.frame

    def step(self, action: int) -> Frame:
        """The real frame after the action; the last one again where the episode is over."""
        if not self.over:
            frame, _, terminated, truncated, self.info = self.environment.step(action)
            self.frame, self.over = self.environment.rgb(frame), terminated or truncated
        return self.frame

    def close(self) -> None:
        self.environment.close()


def real_environment(configuration: Configuration) -> Callable[[], FrameEnvironment] | str:
    """What makes the environment that a simulator was trained on, or the reason why it cannot be had here."""
    environment = configuration.environment

    def make() -> FrameEnvironment:
        return make_environment(environment["name"], **environment["arguments"])

    try:
        make().close()
    except UserError as error:
        return str(error)
    return make
