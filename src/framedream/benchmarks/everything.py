"""All benchmarks, one after the other, each in a process of its own: what fails or dies takes nothing else with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Say = Callable[[str], None]


def bench_all(benches: Iterable[Sequence[str]], say: Say = lambda text: None) -> dict[str, Any]:
    """What `framedream bench` prints as JSON when told these words, the first of which is a benchmark's name.

    Where one fails, its last line is in its place.
    """
    measured: dict[str, Any] = {}
    for words in benches:
        say(f"bench {' '.join(words)}")
        finished = subprocess.run(_command([*words, "--json"]), capture_output=True, text=True, check=False)
        try:
            measured[words[0]] = json.loads(finished.stdout)
        except json.JSONDecodeError:
            said = finished.stderr.strip().splitlines()
            measured[words[0]] = {"failure": said[-1] if said else f"It ended with {finished.returncode}."}
    return measured


def show_all(benches: Iterable[Sequence[str]]) -> None:
    """Let each print its own tables, or why it has none."""
    for words in benches:
        print(f"bench {words[0]}", flush=True)
        subprocess.run(_command(words), check=False)


def _command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "framedream", "bench", *words]
