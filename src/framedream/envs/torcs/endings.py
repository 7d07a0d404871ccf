"""When an episode is over."""

from __future__ import annotations

from enum import StrEnum

from framedream.envs.torcs.state import Column, State, off_track

STANDING = 1.0
"""Metres per second below which a car counts as standing."""


class End(StrEnum):
    """Why an episode is over. Only the last is a truncation."""

    WRECK = "wreck"
    OFF_TRACK = "off track"
    STUCK = "stuck"
    TIME_LIMIT = "time limit"


class Endings:
    """Counts, in frames, how long the car has been off the track or standing still."""

    def __init__(self, frame_seconds: float, off_track: float, stuck: float, time_limit: float) -> None:
        self._most_off_track, self._most_standing, self._most_frames = (
            max(1, round(limit / frame_seconds)) for limit in (off_track, stuck, time_limit)
        )
        self.begin()

    def begin(self) -> None:
        self._off_track = self._standing = self._frames = 0

    def after(self, state: State) -> End | None:
        """The end that this frame brings, if it brings one."""
        self._frames += 1
        self._off_track = self._off_track + 1 if off_track(state) else 0
        standing = abs(state[Column.SPEED_FORWARD]) < STANDING
        self._standing = self._standing + 1 if standing else 0
        # A wrecked car is lifted off the road by a crane: nothing that one wants to learn.
        if state[Column.CAR_FLAGS] != 0:
            return End.WRECK
        if self._off_track >= self._most_off_track:
            return End.OFF_TRACK
        if self._standing >= self._most_standing:
            return End.STUCK
        if self._frames >= self._most_frames:
            return End.TIME_LIMIT
        return None
