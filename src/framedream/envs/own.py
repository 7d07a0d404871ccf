"""The user's own environment by `module:function`."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any

import gymnasium

from framedream.envs.frame_environment import FrameEnvironment
from framedream.envs.frame_sources import RENDER, choose_source
from framedream.envs.gymnasium_adapter import GymnasiumAdapter
from framedream.envs.gymnasium_ids import make_gymnasium_environment, package_versions
from framedream.envs.options import check_options
from framedream.envs.user_function import load_function
from framedream.errors import UserError, unknown_name

ADAPTER_OPTIONS = ("frame", "resize", "crop", "action_repeat", "actions", "action_names")


def make_own_environment(name: str, **options: Any) -> FrameEnvironment:
    """What the function returns: a gymnasium.Env, which is adapted, or a FrameEnvironment, used as it is.

    An option that the function declares goes to the function, the adapter's own options to the adapter.
    """
    function = load_function(name)
    for_function, for_adapter = share_out(name, inspect.signature(function), options)
    # The two kinds of environment share these options.
    check_options(name, make_gymnasium_environment, for_adapter)
    try:
        environment = function(**for_function)
    except TypeError as error:
        raise UserError(f"{name} could not be called with {for_function or 'no options'}: {error}") from error
    if isinstance(environment, FrameEnvironment):
        if for_adapter:
            raise UserError(f"{name} makes its own frames; leave out {', '.join(for_adapter)}.")
        environment.name, environment.arguments = name, options
        return environment
    if not isinstance(environment, gymnasium.Env):
        raise UserError(f"{name} returned a {type(environment).__name__}; it must return a gymnasium.Env.")
    source = choose_source(environment.observation_space, for_adapter.pop("frame", None), name)
    if source == RENDER and environment.render_mode != "rgb_array":
        raise UserError(
            f"No observation of {name} is a picture, and it does not render: return image observations, "
            "or make it with render_mode='rgb_array'."
        )
    return GymnasiumAdapter(
        environment,
        name=name,
        arguments=options,
        provenance=package_versions(environment) | source_hash(function),
        source=source,
        **for_adapter,
    )


def share_out(
    name: str, signature: inspect.Signature, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the function, and those of the adapter."""
    declared = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    takes_any = len(declared) < len(signature.parameters)
    for_adapter = {key: value for key, value in options.items() if key in ADAPTER_OPTIONS and key not in declared}
    for_function = {key: value for key, value in options.items() if key not in for_adapter}
    for option in for_function:
        if option not in declared and not takes_any:
            raise unknown_name(f"option of {name}", option, [*declared, *ADAPTER_OPTIONS], "docs/environments.md")
    return for_function, for_adapter


def source_hash(function: Any) -> dict[str, str]:
    """The file that the environment comes from, in place of a version."""
    file = inspect.getsourcefile(function)
    return {"source_sha256": hashlib.sha256(Path(file).read_bytes()).hexdigest()} if file else {}
