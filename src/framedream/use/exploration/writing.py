"""An exploration on the disk: whole, or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from framedream.checkpoint.folder import remove_folder
from framedream.data.conversion.fresh_folder import fresh_folder
from framedream.errors import UserError
from framedream.evaluation.exploration import PATHS_FILE, Exploration
from framedream.evaluation.report.exploration import area_picture
from framedream.evaluation.results import RESULTS_FILE
from framedream.use.exploration.experiment import Explored
from framedream.use.exploration.pictures import paths_picture
from framedream.use.exploration.world import World

AREA_FILE = "area.png"
WALKS_FILE = "walks.npz"


def refuse_target(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that cannot be meant, before anything is walked."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file: name a folder with --out.")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / RESULTS_FILE).exists():
        raise UserError(f"{folder} holds something else than an exploration: choose another place with --out.")
    if not overwrite:
        raise UserError(f"{folder} holds an exploration: add --overwrite to replace it, or choose another --out.")


def write_exploration(folder: Path, exploration: Exploration, world: World, explored: Sequence[Explored]) -> None:
    """Write `results.json`, `walks.npz` and the figures; what was there before goes only when all of it is ready."""
    picture = io.BytesIO()
    Image.fromarray(paths_picture(world, explored)).save(picture, format="PNG", optimize=True)
    files = {
        RESULTS_FILE: (json.dumps(exploration.as_json(), ensure_ascii=False) + "\n").encode(),
        PATHS_FILE: picture.getvalue(),
        AREA_FILE: area_picture(exploration),
        WALKS_FILE: _walks(world, explored),
    }
    if folder.exists() and any(folder.iterdir()):
        remove_folder(folder)
    with fresh_folder(folder) as place:
        for name, content in files.items():
            (place / name).write_bytes(content)


def _walks(world: World, explored: Sequence[Explored]) -> bytes:
    """Places (walks, steps + 1, 6), actions (walks, steps), and the maze that each walk is in."""
    file = io.BytesIO()
    arrays: dict[str, Any] = {"maze": world.which}
    for one in explored:
        name, walks = one.explorer.name, one.walks
        arrays |= {f"{name}_places": walks.places, f"{name}_actions": walks.actions.astype(np.int8)}
    np.savez_compressed(file, **arrays)
    return file.getvalue()
