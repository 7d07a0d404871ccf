"""Opening a simulator for use: its weights, its heads, and a supply of starts that fit it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from framedream import __version__
from framedream.agents import make_policy
from framedream.checkpoint.checkpoint import Checkpoint, open_checkpoint
from framedream.checkpoint.folder import FILE_LIST
from framedream.data.dataset import DataSet, open_data_set
from framedream.envs import make_environment
from framedream.errors import UserError
from framedream.model.device import chosen_device
from framedream.model.heads import Heads
from framedream.model.simulator import Simulator
from framedream.use.dreamer import Dreamer
from framedream.use.starts import LiveStarts, RecordedStarts, Starts

DREAM = Path | str | Checkpoint | Simulator
"""A run (its newest checkpoint) or a step folder, `sim:NAME`, a checkpoint that is open already, or a simulator."""
DATA = Path | str | DataSet | Starts
"""A data set's folder, an open data set, or one's own supply of starts."""


@dataclass(frozen=True)
class Opened:
    """A simulator ready to dream."""

    dreamer: Dreamer
    heads: Heads | None
    starts: Starts
    action_meanings: tuple[str, ...]
    action_repeat: int
    provenance: dict[str, Any]
    """What decides the frames beside seeds and actions, in JSON values."""

    @property
    def frame_shape(self) -> tuple[int, int, int]:
        codec = self.dreamer.simulator.spec.codec
        return codec.height, codec.width, 3


def open_dream(simulator: DREAM, data: DATA | None, split: str, live: str | bool, warm_up: int, device: str) -> Opened:
    """Open what simulated environments are made of; refuses what does not fit together in a sentence.

    A simulator in memory stays on the device it is on, and has no heads and no names for its actions.
    """
    if warm_up < 1:
        raise UserError(f"A dream begins with at least one real frame: warm_up must be at least 1, not {warm_up}.")
    if isinstance(simulator, Simulator):
        if data is None:
            raise UserError("A simulator in memory does not say where its data are: give data=, or give its folder.")
        dreamer, heads = Dreamer(simulator), None
        meanings = tuple(f"action {number}" for number in range(dreamer.actions))
        provenance: dict[str, Any] = {"checkpoint": "in memory"}
        repeat, checkpoint = 1, None
    else:
        checkpoint = simulator if isinstance(simulator, Checkpoint) else open_checkpoint(Path(simulator))
        place = chosen_device(device)
        dreamer, heads = Dreamer(checkpoint.simulator(place)), checkpoint.heads(place)
        environment = checkpoint.configuration.environment
        meanings, repeat = tuple(environment["action_meanings"]), int(environment.get("action_repeat", 1))
        provenance = {"checkpoint": sha256((checkpoint.folder / FILE_LIST).read_bytes()).hexdigest()}
    provenance |= {"framedream": __version__, "torch": torch.__version__}
    if live:
        starts = _live(checkpoint, dreamer, live, warm_up)
    elif data is None or isinstance(data, Path | str | DataSet):
        recorded = fitting_data(checkpoint, dreamer.simulator, data)
        starts = RecordedStarts(recorded, split, warm_up)
        provenance["data"] = recorded.identity
    else:
        starts = data
    return Opened(dreamer, heads, starts, meanings, repeat, provenance)


def own_data(checkpoint: Checkpoint) -> DataSet | None:
    """The data set that a simulator was trained on, or else the starts that it was exported with, if either is there.

    Of what it was trained on only sizes are checked: every byte of a large data set would take longer than all else.
    """
    folder = checkpoint.data_folder
    return None if folder is None else open_data_set(folder, check=folder == checkpoint.starts_folder)


def fitting_data(
    checkpoint: Checkpoint | None, simulator: Simulator, data: Path | str | DataSet | None = None
) -> DataSet:
    """A data set that the simulator can be shown, unless told its own; refused where it is another kind of frames."""
    if data is None:
        assert checkpoint is not None
        own = own_data(checkpoint)
        if own is None:
            name = checkpoint.configuration.data["folder"]
            raise UserError(f"The data set it was trained on, {name}, is not there: name one with data=, or live=.")
        data = own
    opened = data if isinstance(data, DataSet) else open_data_set(data, check=False)
    recording = opened.recording
    if checkpoint is not None:
        checkpoint.configuration.refuse_other_data(
            checkpoint.folder,
            opened.folder,
            frame_size=recording.frame_shape,
            action_meanings=recording.action_meanings,
        )
    _refuse_other_palette(simulator, opened.palette, str(opened.folder))
    return opened


def _live(checkpoint: Checkpoint | None, dreamer: Dreamer, live: str | bool, warm_up: int) -> Starts:
    if not isinstance(live, str):
        raise UserError("live= names the policy that plays until the dream begins, for example live='random'.")
    if checkpoint is None:
        raise UserError("A simulator in memory does not say what it simulates: give its folder to start live.")
    recorded = checkpoint.configuration.environment
    environment = make_environment(str(recorded["name"]), **recorded.get("arguments", {}))
    if list(environment.action_meanings) != checkpoint.configuration.action_meanings:
        raise UserError(
            f"The simulator in {checkpoint.folder} knows other actions than {environment.name} has here: "
            "start from a data set."
        )
    _refuse_other_palette(dreamer.simulator, environment.palette, environment.name)
    return LiveStarts(environment, make_policy(live, environment), warm_up)


def _refuse_other_palette(simulator: Simulator, palette: NDArray[np.uint8] | None, whose: str) -> None:
    """Indices mean nothing without their colours; RGB frames fit every simulator of their size."""
    if not simulator.knows_palette(palette):
        raise UserError(f"The simulator was not trained on the palette of {whose}: give data recorded as its own were.")
