"""Small mazes, and untrained simulators of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from framedream.checkpoint.checkpoint import save_checkpoint
from framedream.checkpoint.configuration import Configuration
from framedream.envs.maze.dynamics import ACTIONS
from framedream.envs.maze.environment import MazeEnvironment
from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics

SMALL: dict[str, Any] = dict(height=16, width=16, samples=1, textures="few", maze_size=9)


def small_mazes() -> MazeEnvironment:
    return MazeEnvironment(**SMALL)


def small_simulator(variant: str, size: tuple[int, int] = (16, 16)) -> Simulator:
    spec = SimulatorSpec.named(variant, codec_for(*size).scaled(0.1), len(ACTIONS), initialisation="signal-preserving")
    sizes = {"hidden": 24, "fused": 32}
    narrow = {field: size for field, size in sizes.items() if getattr(spec.transition, field) != "encoding"}
    torch.manual_seed(1)
    spec = replace(spec, transition=replace(spec.transition, **narrow))
    return Simulator(spec, FrameStatistics(torch.full((3, 1, 1), 0.4), None)).eval()


def write_maze_run(
    run: Path, variant: str = "base", environment: str = "maze", size: tuple[int, int] = (16, 16)
) -> Path:
    """A run whose data set would have been recorded in small mazes."""
    simulator = small_simulator(variant, size)
    meanings = list(ACTIONS)
    configuration = Configuration(
        simulator=simulator.spec.to_json(),
        environment={"name": environment, "arguments": small_mazes().arguments, "action_meanings": meanings},
        data={"folder": str(run / "data"), "identity": "", "policy": {"name": "walk-and-spin"}},
        run={"preset": "tiny"},
        scheme={"name": "pdt-0-100"},
        code_version="0",
    )
    save_checkpoint(run, simulator, configuration, {"updates": 1}, {})
    return run
