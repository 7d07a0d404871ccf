"""The sets of textures that mazes are dressed in: patterns in several colours, and a gallery of paintings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from framedream.envs.maze import ceiling_patterns, floor_patterns, wall_patterns
from framedream.envs.maze.dice import Dice
from framedream.envs.maze.labmaze_textures import labmaze_textures
from framedream.envs.maze.layout import TextureNumbers
from framedream.envs.maze.paintings import painting
from framedream.envs.maze.surfaces import Image, Kinds, Surface, painted

RAMPS = {
    "brick": ("b9aca0", "8a2f20", "d05a3e"),
    "sand": ("5f4a2c", "b98f4c", "ecd28c"),
    "slate": ("20272f", "4c5f73", "93a9bf"),
    "navy": ("0c1236", "22318a", "5068d8"),
    "violet": ("2a1854", "6540b4", "a57cf0"),
    "teal": ("08302f", "157f79", "45d6c2"),
    "moss": ("1e2a12", "4b6e2c", "94bd58"),
    "amber": ("563000", "cf8a0c", "ffca48"),
    "orange": ("571f04", "d4580a", "ff9c3f"),
    "rose": ("561c31", "b5466b", "f497b4"),
    "mint": ("2f5843", "78bb93", "c6f2d3"),
    "chalk": ("6b675f", "c9c2b2", "faf6ea"),
    "coal": ("0d0f12", "2f333a", "646c77"),
    "sky": ("17415f", "3b8bca", "97d6f8"),
    "crimson": ("33040d", "98101f", "e6413f"),
    "gold": ("4d3d09", "b39a1b", "f6e163"),
    "plum": ("2b0f2e", "7d2f83", "cf78cf"),
    "oak": ("3a220f", "8a5a2b", "cf9a5b"),
    "walnut": ("1a0f08", "55341c", "8f6038"),
    "jade": ("06251a", "0f7a4b", "4fd08c"),
    "lime": ("34430a", "8fae1d", "d8ee6a"),
    "copper": ("2b1208", "99502a", "e59a63"),
    "steel": ("272b30", "7f8892", "c6ced6"),
    "ice": ("5b7f99", "a9d1e8", "edf9ff"),
    "grass": ("1c3a12", "3f7a26", "8fc455"),
    "earth": ("2d1c10", "6b4a2e", "a8804f"),
    "library": ("3a220f", "6d1f1f", "1f4d6d", "b58a2b", "2d5f3a", "c9b896"),
    "harlequin": ("2a2a2a", "d1352b", "f2b51d", "2b7bba", "3da35d", "f3e9d2"),
    "lamps": ("1d1d1f", "6a6a6c", "ecebe4"),
    "warm": ("24160b", "8d6a45", "fff1c9"),
    "cool": ("1c2733", "72899c", "f2fbff"),
    "daylight": ("3b4046", "5aa5e0", "f6fbff"),
}

Pattern = Callable[[Dice], Surface]
Colourings = Sequence[tuple[Pattern, str]]

WALLS: Colourings = (
    (wall_patterns.bricks, "brick sand slate gold crimson chalk"),
    (wall_patterns.ashlar, "sand slate moss chalk navy"),
    (wall_patterns.rubble, "slate earth rose jade"),
    (wall_patterns.planks, "oak walnut teal violet"),
    (wall_patterns.panelling, "oak crimson jade navy chalk"),
    (wall_patterns.stripes, "rose mint sky amber"),
    (wall_patterns.tiles, "teal sky orange ice violet"),
    (wall_patterns.small_tiles, "sky jade plum"),
    (wall_patterns.hexagons, "amber coal mint crimson"),
    (wall_patterns.plaster, "orange sand sky rose lime"),
    (wall_patterns.metal, "steel copper coal navy"),
    (wall_patterns.chevrons, "violet gold teal"),
    (wall_patterns.diamonds, "crimson plum slate mint"),
    (wall_patterns.dots, "sky rose lime orange"),
    (wall_patterns.scales, "jade navy copper plum"),
    (wall_patterns.weave, "sand oak violet"),
    (wall_patterns.arcs, "teal amber navy coal"),
    (wall_patterns.portholes, "orange steel sky"),
    (wall_patterns.marble, "chalk jade rose"),
    (wall_patterns.bamboo, "lime sand"),
    (wall_patterns.books, "library"),
    (wall_patterns.foliage, "grass moss"),
    (wall_patterns.patchwork, "harlequin"),
)
FLOORS: Colourings = (
    (floor_patterns.boards, "oak walnut sand orange"),
    (floor_patterns.checks, "chalk crimson sky jade"),
    (floor_patterns.cobbles, "slate earth copper"),
    (floor_patterns.slabs, "slate sand mint ice"),
    (floor_patterns.carpet, "crimson navy plum teal amber"),
    (floor_patterns.grass, "grass lime"),
    (floor_patterns.ripples, "sand"),
    (floor_patterns.tread, "steel coal"),
    (wall_patterns.weave, "oak sand"),
    (wall_patterns.small_tiles, "sky ice orange"),
    (wall_patterns.hexagons, "chalk rose"),
    (wall_patterns.marble, "ice chalk"),
    (wall_patterns.bricks, "brick"),
)
CEILINGS: Colourings = (
    (ceiling_patterns.lamps, "lamps lamps cool"),  # the first is drawn twice as often
    (ceiling_patterns.round_lamps, "chalk"),
    (ceiling_patterns.rafters, "warm"),
    (ceiling_patterns.strip_lights, "cool"),
    (ceiling_patterns.skylights, "daylight"),
)

FEW_WALLS: Colourings = (
    (wall_patterns.bricks, "brick"),
    (wall_patterns.tiles, "sky"),
    (wall_patterns.planks, "oak"),
    (wall_patterns.hexagons, "amber"),
    (wall_patterns.ashlar, "moss"),
    (wall_patterns.diamonds, "plum"),
)
FEW_FLOORS: Colourings = (
    (floor_patterns.boards, "sand"),
    (floor_patterns.checks, "chalk"),
    (floor_patterns.carpet, "navy"),
)
FEW_CEILINGS: Colourings = ((ceiling_patterns.lamps, "lamps"),)

PAINTINGS = 42
PATTERN_SEED, PAINTING_SEED = 1, 2


@dataclass(frozen=True, eq=False)
class Textures:
    """Images of one size, and which of them are for what."""

    images: tuple[Image, ...]
    numbers: TextureNumbers


@cache
def load_textures(name: str) -> Textures:
    """The set called `name` in `TEXTURE_SETS`, with our paintings."""
    kinds = (*TEXTURE_SETS[name](), [painting(Dice(PAINTING_SEED, number), number) for number in range(PAINTINGS)])
    ends = np.cumsum([len(images) for images in kinds]).tolist()
    ranges = [range(end - len(images), end) for images, end in zip(kinds, ends, strict=True)]
    return Textures(tuple(image for images in kinds for image in images), TextureNumbers(*ranges))


def _coloured(colourings: Colourings) -> list[Image]:
    images = []
    for number, (pattern, ramps) in enumerate(colourings):
        surface = pattern(Dice(PATTERN_SEED, number))
        images += [painted(surface, RAMPS[name]) for name in ramps.split()]
    return images


def drawn_textures() -> Kinds:
    return _coloured(WALLS), _coloured(FLOORS), _coloured(CEILINGS)


def few_textures() -> Kinds:
    """As in the paper, where mazes differ in layout and paintings much more than in surfaces: easier to learn."""
    return _coloured(FEW_WALLS), _coloured(FEW_FLOORS), _coloured(FEW_CEILINGS)


TEXTURE_SETS: dict[str, Callable[[], Kinds]] = {
    "drawn": drawn_textures,
    "few": few_textures,
    "labmaze": labmaze_textures,
}
"""The option `textures`: walls, floors and ceilings."""
