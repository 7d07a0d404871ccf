"""Where the frames of somebody else's environment come from, and what counts as a frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from framedream.envs.frame_environment import Frame
from framedream.errors import UserError, unknown_name

RENDER = "render"
OBSERVATION = "observation"
# Some environments number the contents of a few cells as if they were colours (MiniGrid: 7×7×3): not a picture.
SMALLEST_PICTURE = 16


def choose_source(space: spaces.Space[Any], frame: str | None, name: str) -> str:
    """`observation`, a key of a Dict observation, or `render`: what was asked for, else the first picture."""
    if frame is not None:
        return check_source(space, frame, name)
    candidates = dict(space.spaces) if isinstance(space, spaces.Dict) else {OBSERVATION: space}
    for source, candidate in candidates.items():
        if looks_like_picture(candidate):
            if candidate.dtype != np.uint8:
                raise not_bytes(f"The observation {source!r} of {name}", candidate.dtype)
            return source
    return RENDER


def check_source(space: spaces.Space[Any], frame: str, name: str) -> str:
    """`frame`, if this environment has it."""
    known = [RENDER, *(space.spaces if isinstance(space, spaces.Dict) else [OBSERVATION])]
    if frame not in known:
        raise unknown_name(f"frame of {name}", frame, known, "docs/environments.md")
    return frame


def looks_like_picture(space: spaces.Space[Any]) -> bool:
    """Height × width, alone or with 1 or 3 colours, and large enough to see something."""
    if not isinstance(space, spaces.Box) or len(space.shape) not in (2, 3):
        return False
    return min(space.shape[:2]) >= SMALLEST_PICTURE and (len(space.shape) == 2 or space.shape[2] in (1, 3))


def pick(observation: Any, source: str) -> Any:
    """The part of an observation that `source` names."""
    return observation[source] if isinstance(observation, Mapping) else observation


def as_frame(image: Any, name: str) -> Frame:
    """A copy of `image` as H×W×3 bytes; grey is repeated over the three colours. Refuses what is not bytes."""
    image = np.asarray(image)
    if image.dtype != np.uint8:
        raise not_bytes(f"A frame of {name}", image.dtype)
    if image.ndim == 2:
        image = image[..., None]
    if image.ndim != 3 or image.shape[2] not in (1, 3) or 0 in image.shape:
        raise UserError(
            f"A frame of {name} has the shape {image.shape}; return height × width, or height × width × 3 colours."
        )
    if image.shape[2] == 1:
        return np.repeat(image, 3, axis=2)
    # Environments may hand out the same buffer at every step; what is recorded must not change afterwards.
    frame: Frame = image.copy()
    return frame


def not_bytes(what: str, dtype: Any) -> UserError:
    return UserError(
        f"{what} is {dtype}, but frames are bytes (uint8): scale it to 0-255 in the environment, "
        "for example (frame * 255).round().astype(np.uint8) if it lies between 0 and 1."
    )
