"""Ready-made training runs: the paper's three, the modern recipe, small ones for laptops and tests. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from framedream.errors import UserError, unknown_name
from framedream.training.specification import RunSpec


@dataclass(frozen=True)
class Preset:
    """A run specification, and the data it is meant for."""

    summary: str
    run: RunSpec
    frame_size: tuple[int, int] | None = None
    """Height and width; None: any."""
    actions: tuple[int, int] | None = None
    """The fewest and the most actions; None: any number."""

    def to_json(self, name: str) -> dict[str, Any]:
        size, actions = self.frame_size, self.actions
        return {
            "name": name,
            "summary": self.summary,
            "frame_size": None if size is None else list(size),
            "actions": None if actions is None else list(actions),
            "run": self.run.to_json(),
        }


# Appendix A, at the size of the paper's Atari figures: half a million updates of 16 sequences of 25 frames are the
# 200 million frames of its section 3.1. The paper does not name the scheme of its 3D environments; this is the one
# of its comparisons of structures (appendix B.1.2).
PAPER = RunSpec()
# The recipe of docs/training.md: measured to learn Pong's paddles and ball within two minutes of one GPU.
MODERN = RunSpec(
    variant="h-iz2816-2conv-a",
    initialisation="signal-preserving",
    rrelu="fixed",
    background="median-image",
    scheme="modern",
    updates=12_000,
    batch_size=32,
    optimiser="adamw",
    learning_rate=7e-4,
    early_learning_rate=1e-3,
    final_learning_rate=2e-5,
    learning_rate_warm_up=200,
    clip=True,
    precision="bfloat16",
    evaluate_every=1_000,
    checkpoint_every=1_000,
)

SMALL = replace(
    MODERN,
    filters=0.5,
    warm_up=6,
    prediction_length=10,
    phase_scale=0.12,
    updates=800,
    batch_size=16,
    learning_rate_warm_up=40,
    evaluate_every=100,
    evaluation_sequences=32,
    evaluation_horizon=30,
    checkpoint_every=100,
)
# Pong at 64x64 on two CPU cores: 1,000 updates of observed frames, then the rest on its own predictions.
DEMO = replace(SMALL, filters=0.25, phase_scale=0.4, updates=2_600, evaluate_every=400, checkpoint_every=400)
TINY = replace(
    MODERN,
    variant="base",
    hidden=32,
    fused=48,
    filters=0.125,
    scheme="pdt-0-100",
    warm_up=4,
    prediction_length=5,
    phase_scale=0.01,
    updates=40,
    batch_size=4,
    learning_rate_warm_up=5,
    final_learning_rate=None,
    log_every=5,
    evaluate_every=20,
    evaluation_sequences=4,
    evaluation_horizon=8,
    checkpoint_every=10,
)

PRESETS: dict[str, Preset] = {
    "paper-atari": Preset("the paper's Atari games: 210x160 frames, 200 million of them", PAPER, (210, 160), (2, 18)),
    "paper-torcs": Preset("the paper's 3D car racing: 180x180 frames", PAPER, (180, 180), (3, 4)),
    "paper-maze": Preset("the paper's 3D mazes: 48x48 frames, five actions", PAPER, (48, 48), (5, 5)),
    "modern": Preset("learns in minutes of one GPU what the paper's recipe learns in days", MODERN),
    "small": Preset("learns small frames in minutes of a CPU", SMALL),
    "demo": Preset("learns Pong at 64x64 in the minutes of `framedream demo`", DEMO),
    "tiny": Preset("seconds of a CPU, to try out the program; learns next to nothing", TINY),
}


def preset(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS, "framedream presets")
    return PRESETS[name]


def refuse_misfit(name: str, data: Path, frame_size: tuple[int, int], action_meanings: Sequence[str]) -> None:
    """Refuse a data set that the preset is not meant for, naming both."""
    chosen = preset(name)
    if chosen.frame_size not in (None, frame_size):
        ours, theirs = ("x".join(map(str, size)) for size in (chosen.frame_size, frame_size))
        raise UserError(
            f"The preset {name!r} is for frames of {ours}, the data set {data} has {theirs}; "
            "use --preset modern or small."
        )
    if chosen.actions is not None and not chosen.actions[0] <= len(action_meanings) <= chosen.actions[1]:
        fewest, most = chosen.actions
        expected = str(most) if fewest == most else f"{fewest} to {most}"
        raise UserError(
            f"The preset {name!r} is for {expected} actions, the data set {data} has {len(action_meanings)} "
            f"({', '.join(action_meanings)}); use --preset modern or small."
        )
