"""What every environment here is: a gymnasium.Env with discrete actions whose observations are frames of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from framedream.errors import UserError

if TYPE_CHECKING:
    from framedream.envs.replay import Replay

Frame = NDArray[np.uint8]


class FrameEnvironment(gymnasium.Env[Frame, Any]):
    """A pixel environment.

    Observations are uint8: either H×W×3 RGB, or H×W palette indices when `palette` is set. `reset(seed=s)` makes
    everything that follows a function of `s` and the actions. `info["state"]`, where there is one, is a flat numpy
    array of one dtype and length: the ground truth behind the frame (RAM, pose, car state).
    """

    name: str
    """The name `make_environment` rebuilds it by, for example `atari/pong`."""
    arguments: dict[str, Any]
    """The options it was made with; JSON values only, so that a data set can record them."""
    action_space: spaces.Discrete
    action_meanings: tuple[str, ...]
    """One word or two per action, for people."""
    palette: Frame | None = None
    """(256, 3) colours when frames are indices."""
    action_repeat: int = 1
    """Emulator or physics steps per action."""

    def check_action(self, action: int) -> None:
        """Refuse what is not an action, such as the -1 that stands behind a recorded episode's last frame."""
        if not 0 <= action < self.action_space.n:
            raise ValueError(f"{self.name} has actions 0 to {self.action_space.n - 1}, not {action}")

    def provenance(self) -> dict[str, Any]:
        """What else decides the frames: versions, ROM hash. JSON values only.

        Names that end in `sha256` are proofs: while they stay the same, frames do, whatever the versions are.
        """
        return {}

    def replay(self, seed: int, actions: NDArray[np.integer[Any]]) -> Replay:
        """The episode of `reset(seed=seed)` and these actions, to look at any frame of it.

        For environments that can show a moment without the frames before it: their data sets need not store frames.
        Several threads may call this at once, whatever else the environment is doing.
        """
        raise UserError(
            f"{self.name} can show a moment of an episode only by playing all that comes before it, so its data sets "
            "store frames: leave out --store actions."
        )

    def rgb(self, frame: Frame) -> Frame:
        """The frame as H×W×3 colours."""
        return frame if self.palette is None else self.palette[frame]

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers and tests pickle the recipe, never the emulator behind it.
        from framedream.envs import make_environment

        return _remake, (make_environment, self.name, self.arguments)


def _remake(make: Any, name: str, arguments: dict[str, Any]) -> FrameEnvironment:
    environment: FrameEnvironment = make(name, **arguments)
    return environment
