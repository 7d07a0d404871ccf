"""Recording: many workers, one data set, the same for any number of them and however often it is interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from framedream.agents import make_policy
from framedream.data.assembly import Assembly, FinishedPart, part_name
from framedream.data.continuation import complete_manifest, has_reached, open_assembly
from framedream.data.crew import Crew, Report
from framedream.data.disk import cannot_write
from framedream.data.episode import Frames
from framedream.data.lock import only_writer
from framedream.data.manifest import SPLITS, Manifest
from framedream.data.plan import Amount, SplitPlan
from framedream.data.play import describe_recording
from framedream.data.recording import Recording, Store
from framedream.data.staging import Staging
from framedream.data.worker import Pack, Packed, Play, Playing, Source
from framedream.envs import make_environment
from framedream.errors import UserError

SECONDS_BETWEEN_LOOKS = 0.1
MOST_WORKERS_PER_CORE = 16
NOTHING = Amount(episodes=0)


@dataclass
class Progress:
    """How far a recording is. One object, updated in place and shown to `on_progress` ten times a second."""

    asked: dict[str, Amount]
    frames: dict[str, int]
    """Per split, with those of the episodes being played."""
    episodes: dict[str, int]
    """Per split, finished ones."""
    new_frames: int = 0
    """Of the episodes finished in this run; likewise in what follows."""
    new_bytes: int = 0
    worker_seconds: float = 0.0
    """What the workers spent playing, writing and packing, added up."""
    peak_memory: int = 0
    """The most memory that any worker has used, in bytes."""
    started: float = 0.0


@dataclass(frozen=True)
class Recorded:
    """What `record` gives back."""

    manifest: Manifest
    progress: Progress
    seconds: float


def record(
    environment: str,
    folder: Path | str,
    train: Amount,
    test: Amount = NOTHING,
    policy: str = "random",
    options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    seed: int = 0,
    store: Store = "frames",
    on_progress: Callable[[Progress], None] | None = None,
) -> Recorded:
    """Record until the data set in `folder` has what is asked for, continuing what is there.

    With `store="actions"` frames and states are not kept, but shown again by the environment whenever they are read.

    Ctrl-C raises KeyboardInterrupt after the finished episodes are saved; so does every error leave a valid data set.
    """
    folder = Path(folder)
    source = Source(environment, policy, dict(options or {}))
    cores = os.cpu_count() or 1
    workers = cores if workers is None else workers
    if not 1 <= workers <= MOST_WORKERS_PER_CORE * cores:
        raise UserError(
            f"Recording needs 1 worker or more, and on {cores} cores at most {MOST_WORKERS_PER_CORE * cores}, "
            f"not {workers}."
        )
    asked = {"train": train, "test": test}
    recording, palette = _look_at(source, seed, store)
    try:
        if (complete := complete_manifest(folder, recording, asked)) is not None:
            return Recorded(complete, Progress(asked, {}, {}), 0.0)
        folder.mkdir(parents=True, exist_ok=True)
        with only_writer(folder):
            assembly = open_assembly(folder, recording)
            staging = Staging(folder, assembly.manifest.recording, palette)
            return _Recorder(assembly, staging, source, asked, on_progress).run(workers)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _look_at(source: Source, seed: int, store: Store) -> tuple[Recording, Frames | None]:
    try:
        environment = make_environment(source.environment, **source.options)
        try:
            policy = make_policy(source.policy, environment)
            return describe_recording(environment, policy, seed, store), environment.palette
        finally:
            environment.close()
    except UserError:
        raise
    except Exception as error:
        raise source.failed("at its start", error) from error


class _Recorder:
    """Hands out tasks, takes in reports, and is the only one that changes the manifest."""

    def __init__(
        self,
        assembly: Assembly,
        staging: Staging,
        source: Source,
        asked: dict[str, Amount],
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._assembly, self._staging, self._source = assembly, staging, source
        self._asked, self._on_progress = asked, on_progress
        staging.prepare()
        self._plans = {split: self._plan(split) for split in SPLITS}
        # Parts are named when they are begun, and may be finished in another order than that of their episodes.
        self._parts_begun = {split: len(assembly.manifest.parts_of(split)) for split in SPLITS}
        self._finished: dict[tuple[str, int], FinishedPart] = {}
        self._progress = Progress(asked, {}, {}, started=time.monotonic())

    def run(self, workers: int) -> Recorded:
        if not self._complete():
            self._assembly.ask({split: amount.as_json() for split, amount in self._asked.items()})
            try:
                with _noticing_interruption() as interrupted, Crew(workers, self._source, self._staging) as crew:
                    while not self._complete():
                        if interrupted.is_set():
                            raise KeyboardInterrupt
                        self._hand_out(crew)
                        for task, report in crew.reports(SECONDS_BETWEEN_LOOKS):
                            self._take(task, report)
                        self._show()
            except BaseException:
                self._save_finished_episodes()
                raise
        self._staging.remove()
        return Recorded(self._assembly.manifest, self._progress, time.monotonic() - self._progress.started)

    def _complete(self) -> bool:
        return has_reached(self._assembly.manifest, self._asked)

    def _hand_out(self, crew: Crew) -> None:
        while crew.has_room and (task := self._next_task()) is not None:
            crew.give(task)

    def _next_task(self) -> Play | Pack | None:
        for split, plan in self._plans.items():
            if numbers := plan.next_to_pack():
                self._parts_begun[split] += 1
                return Pack(split, part_name(self._parts_begun[split] - 1), numbers)
        for split, plan in self._plans.items():
            if (number := plan.next_to_play()) is not None:
                return Play(split, number)
        return None

    def _take(self, task: Play | Pack, report: Report) -> None:
        progress, plan = self._progress, self._plans[task.split]
        if isinstance(report, Packed):
            progress.worker_seconds += report.seconds
            self._finished[task.split, report.part.entry.first_episode] = report.part
            while part := self._finished.pop((task.split, len(self._assembly.episodes[task.split])), None):
                self._add(part)
            return
        assert isinstance(task, Play)
        if isinstance(report, Playing):
            plan.progress(task.number, report.frames)
            return
        plan.finish(task.number, report.frames)
        progress.new_frames += report.frames
        progress.new_bytes += report.bytes
        progress.worker_seconds += report.seconds
        progress.peak_memory = max(progress.peak_memory, report.peak_memory)

    def _add(self, part: FinishedPart) -> None:
        self._assembly.add(part)
        self._staging.drop(part.entry.split, [episode.number for episode in part.episodes])

    def _show(self) -> None:
        if self._on_progress is not None:
            for split, plan in self._plans.items():
                self._progress.frames[split], self._progress.episodes[split] = plan.frames, plan.episodes
            self._on_progress(self._progress)

    def _save_finished_episodes(self) -> None:
        """Pack what is staged, up to the first gap. The workers are gone, and with them what they were packing."""
        self._staging.prepare()
        if not self._staging.room_to_pack():
            return
        for split in SPLITS:
            plan = self._plan(split)
            while numbers := plan.next_to_pack(everything=True):
                self._add(self._staging.pack(split, part_name(len(self._assembly.manifest.parts_of(split))), numbers))

    def _plan(self, split: str) -> SplitPlan:
        packed = [episode.length for episode in self._assembly.episodes[split]]
        return SplitPlan(self._asked[split], packed, self._staging.lengths(split, len(packed)))


@contextmanager
def _noticing_interruption() -> Iterator[threading.Event]:
    """Ctrl-C sets a flag, so that it never tears a step apart; a second one interrupts as always."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def notice(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, notice)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)
