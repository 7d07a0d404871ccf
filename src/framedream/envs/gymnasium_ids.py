"""Environments by Gymnasium id: finding the package that knows the id, and saying what is missing."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import gymnasium

from framedream.envs.frame_sources import RENDER, choose_source
from framedream.envs.gymnasium_adapter import GymnasiumAdapter
from framedream.envs.user_function import look_here
from framedream.errors import UserError, unknown_name

# An id is known only once its package has been imported: how ids start, what to import, what to install.
PACKAGES = (
    ("ALE/", "ale_py", "ale-py"),
    ("BabyAI-", "minigrid", "minigrid"),
    ("MiniGrid-", "minigrid", "minigrid"),
    ("MiniWorld-", "miniworld", "miniworld"),
    ("Vizdoom", "vizdoom.gymnasium_wrapper", "vizdoom"),
)


def make_gymnasium_environment(
    identifier: str,
    *,
    frame: str | None = None,
    resize: Sequence[int] | None = None,
    crop: Sequence[int] | None = None,
    action_repeat: int = 1,
    actions: Sequence[Any] | None = None,
    action_names: Sequence[str] | None = None,
    make_arguments: dict[str, Any] | None = None,
) -> GymnasiumAdapter:
    """The environment that Gymnasium calls `identifier`; `make_arguments` go to `gymnasium.make`."""
    name = f"gym:{identifier}"
    import_package(identifier)
    make_arguments = make_arguments or {}
    if frame == RENDER:
        environment = open_environment(identifier, **{"render_mode": "rgb_array", **make_arguments})
        source = RENDER
    else:
        environment = open_environment(identifier, **make_arguments)
        source = choose_source(environment.observation_space, frame, name)
        if source == RENDER:
            environment.close()
            environment = open_environment(identifier, **{"render_mode": "rgb_array", **make_arguments})
    arguments = dict(
        frame=source,
        resize=resize and list(resize),
        crop=crop and list(crop),
        action_repeat=action_repeat,
        actions=actions,
        action_names=action_names,
        make_arguments=make_arguments,
    )
    return GymnasiumAdapter(
        environment,
        name=name,
        arguments=arguments,
        provenance=package_versions(environment),
        source=source,
        resize=resize,
        crop=crop,
        action_repeat=action_repeat,
        actions=actions,
        action_names=action_names,
    )


def import_package(identifier: str) -> None:
    """Import what registers `identifier`; a UserError names the missing package, or the nearest ids."""
    module, _, bare = identifier.rpartition(":")
    install = None
    for start, package, distribution in PACKAGES:
        if not module and bare.startswith(start):
            module, install = package, distribution
    if module:
        look_here()
        try:
            importlib.import_module(module)
        except ImportError as error:
            hint = f"pip install {install}" if install else f"make {module!r} importable"
            raise UserError(f"gym:{identifier} needs the package {module!r} ({error}): {hint}.") from error
    if bare not in gymnasium.registry:
        prefix = f"gym:{identifier.removesuffix(bare)}"
        known = [f"{prefix}{known}" for known in gymnasium.registry]
        raise unknown_name("environment", f"gym:{identifier}", known, "gymnasium.pprint_registry()")


def open_environment(identifier: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    """`gymnasium.make`, whose failures become one sentence."""
    try:
        # Its checker warns about what is refused here in plain words, and costs time at every step.
        return gymnasium.make(identifier.rpartition(":")[2], disable_env_checker=True, **arguments)
    except ImportError as error:
        raise UserError(f"gym:{identifier} needs a package that is not installed: {error}") from error
    except Exception as error:
        raise UserError(
            f"gym:{identifier} could not be made with {arguments}: {type(error).__name__}: {error}"
        ) from error


def package_versions(environment: gymnasium.Env[Any, Any]) -> dict[str, str]:
    """Gymnasium's version, and that of the package which defines the environment."""
    versions = {"gymnasium": version("gymnasium")}
    package = type(environment.unwrapped).__module__.partition(".")[0]
    with contextlib.suppress(PackageNotFoundError):
        versions[package] = version(package)
    return versions
