"""What a recorder's worker process does: play episodes into the staging folder and pack parts, as it is told."""

from __future__ import annotations

import os
import resource
import sys
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from framedream.agents import make_policy
from framedream.data.assembly import FinishedPart
from framedream.data.disk import cannot_write, is_disk_full
from framedream.data.play import play_episode
from framedream.data.seeds import episode_seeds
from framedream.data.staging import Staging
from framedream.envs import make_environment
from framedream.errors import UserError

SECONDS_BETWEEN_REPORTS = 0.25


@dataclass(frozen=True)
class Source:
    """What to make the environment and the policy from, in every worker again."""

    environment: str
    policy: str
    options: dict[str, Any] = field(default_factory=dict)

    def failed(self, when: str, error: BaseException) -> UserError:
        """The error for an environment or a policy that raised one of its own."""
        reason = " ".join(f"{type(error).__name__}: {error}".split())  # some are written over several lines
        return UserError(
            f"The environment {self.environment} with policy {self.policy} failed {when} ({reason}); "
            "--debug shows where."
        )


@dataclass(frozen=True)
class Play:
    """The task of playing and staging one episode."""

    split: str
    number: int

    def __str__(self) -> str:
        return f"playing {self.split} episode {self.number}"


@dataclass(frozen=True)
class Pack:
    """The task of packing staged episodes into a part."""

    split: str
    name: str
    numbers: list[int]

    def __str__(self) -> str:
        return f"packing {self.split}/{self.name}"


@dataclass(frozen=True)
class Playing:
    """A report: so many frames of the episode are written."""

    frames: int


@dataclass(frozen=True)
class Staged:
    """A report: the episode is on disk. Seconds are those since the task began; memory is the most ever used."""

    frames: int
    bytes: int
    seconds: float
    peak_memory: int


@dataclass(frozen=True)
class Packed:
    """A report: the part is on disk."""

    part: FinishedPart
    seconds: float


@dataclass(frozen=True)
class Failed:
    """A report: nothing more from this worker, and why."""

    sentence: str
    details: str


def work(connection: Connection, source: Source, staging: Staging) -> None:
    """Do one task after the other, until the recorder hangs up."""
    task: Play | Pack | None = None
    try:
        environment = make_environment(source.environment, **source.options)
        policy = make_policy(source.policy, environment)
        while True:
            task = connection.recv()
            begin = time.perf_counter()
            if isinstance(task, Pack):
                part = staging.pack(task.split, task.name, task.numbers)
                connection.send(Packed(part, time.perf_counter() - begin))
                continue
            seeds = episode_seeds(staging.recording.seed, task.split, task.number)
            with staging.new_episode(task.split, task.number, seeds.environment) as part_writer:
                play_episode(environment, policy, seeds, part_writer, _Reporter(connection))
            connection.send(
                Staged(part_writer.frames, part_writer.stored_bytes, time.perf_counter() - begin, peak_memory())
            )
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The recorder is gone, killed perhaps. Nobody is left to work for, and nothing to say it to.
        return
    except BaseException as error:
        connection.send(Failed(_sentence(error, source, staging, task), traceback.format_exc()))
        # Not the usual way out: HDF5 would try again to write what a full disk refused, and complain to the terminal.
        os._exit(1)


class _Reporter:
    """Says now and then how far an episode is. Also how a worker notices that its recorder died."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last = time.monotonic()

    def __call__(self, frames: int) -> None:
        now = time.monotonic()
        if now - self._last > SECONDS_BETWEEN_REPORTS:
            self._last = now
            self._connection.send(Playing(frames))


def peak_memory() -> int:
    """The most memory this process has had in use, in bytes."""
    # The one number that Linux gives in kilobytes and macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _sentence(error: BaseException, source: Source, staging: Staging, task: Play | Pack | None) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError) and is_disk_full(error):
        return str(cannot_write(staging.folder, error))
    return str(source.failed(f"while {task}" if task else "at its start", error))
