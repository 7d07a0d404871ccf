"""The textures of DeepMind Lab's mazes, where the package that carries them is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from framedream.envs.maze.surfaces import SIDE, Image, Kinds
from framedream.errors import UserError


def labmaze_textures() -> Kinds:
    """Walls, floors and ceilings of all its styles."""
    try:
        assets = import_module("labmaze.assets")
    except ImportError as error:
        raise UserError(
            "textures='labmaze' needs that package: pip install labmaze (it exists for Python 3.10 to 3.12)."
        ) from error
    walls = [path for style in assets.MAZE_STYLES for path in assets.get_wall_texture_paths(style).values()]
    floors = [path for style in assets.MAZE_STYLES for path in assets.get_floor_texture_paths(style).values()]
    ceilings = [Path(assets.ROOT_DIR) / "style_01" / "ceiling_d.png"]
    return [_shrunk(path) for path in walls], [_shrunk(path) for path in floors], [_shrunk(path) for path in ceilings]


def _shrunk(path: str | Path) -> Image:
    from PIL import Image as Pictures

    with Pictures.open(path) as picture:
        # Through RGBA, as palettes here have transparent entries.
        small = picture.convert("RGBA").convert("RGB").resize((SIDE, SIDE), Pictures.Resampling.BOX)
    return np.array(small)
