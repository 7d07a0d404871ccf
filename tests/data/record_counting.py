"""A recorder as a process of its own, to be killed, interrupted or run against another.

    python record_counting.py ENVIRONMENT FOLDER TRAIN_FRAMES TEST_FRAMES WORKERS FRAMES_PER_PART STORE [KILL_AT]

With KILL_AT, the process group is killed just before the recorder's KILL_AT-th change to a name in the data set: a
rename, a removal. Prints the frames played, as the last line.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from framedream.data import plan
from framedream.data.plan import Amount
from framedream.data.recorder import record
from framedream.errors import UserError


def kill_at(change: int) -> None:
    """Have the process group killed before so many changes were made."""
    changes = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal changes
        if event in ("os.rename", "os.remove", "os.rmdir"):
            changes += 1
            if changes == change:
                os.killpg(0, signal.SIGKILL)

    sys.addaudithook(watch)


def main() -> None:
    environment, folder, train, test, workers, frames_per_part, store, *change = sys.argv[1:]
    plan.FRAMES_PER_PART = int(frames_per_part)
    if change:
        kill_at(int(change[0]))
    try:
        recorded = record(
            environment,
            Path(folder),
            Amount(frames=int(train)),
            Amount(frames=int(test)),
            workers=int(workers),
            store=store,  # type: ignore[arg-type]
        )
    except UserError as error:
        sys.exit(f"UserError: {error}")
    print(recorded.progress.new_frames)


if __name__ == "__main__":
    main()
