"""A host that is started again when it dies or hangs, without the episode noticing."""

from __future__ import annotations

import sys
from pathlib import Path

from framedream.envs.torcs.configuration import CAMERAS, Scene
from framedream.envs.torcs.installation import Installation, install_line
from framedream.envs.torcs.process import Answer, HostFailure, HostProcess
from framedream.errors import UserError

Steps = list[tuple[float, float, int]]


class LastingHost:
    """Started by the first request.

    Everything is decided by the seed and the steps. So a lost host is replaced by a new one that plays the episode's
    steps so far once more, and stands where the other would have stood.
    """

    def __init__(self, program: Path, installation: Installation, scene: Scene) -> None:
        self._recipe = (program, installation, scene)
        self._pictures = CAMERAS[scene.camera].settling
        self._process: HostProcess | None = None
        self._begin: tuple[int, float] | None = None
        self._steps: Steps = []

    @property
    def process(self) -> HostProcess:
        """The running host."""
        if self._process is None:
            try:
                self._process = HostProcess(*self._recipe)
            except HostFailure as failure:
                raise UserError(f"TORCS did not start: {failure}; is all of it there? {install_line()}") from None
        return self._process

    def reset(self, seed: int, place: float) -> Answer:
        """Begin an episode `place` metres from the start line; any number, it is taken round the lap."""
        self._begin, self._steps = (seed, place), []
        try:
            return self.process.reset(seed, place, self._pictures)
        except HostFailure as failure:
            return self._again(failure)

    def step(self, steer: float, accelerator: float, ticks: int) -> Answer:
        if self._begin is None:
            raise RuntimeError("reset the environment before its first step")
        self._steps.append((steer, accelerator, ticks))
        try:
            return self.process.step(steer, accelerator, ticks)
        except HostFailure as failure:
            return self._again(failure)

    def close(self) -> None:
        self._begin = None
        self._end_process()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def _again(self, failure: HostFailure) -> Answer:
        """The episode so far, on a new host. A second failure is final: it would come again for ever."""
        assert self._begin is not None
        self._end_process()
        print(
            f"framedream: TORCS was started again ({failure}), {len(self._steps)} steps into an episode.",
            file=sys.stderr,
            flush=True,
        )
        try:
            answer = self.process.reset(*self._begin, self._pictures)
            for step in self._steps:
                answer = self.process.step(*step)
        except HostFailure as second:
            self._end_process()
            seed, place = self._begin
            raise UserError(
                f"TORCS failed twice in a row ({second}), {len(self._steps)} steps into the episode that starts with "
                f"{seed} at {place:g} m; run the same command again, and if it fails there again, with another track."
            ) from None
        return answer
