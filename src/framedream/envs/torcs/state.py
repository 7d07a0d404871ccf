"""What `info["state"]` holds: the car and the road as the physics has them, in the order the host sends them in."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

State = NDArray[np.float32]


class Column(IntEnum):
    """Places in the state. Metres, seconds and radians; left is positive."""

    TIME = 0
    X = 1
    Y = 2
    Z = 3
    YAW = 4
    SPEED_FORWARD = 5
    SPEED_SIDEWAYS = 6
    YAW_RATE = 7
    ENGINE_RPM = 8
    GEAR = 9
    DAMAGE = 10
    CAR_FLAGS = 11
    """0 while the car takes part; TORCS' reasons why it does not any more."""
    LAPS = 12
    """Crossings of the start line; 1 after the first."""
    LAP_DISTANCE = 13
    """From the start line, along the middle of the road."""
    DISTANCE_RACED = 14
    """Since the episode began."""
    TO_MIDDLE = 15
    """Of the road; positive when the car is left of it."""
    ROAD_WIDTH = 16
    ANGLE = 17
    """From the road's direction to the car's; positive when the car points to its left."""
    CURVATURE = 18
    """Of the road at the car: 1 / radius, positive in bends to the left."""
    SHARPEST_IN_30 = 19
    """The curvature of the sharpest bend in the next 30 metres."""
    SHARPEST_IN_60 = 20
    WHEELS_OFF = 21
    """Wheels that are not on the road proper: on kerbs, grass, sand."""


def off_track(state: State) -> bool:
    """Whether the middle of the car has left the road."""
    return bool(abs(state[Column.TO_MIDDLE]) > state[Column.ROAD_WIDTH] / 2)
