"""What the project asks of itself of the figures in a row, by their names: on one NVIDIA H200, and on any CPU."""

from __future__ import annotations

from framedream.benchmarks.timing import Row
from framedream.benchmarks.updates import RESIDENT, SYNTHETIC

UPDATES_ON_H200 = {16: 30_000, 64: 50_000, 256: 80_000}
"""Frames per second by batch: the paper's optimiser and slopes, synthetic data."""
MODERN_UPDATES_ON_H200 = 45_000
"""With AdamW, on real data."""
OF_SYNTHETIC_ON_H200 = 0.97
ROLLOUTS_ON_H200 = {("base", 1): 10_000, ("base", 1024): 200_000, ("pi-h", 4096): 20e6, ("pi-zero", 4096): 20e6}
"""Steps per second by variant and batch."""
TIMES_ON_CPU = {"float32": 1.3, "bfloat16": 2.0}
"""Against the straightforward version, by what the fast path computes with."""


def wanted_of_updates(row: Row, device: str) -> dict[str, float]:
    """`device` is its name in words, as in `describe_device`."""
    if row.get("way") != "fast" or row["variant"] != "base":
        return {}
    synthetic, resident = row["data"] == SYNTHETIC, row["data"] == RESIDENT
    if device == "CPU":
        return {"faster": TIMES_ON_CPU[row["precision"]]} if synthetic else {}
    if "H200" not in device:
        return {}
    if row["optimiser"] == "adamw":
        return {"frames_per_second": MODERN_UPDATES_ON_H200} if resident else {}
    if synthetic and row["batch"] in UPDATES_ON_H200:
        return {"frames_per_second": UPDATES_ON_H200[row["batch"]]}
    return {"of_synthetic": OF_SYNTHETIC_ON_H200} if resident else {}


def wanted_of_rollouts(row: Row, device: str) -> dict[str, float]:
    """The same of a rollout."""
    if row.get("way") != "fast":
        return {}
    if device == "CPU":
        return {"faster": TIMES_ON_CPU[row["precision"]]} if row["variant"] == "base" else {}
    speed = ROLLOUTS_ON_H200.get((row["variant"], row["batch"]))
    return {"steps_per_second": speed} if speed is not None and "H200" in device else {}
