"""Textures as the renderer reads them: at every size, each half the one before, three colours in one whole number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from framedream.envs.maze.renderer import Texels
from framedream.envs.maze.surfaces import Image


def pack_textures(images: Sequence[Image]) -> Texels:
    """Square images of one power of two."""
    # Light is about the square of a byte: averages of squares keep a fine pattern as bright far away as it is near.
    squares = np.stack(images).astype(np.float64).transpose(0, 2, 1, 3) ** 2
    sizes = []
    while squares.shape[1] >= 2:
        sizes.append(_packed(np.floor(np.sqrt(squares) + 0.5).astype(np.int64)))
        squares = (squares[:, ::2] + squares[:, 1::2]) / 2
        squares = (squares[:, :, ::2] + squares[:, :, 1::2]) / 2
    lengths = [size.shape[1] for size in sizes]
    return Texels(
        colours=np.concatenate(sizes, axis=1).reshape(-1),
        each=sum(lengths),
        start=np.cumsum([0, *lengths[:-1]], dtype=np.int64),
        bits=len(sizes),
    )


def _packed(colours: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number per texel, texture by texture, columns of texels first: walls are drawn column by column."""
    red, green, blue = (colours[..., channel].reshape(len(colours), -1) for channel in range(3))
    return red | green << 21 | blue << 42
