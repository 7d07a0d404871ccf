"""The contract of environments, kept by TORCS."""

from __future__ import annotations

from typing import Any, ClassVar

from contract import EnvironmentContract


class TestTorcs(EnvironmentContract):
    """The start is drawn from the seed, and with it the sky and the road that are seen."""

    name = "torcs"
    options: ClassVar[dict[str, Any]] = dict(height=48, width=64, time_limit=6.0)
    longest = 60
