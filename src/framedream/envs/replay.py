"""An episode shown again: any frame of it, without playing all that comes before."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from framedream.envs.frame_environment import Frame


class Replay(Protocol):
    """One episode, from its seed and its actions. Several threads may use it at once."""

    @property
    def memory(self) -> int:
        """The bytes it holds, for whoever keeps several."""

    def frames(self, start: int, out: Frame) -> None:
        """Fill `out` with frames `start`, `start + 1`, …; frame 0 is that of the reset."""

    def states(self, start: int, out: NDArray[Any]) -> None:
        """Fill `out` with the same rows of `info["state"]`; never called where the environment has none."""
