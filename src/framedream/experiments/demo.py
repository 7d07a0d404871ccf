"""What the demonstration records, trains and measures: enough to show learning on two CPU cores in minutes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Demonstration:
    """The words of the ordinary commands."""

    name: str
    environment: str
    collect: tuple[str, ...]
    train: tuple[str, ...]
    evaluate: tuple[str, ...]


DEMO = Demonstration(
    name="pong",
    environment="atari/pong",
    # The playing field without the score, at a size that two cores can learn in minutes.
    collect=(
        *("--policy", "epsilon:0.2:scripted", "--frames", "40000", "--test-frames", "40000"),
        *("--set", "crop=[34,0,160,160]", "resize=[64,64]"),
    ),
    train=("--preset", "demo"),
    evaluate=("--horizon", "100", "--sequences", "200"),
)
