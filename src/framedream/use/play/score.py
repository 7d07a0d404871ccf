"""The score card of a game: how long the dream was believed, how fast it answered, and where it broke."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST_LATENCIES = 10_000
MOST_FAILURES = 1_000
LONGEST_WORDS = 200


@dataclass
class ScoreCard:
    """Filled in while somebody plays."""

    failures: list[dict[str, Any]] = field(default_factory=list)
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_LATENCIES))
    longest: int = 0
    """The most steps that any dream of this game has lasted without a marked failure."""
    strange: int = 0
    """Steps taken outside of what the training data did."""
    steps: int = 0

    def stepped(self, step: int, broken: bool, strange: bool) -> None:
        """One step, the `step`-th of its dream."""
        self.steps += 1
        self.strange += strange
        if not broken:
            self.longest = max(self.longest, step)

    def mark(self, step: int, words: str) -> None:
        """It broke here."""
        if len(self.failures) < MOST_FAILURES:
            self.failures.append({"step": step, "words": words[:LONGEST_WORDS]})

    def as_json(self) -> dict[str, Any]:
        """For the page, and for a file."""
        median, p95 = np.percentile(self.latencies, [50, 95]) if self.latencies else (None, None)
        return {
            "steps": self.steps,
            "longest_without_failure": self.longest,
            "first_failure": min((failure["step"] for failure in self.failures), default=None),
            "failures": list(self.failures),
            "strange_steps": self.strange,
            "latency_milliseconds": {
                "median": None if median is None else round(float(median), 1),
                "p95": None if p95 is None else round(float(p95), 1),
                "count": len(self.latencies),
            },
        }
