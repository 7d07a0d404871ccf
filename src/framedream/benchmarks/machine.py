"""What a measurement was made on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Any


def describe_machine(packages: tuple[str, ...]) -> dict[str, Any]:
    """Processor, cores, how busy they already are, and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "busy_cores_before": round(os.getloadavg()[0], 2),
        "system": platform.platform(terse=True),
        "versions": {"python": platform.python_version()} | _versions(("framedream", *packages)),
    }


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Of those that are installed."""
    versions = {}
    for package in packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
