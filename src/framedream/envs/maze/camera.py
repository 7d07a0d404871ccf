"""The camera: which way each sample of a picture looks, and how bright things are; one table per size of picture."""

from __future__ import annotations

import numpy as np

from framedream.envs.maze.renderer import HAZE, Camera, Floats, Integers

HALF_VIEW = 1.0
"""Tangent of half the horizontal field of view: 90 degrees altogether."""
TEXTURE_BITS = 7
STEPS = (np.arange(64) + 0.5) / 64


def make_camera(height: int, width: int, samples: int) -> Camera:
    """For pictures of `height` × `width` pixels, each the mean of `samples` × `samples`."""
    pitch = 2 * HALF_VIEW / (width * samples)
    slope = (np.arange(width * samples, dtype=np.float64) + 0.5) * pitch - HALF_VIEW
    rows = height * samples
    drop = (np.arange(rows, dtype=np.float64) + 0.5 - rows / 2) * pitch
    reach = -0.5 / drop[: rows // 2]
    return Camera(
        slope=slope,
        drop=drop,
        reach=reach,
        bits=_texture_sizes(reach, pitch),
        light=_whole(1 / (1 + HAZE * reach**2)),
        pitch=pitch,
        samples=samples,
        edge_light=_whole(1 - 0.38 * np.clip(1 - STEPS / 0.25, 0, 1) ** 1.5),
        height_light=_whole(
            1 - 0.32 * np.clip(1 - STEPS / 0.2, 0, 1) ** 1.5 - 0.4 * np.clip(1 - (1 - STEPS) / 0.2, 0, 1) ** 1.5
        ),
    )


def _texture_sizes(reach: Floats, pitch: float) -> Integers:
    """The size whose texels are about as large as samples are apart where the row meets floor and ceiling.

    Further away a sample is much longer than it is wide; 0.35 is a compromise between shimmer and blur.
    """
    apart = np.maximum(reach * pitch, 0.35 * reach**2 * pitch / 0.5) * 2**TEXTURE_BITS
    halvings = np.clip(np.floor(np.log2(apart) + 0.5), 0, TEXTURE_BITS - 1).astype(np.int64)
    return np.asarray(TEXTURE_BITS - halvings)


def _whole(brightness: Floats) -> Integers:
    return np.floor(256 * brightness + 0.5).astype(np.int64)
