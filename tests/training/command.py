"""The real program on real folders: `framedream train`, and what becomes of it when it is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def command(data: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "framedream", "train", str(data), "--out", str(out), "--device", "cpu", *options]


def start(data: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    # One thread: sums are then added up in the same order every time, and tests may run side by side.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command(data, out, *options), text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def run(data: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    process = start(data, out, *options)
    output, errors = process.communicate(timeout=100)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
