"""Episodes as NPZ files: `frames` and `actions`; where known `rewards`, `states`, `terminated`, `truncated`, `seed`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framedream.data.conversion.incoming import IncomingEpisode, naming
from framedream.data.episode import Frames, Rows
from framedream.errors import UserError

OPTIONAL = ("rewards", "states", "terminated", "truncated", "seed")


def write_npz(path: Path, blocks: Iterable[Rows], seed: int) -> None:
    """One episode. Its last row's action, reward and flags, which lead nowhere, are left out."""
    columns = zip(*blocks, strict=True)
    frames, actions, rewards, terminations, truncations, states = (
        None if column[0] is None else np.concatenate(column) for column in columns
    )
    assert frames is not None and actions is not None and rewards is not None
    assert terminations is not None and truncations is not None
    np.savez_compressed(
        path,
        allow_pickle=False,
        frames=frames,
        actions=actions[:-1],
        rewards=rewards[:-1],
        terminated=terminations.any(),
        truncated=truncations.any(),
        seed=np.uint64(seed),
        **({} if states is None else {"states": states}),
    )


def read_npz(path: Path) -> IncomingEpisode:
    """The episode in a file; its frames are read when they are asked for."""

    def blocks() -> Iterator[Frames]:
        yield _load(path, ["frames"])["frames"]

    with naming(path.name):
        frames = _number_of_frames(path)
        values = _load(path, ["actions"], OPTIONAL)
        # One value per frame is as common as one per transition; the last one then leads nowhere.
        for name in ("actions", "rewards"):
            if values.get(name) is not None and np.shape(values[name]) == (frames,):
                values[name] = values[name][:-1]
        if np.shape(values["actions"]) != (max(frames - 1, 0),) and np.ndim(values["actions"]) == 1:
            raise UserError(
                f"there are {frames} frames and {len(values['actions'])} actions; {frames} frames need {frames - 1} "
                "actions, one for each transition between them."
            )
        for name in ("terminated", "truncated", "seed"):
            if np.size(values.get(name, 0)) != 1:
                raise UserError(f"{name!r} must be one value, not an array of shape {np.shape(values[name])}.")
    terminated = bool(values.get("terminated", False))
    return IncomingEpisode(
        path.name,
        blocks,
        actions=values["actions"],
        rewards=values.get("rewards"),
        states=values.get("states"),
        terminated=terminated,
        truncated=bool(values.get("truncated", not terminated)),
        seed=int(values.get("seed", 0)),
    )


def _load(path: Path, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, NDArray[Any]]:
    if not zipfile.is_zipfile(path):
        raise UserError("it cannot be read as NPZ: write it with numpy.savez_compressed.")
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in required if name not in file]
            if missing:
                raise UserError(f"there is no array {missing[0]!r} in it, only {', '.join(file) or 'nothing'}.")
            return {name: file[name] for name in (*required, *optional) if name in file}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        if "pickle" in str(error).lower():
            raise UserError("an array holds objects: every frame must have the same shape, and be uint8.") from None
        raise UserError(f"it cannot be read as NPZ ({error}).") from None


def _number_of_frames(path: Path) -> int:
    """How many frames there are, from the array's header: the array itself may be large."""
    try:
        with zipfile.ZipFile(path) as file, file.open("frames.npy") as member:
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _, _ = read[np.lib.format.read_magic(member)](member)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        shape = _load(path, ["frames"])["frames"].shape
    return shape[0] if shape else 0
