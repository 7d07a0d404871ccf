"""The contract, kept by every kind of environment."""

from __future__ import annotations

from typing import ClassVar

from contract import EnvironmentContract


class TestCounting(EnvironmentContract):
    name = "counting"


class TestCountingInColour(EnvironmentContract):
    name = "counting"
    options: ClassVar = dict(rgb=True)


class TestPong(EnvironmentContract):
    name = "atari/pong"
    options: ClassVar = dict(time_limit=400)


class TestBreakoutPooledAndSeenByAnAgent(EnvironmentContract):
    name = "atari/breakout"
    options: ClassVar = dict(max_pool=True, agent_view=True)


class TestFreewayInColour(EnvironmentContract):
    """One of the games that a reset of the emulator alone does not bring back to the same state."""

    name = "atari/freeway"
    options: ClassVar = dict(rgb=True, time_limit=400)


class TestPongCropped(EnvironmentContract):
    name = "atari/pong"
    options: ClassVar = dict(time_limit=400, crop=[34, 0, 160, 160])


class TestPongCroppedAndResized(EnvironmentContract):
    name = "atari/pong"
    options: ClassVar = dict(time_limit=400, crop=[34, 0, 160, 160], resize=[40, 40])


class TestAirRaid(EnvironmentContract):
    """A taller screen, in the colours of European television."""

    name = "atari/air_raid"
    options: ClassVar = dict(time_limit=400)


class TestRegistered(EnvironmentContract):
    name = "gym:small_environments:Dict-v0"
    options: ClassVar = dict(crop=[2, 0, 18, 24], resize=[9, 12], action_repeat=2)


class TestRendered(EnvironmentContract):
    name = "gym:small_environments:Rendered-v0"


class TestSteered(EnvironmentContract):
    name = "gym:small_environments:Steered-v0"
    options: ClassVar = dict(actions=[[0, 0], [1, 0], [-1, 0.5]])


class TestOwn(EnvironmentContract):
    name = "small_environments:make_dot"
    options: ClassVar = dict(length=25, action_repeat=2, resize=[10, 12])


class TestOwnFrames(EnvironmentContract):
    name = "small_environments:make_counting"
    options: ClassVar = dict(shortest=20, longest=30)
