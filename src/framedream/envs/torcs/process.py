"""A running host: started, asked and answered over pipes, and ended whatever happens."""

from __future__ import annotations

import math
import os
import select
import struct
import subprocess
import time
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np

from framedream.envs.frame_environment import Frame
from framedream.envs.torcs.configuration import Scene, configuration_files
from framedream.envs.torcs.installation import Installation
from framedream.envs.torcs.scratch import ScratchFolder
from framedream.envs.torcs.state import Column, State

PROTOCOL = 0x31544446
GREETING = struct.Struct("<If200s")
RESET = struct.Struct("<cIfI")
STEP = struct.Struct("<cffI")
ANSWER_HEAD = 4

SECONDS_TO_START = 120.0
SECONDS_TO_ANSWER = 30.0
"""Of silence, after which a host is taken for hung: a step takes a hundredth of a second, a reset a few tenths."""

SURROUNDINGS = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "GALLIUM_DRIVER": "llvmpipe",
    "LP_NUM_THREADS": "0",  # draws in the host's own thread: other cores belong to other environments
}
"""The host's whole environment, so that nobody's settings change a picture."""


class HostFailure(Exception):
    """The host is gone, or might as well be; the text says how."""


class Answer(NamedTuple):
    """What the host says after a reset or a step."""

    frame: Frame
    state: State


class HostProcess:
    """One host with its scratch folder. After a HostFailure it is closed, and another one has to be started."""

    def __init__(self, program: Path, installation: Installation, scene: Scene) -> None:
        self._shape = (scene.height, scene.width, 3)
        scratch = ScratchFolder()
        # The folder goes with the object, even when the constructor fails.
        self._end = weakref.finalize(self, _end, os.getpid(), scratch, None)
        scratch.write(configuration_files(scene))
        self._errors = scratch.path / "errors.txt"
        folders = (installation.libraries, installation.data, scratch.path)
        size = (scene.height, scene.width, scene.samples)
        try:
            with self._errors.open("wb") as errors:
                process = subprocess.Popen(
                    [program, *(f"{folder}/" for folder in folders), scene.car, *map(str, size)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=SURROUNDINGS | {"HOME": str(scratch.path)},
                    bufsize=0,
                    start_new_session=True,  # Ctrl-C is meant for us, who end the host in our own time
                )
        except OSError as error:
            raise HostFailure(f"{error.strerror}: {error.filename or program}") from None
        self._end.detach()
        self._end = weakref.finalize(self, _end, os.getpid(), scratch, process)
        self.pid = process.pid
        assert process.stdin is not None and process.stdout is not None
        self._requests, self._answers = process.stdin.fileno(), process.stdout.fileno()
        self._process = process
        self._poll = select.poll()
        self._poll.register(self._answers, select.POLLIN)
        protocol, self.track_length, renderer = GREETING.unpack(self._read(GREETING.size, SECONDS_TO_START))
        if protocol != PROTOCOL:
            raise HostFailure("it does not speak as it should")
        self.renderer: str = renderer.rstrip(b"\0").decode()

    def reset(self, seed: int, place: float, pictures: int) -> Answer:
        return self._ask(RESET.pack(b"R", seed, place, pictures))

    def step(self, steer: float, accelerator: float, ticks: int) -> Answer:
        return self._ask(STEP.pack(b"S", steer, accelerator, ticks))

    def close(self) -> None:
        self._end()

    def _ask(self, request: bytes) -> Answer:
        try:
            os.write(self._requests, request)
        except OSError:
            raise self._died() from None
        head = self._read(ANSWER_HEAD + 4 * len(Column), SECONDS_TO_ANSWER)
        if int.from_bytes(head[:ANSWER_HEAD], "little") != PROTOCOL:
            raise HostFailure("it does not speak as it should")
        frame = np.frombuffer(self._read(math.prod(self._shape), SECONDS_TO_ANSWER), np.uint8).reshape(self._shape)
        return Answer(frame, np.frombuffer(head, np.float32, offset=ANSWER_HEAD))

    def _read(self, size: int, seconds: float) -> bytearray:
        content, got = bytearray(size), 0
        deadline = time.monotonic() + seconds
        while got < size:
            if not self._poll.poll(max(0.0, 1000 * (deadline - time.monotonic()))):
                self.close()
                raise HostFailure(f"it did not answer for {seconds:g} seconds")
            count = os.readv(self._answers, [memoryview(content)[got:]])
            if count == 0:
                raise self._died()
            got += count
        return content

    def _died(self) -> HostFailure:
        """How it ended: in its own words, or by which signal."""
        status = self._process.wait()
        words = self._errors.read_text(errors="replace").strip().splitlines() if self._errors.exists() else []
        self.close()
        if status == 3 and words:
            return HostFailure(words[-1].removeprefix("torcs_host: "))
        return HostFailure(f"it ended with signal {-status}" if status < 0 else f"it ended with code {status}")


def _end(owner: int, scratch: ScratchFolder, process: subprocess.Popen[bytes] | None) -> None:
    # A forked child has a copy of this object, but neither the host nor the folder is the child's.
    if os.getpid() != owner:
        return
    if process is not None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    scratch.remove()
