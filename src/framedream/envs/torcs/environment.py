"""The environment `torcs`: one car on a race track, seen from the car, as in the paper's 3D car racing."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from gymnasium import spaces

from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.envs.torcs.build import build_host, host_hash
from framedream.envs.torcs.configuration import CAMERAS, Scene
from framedream.envs.torcs.endings import End, Endings
from framedream.envs.torcs.installation import VERSION, find_installation
from framedream.envs.torcs.lasting_host import LastingHost
from framedream.envs.torcs.state import Column
from framedream.errors import UserError, unknown_name

ACTIONS = ("accelerate", "accelerate left", "accelerate right", "nothing")
SECONDS_PER_TICK = 0.02
MOST_TICKS = 200
"""TORCS itself gives up simulating more than four seconds at a time."""
SIZES = (32, 1024)
LONGEST_START = 1e6


class TorcsEnvironment(FrameEnvironment):
    """`info["state"]` is what `state.Column` lists; `info["end"]` says at the end of an episode why it is over.

    The reward is the distance raced since the last frame, in metres along the road.
    """

    def __init__(
        self,
        *,
        height: int = 180,
        width: int = 180,
        supersample: int = 1,
        camera: str = "road",
        track: str = "g-track-1",
        car: str = "car1-trb1",
        steer: float = 0.25,
        accelerate: float = 0.5,
        action_repeat: int = 5,
        start: float | None = None,
        off_track_limit: float = 2.0,
        stuck_limit: float = 5.0,
        wreck_damage: int = 5000,
        time_limit: float = 150.0,
    ) -> None:
        self.name = "torcs"
        self.arguments = dict(
            height=height,
            width=width,
            supersample=supersample,
            camera=camera,
            track=track,
            car=car,
            steer=steer,
            accelerate=accelerate,
            action_repeat=action_repeat,
            start=start,
            off_track_limit=off_track_limit,
            stuck_limit=stuck_limit,
            wreck_damage=wreck_damage,
            time_limit=time_limit,
        )
        _demand(all(SIZES[0] <= size <= SIZES[1] for size in (height, width)), "height and width of 32 to 1,024")
        _demand(supersample in (1, 2), "supersample of 1 or 2")
        _demand(0 < steer <= 1 and 0 < accelerate <= 1, "steer and accelerate above 0 and up to 1")
        _demand(1 <= action_repeat <= MOST_TICKS, f"action_repeat of 1 to {MOST_TICKS} ticks of 0.02 seconds")
        _demand(start is None or abs(start) <= LONGEST_START, "a start within a million metres")
        _demand(all(limit > 0 for limit in (off_track_limit, stuck_limit, time_limit)), "limits above 0 seconds")
        _demand(wreck_damage >= 1, "wreck_damage of 1 or more")
        if camera not in CAMERAS:
            raise unknown_name("camera of torcs", camera, CAMERAS, "docs/torcs.md")
        self._installation = installation = find_installation()
        self._described = (installation.track_file(track), installation.car_file(car))
        program, _ = build_host()
        kind = installation.tracks[track]
        self._host = LastingHost(
            program, installation, Scene(height, width, supersample, camera, track, kind, car, wreck_damage)
        )
        self._start = start
        self._endings = Endings(action_repeat * SECONDS_PER_TICK, off_track_limit, stuck_limit, time_limit)
        self._controls = ((0.0, accelerate), (steer, accelerate), (-steer, accelerate), (0.0, 0.0))
        self.action_meanings = ACTIONS
        self.action_space = spaces.Discrete(len(ACTIONS))
        self.action_repeat = action_repeat
        self.observation_space = spaces.Box(0, 255, (height, width, 3), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        super().reset(seed=seed)
        # Both are drawn whatever is given, so that giving a start changes nothing else.
        number, place = int(self.np_random.integers(2**32)), float(self.np_random.random())
        length = self._host.process.track_length
        frame, state = self._host.reset(number, place * length if self._start is None else self._start)
        self._raced = float(state[Column.DISTANCE_RACED])
        self._endings.begin()
        return frame, {"state": state}

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        self.check_action(action)
        frame, state = self._host.step(*self._controls[action], self.action_repeat)
        raced = float(state[Column.DISTANCE_RACED])
        reward, self._raced = raced - self._raced, raced
        end = self._endings.after(state)
        info: dict[str, Any] = {"state": state} if end is None else {"state": state, "end": str(end)}
        truncated = end is End.TIME_LIMIT
        return frame, reward, end is not None and not truncated, truncated, info

    def close(self) -> None:
        self._host.close()

    @property
    def host_pid(self) -> int:
        """The process behind the environment, for whoever wants to watch it."""
        return self._host.process.pid

    def provenance(self) -> dict[str, Any]:
        described = hashlib.sha256(b"".join(file.read_bytes() for file in self._described))
        return {
            "torcs": VERSION,
            "host_sha256": host_hash(self._installation),
            "renderer": self._host.process.renderer,
            "track_and_car_sha256": described.hexdigest(),
        }


def _demand(condition: bool, wanted: str) -> None:
    if not condition:
        raise UserError(f"TORCS needs {wanted}.")
