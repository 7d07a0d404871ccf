"""The scripted driver of `torcs`: keeps near a line on the road and slows down for bends. Reads the car's state."""

from __future__ import annotations

import math

import numpy as np

from framedream.envs.torcs.state import Column, State


class TorcsDriver:
    """Steers against its angle to the road and its distance from its line, and with the bend ahead.

    Only coasting slows the car down, so it coasts early. The line and the top speed are drawn from the seed.
    """

    TOP_SPEED = (13.0, 16.0)  # metres per second, drawn once
    GRIP = 6.0  # metres per second squared sideways that it trusts the tyres with
    LINE = 1.0  # metres from the middle, drawn anew now and then
    LINE_FRAMES = (30, 90)
    ANGLE, ASIDE, BEND = 1.0, 0.06, 8.0
    BEND_NOT_YET_REACHED = 0.3
    STEERED_AT = 0.08
    # Too fast it coasts, unless it has to steer so much; and steering means accelerating.
    TOO_FAST, STEERED_EVEN_SO = 1.0, 0.2

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._top_speed = float(random.uniform(*self.TOP_SPEED))
        self._line, self._frames_on_line = 0.0, 0

    def choose(self, state: State) -> str:
        speed, wish = float(state[Column.SPEED_FORWARD]), self._steering(state)
        allowed = self._allowed_speed(state)
        if speed > allowed + self.TOO_FAST and abs(wish) < self.STEERED_EVEN_SO:
            return "nothing"
        if abs(wish) > self.STEERED_AT:
            return "accelerate left" if wish > 0 else "accelerate right"
        return "accelerate" if speed < allowed else "nothing"

    def _steering(self, state: State) -> float:
        if self._frames_on_line == 0:
            self._line = float(self._random.uniform(-self.LINE, self.LINE))
            self._frames_on_line = int(self._random.integers(*self.LINE_FRAMES))
        self._frames_on_line -= 1
        in_bend = state[Column.CURVATURE] != 0
        bend = state[Column.SHARPEST_IN_30] * (1.0 if in_bend else self.BEND_NOT_YET_REACHED)
        aside = state[Column.TO_MIDDLE] - self._line
        return float(self.BEND * bend - self.ANGLE * state[Column.ANGLE] - self.ASIDE * aside)

    def _allowed_speed(self, state: State) -> float:
        bend = max(abs(float(state[Column.SHARPEST_IN_30])), abs(float(state[Column.SHARPEST_IN_60])))
        return self._top_speed if bend == 0 else min(self._top_speed, math.sqrt(self.GRIP / bend))
