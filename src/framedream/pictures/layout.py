"""Frames put together to one picture: crisp enlargement, rows, grids, captions. Pictures are uint8 H×W×3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import ImageFont

Picture = NDArray[np.uint8]
PAPER = 255
INK = (60, 60, 60)
LINE_HEIGHT = 17
FONT_SIZE = 12


def enlarge(frame: Picture, factor: int) -> Picture:
    """Every pixel as a square of `factor` × `factor`: nothing is blurred."""
    return frame.repeat(factor, axis=0).repeat(factor, axis=1)


def factor_for(width: int, wanted: int) -> int:
    """The largest whole enlargement that keeps frames of `width` within `wanted` pixels, at least 1."""
    return max(1, wanted // width)


def side_by_side(pictures: Sequence[Picture], gap: int = 8, paper: int = PAPER) -> Picture:
    """Pictures in a row, aligned at the top."""
    height = max(len(picture) for picture in pictures)
    width = sum(picture.shape[1] for picture in pictures) + gap * (len(pictures) - 1)
    row = np.full((height, width, 3), paper, np.uint8)
    left = 0
    for picture in pictures:
        row[: len(picture), left : left + picture.shape[1]] = picture
        left += picture.shape[1] + gap
    return row


def grid(pictures: Sequence[Picture], columns: int, gap: int = 8) -> Picture:
    """Pictures of one size in rows of `columns`, with a margin around."""
    height, width = pictures[0].shape[:2]
    rows = -(-len(pictures) // columns)
    columns = min(columns, len(pictures))
    sheet = np.full((gap + rows * (height + gap), gap + columns * (width + gap), 3), PAPER, np.uint8)
    for number, picture in enumerate(pictures):
        top = gap + number // columns * (height + gap)
        left = gap + number % columns * (width + gap)
        sheet[top : top + height, left : left + width] = picture
    return sheet


def captioned(picture: Picture, text: str) -> Picture:
    """The picture with a line of text below it, cut to the picture's width."""
    return np.concatenate([picture, _line(text, picture.shape[1])])


def titled(picture: Picture, text: str, margin: int = 8) -> Picture:
    """The picture with a line of text above it."""
    line = np.pad(_line(text, picture.shape[1] - margin), ((margin, 0), (margin, 0), (0, 0)), constant_values=PAPER)
    return np.concatenate([line, picture])


def _line(text: str, width: int) -> Picture:
    from PIL import Image, ImageDraw

    strip = Image.new("RGB", (width, LINE_HEIGHT), (PAPER,) * 3)
    draw = ImageDraw.Draw(strip)
    while text and draw.textlength(text, _font()) > width:
        text = text[:-2].rstrip() + "…" if len(text) > 2 else ""
    draw.text((0, 1), text, INK, _font())
    return np.asarray(strip)


def save_picture(path: Path, picture: Picture) -> None:
    """Write a PNG."""
    from PIL import Image

    Image.fromarray(picture).save(path, format="PNG", optimize=True)


@cache
def _font() -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    from PIL import ImageFont

    return ImageFont.load_default(FONT_SIZE)
