"""The recorder's side of its worker processes: starting them, talking to them, noticing when one dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Self

from framedream.data.staging import Staging
from framedream.data.worker import Failed, Pack, Packed, Play, Playing, Source, Staged, work
from framedream.errors import UserError

Report = Playing | Staged | Packed


@dataclass
class Worker:
    """A process and what it is doing."""

    process: BaseProcess
    connection: Connection
    task: Play | Pack | None = None


class Crew:
    """Up to `size` workers, started when there is something for them to do, all gone when the block ends."""

    def __init__(self, size: int, source: Source, staging: Staging) -> None:
        self._size, self._source, self._staging = size, source, staging
        self.workers: list[Worker] = []

    @property
    def has_room(self) -> bool:
        """Whether there is a worker without a task, or one more may be started."""
        return len(self.workers) < self._size or any(worker.task is None for worker in self.workers)

    def give(self, task: Play | Pack) -> None:
        """Hand a task to an idle worker, or to a new one."""
        worker = next((worker for worker in self.workers if worker.task is None), None) or self._start()
        worker.task = task
        # If it died just now, what it said last, or its exit code, is read with the next reports.
        with suppress(BrokenPipeError):
            worker.connection.send(task)

    def reports(self, seconds: float) -> Iterator[tuple[Play | Pack, Report]]:
        """What workers say about their tasks, waiting so long for the first; an error if one failed or died."""
        by_connection = {worker.connection: worker for worker in self.workers}
        for connection in wait(list(by_connection), seconds):
            worker = by_connection[connection]  # type: ignore[index]
            try:
                report = worker.connection.recv()
            except (EOFError, ConnectionResetError):
                raise self._died(worker) from None
            if isinstance(report, Failed):
                error = UserError(report.sentence)
                error.add_note(report.details)
                raise error
            assert worker.task is not None
            task = worker.task
            if not isinstance(report, Playing):
                worker.task = None
            yield task, report

    def _start(self) -> Worker:
        # Each worker is a fresh interpreter (spawned): emulators and threads do not survive a fork.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self._source, self._staging))
        # Ctrl-C reaches the whole process group; the workers inherit this mask, so that the recorder alone decides.
        # Starting multiprocessing's own helper would undo the mask: so that comes before.
        resource_tracker.ensure_running()
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with _one_thread_each():
                process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        # With our copy closed, the pipe ends when the worker does.
        theirs.close()
        worker = Worker(process, ours)
        self.workers.append(worker)
        return worker

    def _died(self, worker: Worker) -> UserError:
        worker.process.join()
        code = worker.process.exitcode or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        doing = f" while {worker.task}" if worker.task else ""
        return UserError(
            f"A worker {how}{doing}; finished episodes are kept, run the same command again to go on "
            f"(with fewer --workers if memory ran out)."
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started here calculate with one thread, unless the user has said otherwise."""
    # The workers already share the cores. numpy's matrix library would start as many threads as there are cores in
    # each of them; they wait for one another and cost a hundred times what they earn.
    unset = [name for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]
