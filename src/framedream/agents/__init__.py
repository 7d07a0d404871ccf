"""Policies: what plays the environments while data are recorded, made by a short text."""

from __future__ import annotations

from pathlib import Path

from framedream.agents.policy import Policy
from framedream.envs.frame_environment import FrameEnvironment
from framedream.errors import UserError, unknown_name

__all__ = ["POLICIES", "Policy", "make_policy"]

POLICIES = {
    "random": "every action uniformly drawn",
    "dithered:P": "with probability P a new random action, otherwise the last one again",
    "walk-and-spin": "15 steps of a random walk, then 15 of turning one way (the paper's mazes)",
    "scripted": "a simple hand-written player (atari/pong, atari/breakout, torcs)",
    "file:PATH": "the actions of a .json, .npy or .txt file, over and over",
    "epsilon:E:POLICY": "POLICY, with a random action with probability E; E may be a range such as 0-0.5",
    "module:function": "your own: called with the environment, returns a policy or a function (frame, info)",
}


def make_policy(text: str, environment: FrameEnvironment) -> Policy:
    """The policy that `text` names (see `POLICIES`), for `environment`."""
    name, _, argument = text.partition(":")
    if text == "random":
        from framedream.agents.random_walks import RandomPolicy

        return RandomPolicy()
    if name == "dithered":
        from framedream.agents.random_walks import DitheredPolicy

        return DitheredPolicy(read_probability(argument, text))
    if text == "walk-and-spin":
        from framedream.agents.random_walks import WalkAndSpinPolicy

        return WalkAndSpinPolicy(environment)
    if text == "scripted":
        from framedream.agents.scripted import ScriptedPolicy

        return ScriptedPolicy(environment)
    if name == "file":
        from framedream.agents.fixed_actions import FixedActionsPolicy, read_actions

        path = Path(argument)
        return FixedActionsPolicy(read_actions(path, int(environment.action_space.n)), path)
    if name == "epsilon":
        from framedream.agents.epsilon import EpsilonPolicy

        epsilon, _, inner = argument.partition(":")
        lowest, _, highest = epsilon.partition("-")
        bounds = read_probability(lowest, text), read_probability(highest or lowest, text)
        if bounds[0] > bounds[1] or not inner:
            raise UserError(f"{text!r} is not a policy; write for example epsilon:0.2:random or epsilon:0-0.5:random.")
        return EpsilonPolicy(*bounds, make_policy(inner, environment))
    if all(part.isidentifier() for part in (*name.split("."), argument)):
        from framedream.agents.own import load_policy

        return load_policy(text, environment)
    raise unknown_name("policy", text, POLICIES, "docs/environments.md")


def read_probability(text: str, policy: str) -> float:
    """A number from 0 to 1 inside the name of a policy."""
    try:
        probability = float(text)
    except ValueError:
        probability = -1.0
    if not 0 <= probability <= 1:
        raise UserError(
            f"{policy!r} needs a probability from 0 to 1, not {text!r}, as in dithered:0.7 or epsilon:0.2:random."
        )
    return probability
