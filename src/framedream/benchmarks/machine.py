"""What a measurement was made on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


def describe_machine(packages: tuple[str, ...]) -> dict[str, Any]:
    """Processor, cores and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": platform.platform(terse=True),
        "versions": {"python": platform.python_version()} | _versions(("framedream", *packages)),
    }


def machine_in_words(machine: dict[str, Any]) -> str:
    """What `describe_machine` found, in two lines."""
    versions = ", ".join(f"{package} {version}" for package, version in machine["versions"].items())
    return f"{machine['processor']}, {machine['cores']} cores, {machine['system']}\n{versions}"


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Of those that are installed."""
    versions = {}
    for package in packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


class OtherPrograms:
    """How many cores other programs keep busy while something is measured; a comparison of threads needs them free."""

    def __init__(self) -> None:
        self._began, self._others = time.monotonic(), _processor_seconds_of_others()

    def busy_cores(self) -> float | None:
        """On average since the beginning; None where the system does not tell."""
        if self._others is None or (others := _processor_seconds_of_others()) is None:
            return None
        return max(0.0, (others - self._others) / (time.monotonic() - self._began))


def _processor_seconds_of_others() -> float | None:
    try:
        numbers = [int(number) for number in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return None
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = numbers
    everyone = (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")
    return everyone - sum(os.times()[:4])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
