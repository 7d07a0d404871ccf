"""How long a new process takes to its first captured update: with nothing compiled, and again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

import torch

from framedream.benchmarks.device import wait_for
from framedream.benchmarks.updates import ACTIONS, HEIGHT, UPDATES_TO_START, WIDTH, Kind, fast_learner
from framedream.errors import UserError
from framedream.training.specification import RunSpec


def measure_start(run: RunSpec, device: torch.device) -> dict[str, float]:
    """Seconds from the imports being done to the end of the first updates, of two processes that share a cache."""
    words = [sys.executable, "-m", "framedream.benchmarks.start", device.type, json.dumps(run.to_json())]
    with tempfile.TemporaryDirectory(prefix="framedream-bench-") as cache:
        environment = os.environ | {"TRITON_CACHE_DIR": cache}
        first, later = (_seconds(words, environment) for _ in range(2))
    return {"first_start_seconds": first, "later_start_seconds": later}


def _seconds(words: list[str], environment: dict[str, str]) -> float:
    finished = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        said = finished.stderr.strip().splitlines()
        raise UserError(f"A process that starts to train ended with {said[-1] if said else finished.returncode!r}.")
    return float(finished.stdout)


def main(device_name: str, run: str) -> None:
    """Start to train, and print how long it took."""
    began = time.perf_counter()
    device = torch.device(device_name)
    kind = Kind.for_any_frames(RunSpec.from_json(json.loads(run)), HEIGHT, WIDTH, ACTIONS)
    supply = kind.noise(device)
    learn = fast_learner(kind, kind.run.precision, device)
    for _ in range(UPDATES_TO_START):
        learn(*supply())
    wait_for(device)
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main(*sys.argv[1:])
