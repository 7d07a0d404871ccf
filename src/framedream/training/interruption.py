"""Ctrl-C and polite termination: finish the update, then stop with a checkpoint."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Self


class Stop:
    """Notices SIGINT and SIGTERM, and the end of a time budget, while its block runs. A second signal stops at once."""

    def __init__(self, minutes: float | None = None) -> None:
        self.signalled = False
        self._deadline = None if minutes is None else time.monotonic() + 60 * minutes
        self._before: dict[signal.Signals, object] = {}

    @property
    def requested(self) -> bool:
        """Whether training is to stop after the present update."""
        return self.signalled or (self._deadline is not None and time.monotonic() >= self._deadline)

    def raise_if_signalled(self) -> None:
        """For long work that may be thrown away, such as a measurement."""
        if self.signalled:
            raise KeyboardInterrupt

    def _notice(self, number: int, frame: FrameType | None) -> None:
        if self.signalled:
            raise KeyboardInterrupt
        self.signalled = True

    def __enter__(self) -> Self:
        # Python delivers signals to the main thread only, and only there may handlers be set.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._notice)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
