"""Compile the program that drives TORCS, which otherwise happens when the environment `torcs` is first used.

Says what is missing for it, with the line that installs it. Nothing is downloaded.
"""

from __future__ import annotations

from dataclasses import dataclass

import tyro


@dataclass(frozen=True)
class TorcsBuildArguments:
    """There is nothing to choose."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    tyro.cli(TorcsBuildArguments, args=arguments, prog="framedream torcs build", description=__doc__)
    from framedream.envs.torcs.build import build_host

    program, built = build_host()
    print(f"{program} is {'built' if built else 'there already'}. Next: framedream collect torcs --policy scripted …")
