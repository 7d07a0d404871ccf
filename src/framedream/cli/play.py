"""Play inside a simulator: a web page with the dream beside the real environment.

    framedream play runs/pong
    framedream play sim:pong
    framedream play runs/pong --script actions.json --record pong.mp4

With --script nothing is served: the actions are taken one by one, and a film and numbers come out.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from framedream.errors import UserError

if TYPE_CHECKING:
    from framedream.use.play.stage import Stage


@dataclass(frozen=True)
class Play:
    """The command's options."""

    simulator: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """A run (its newest checkpoint), a checkpoint, RUN/step-N, or sim:NAME (`framedream simulators`)."""
    data: Path | None = None
    """Where dreams begin; unless told, the data it was trained on or exported with, or else the real environment."""
    split: Literal["test", "train"] = "test"
    """Which half of the data set dreams begin in."""
    warm_up: int = 10
    """Real frames that a dream begins with."""
    real: bool = True
    """Show the real environment beside the dream, where it is installed."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the simulator runs."""
    host: str = "127.0.0.1"
    """Address to serve on."""
    port: int = 8000
    """Port to serve on; 0: any free one."""
    open_to_network: bool = False
    """Let others play, on an address other than this machine's own; they need the token that is printed."""
    sessions: int = 8
    """How many may play at once."""
    seed: int = 0
    """Which beginning a script starts from."""
    script: Path | None = None
    """Take these actions (.json, .npy or .txt) instead of serving a page."""
    record: Path | None = None
    """Write a film of the script's game, FILE.mp4."""
    rate: int = 15
    """Frames per second of that film."""
    json: bool = False
    """Print the script's outcome as JSON: session, score card, errors."""


def main(arguments: list[str]) -> None:
    """Run `framedream play`."""
    options = tyro.cli(Play, args=arguments, prog="framedream play", description=__doc__)
    for name, least in (("warm_up", 1), ("sessions", 1), ("rate", 1), ("port", 0), ("seed", 0)):
        if getattr(options, name) < least:
            raise UserError(f"--{name.replace('_', '-')} must be at least {least}, not {getattr(options, name)}.")
    if options.script is None and options.record is not None:
        raise UserError("--record needs --script; in the page, the button Record makes a film.")
    if options.record is not None and options.record.exists():
        raise UserError(f"{options.record} exists: choose another --record.")
    if options.script is not None:
        _play_script(options, _stage(options))
    else:
        _serve(options)


def _stage(options: Play) -> Stage:
    from framedream.checkpoint.checkpoint import open_checkpoint
    from framedream.data.dataset import open_data_set
    from framedream.use.opening import own_data
    from framedream.use.play.stage import set_stage

    checkpoint = open_checkpoint(options.simulator)
    return set_stage(
        checkpoint,
        own_data(checkpoint) if options.data is None else open_data_set(options.data, check=False),
        split=options.split,
        warm_up=options.warm_up,
        device=options.device,
        real=options.real,
    )


def _serve(options: Play) -> None:
    try:
        from framedream.use.play.server import listen, make_app, make_door, make_server
    except ImportError as error:
        raise UserError("Playing in a web page needs: pip install 'framedream[play]'.") from error
    door = make_door(options.host, to_network=options.open_to_network, sessions=options.sessions)
    listening = listen(options.host, options.port)
    stage = _stage(options)
    address = f"[{options.host}]" if ":" in options.host else options.host
    query = "" if door.token is None else f"?token={door.token}"
    if stage.no_twin is not None:
        print(f"The real environment is not shown: {stage.no_twin}")
    print(
        f"A step takes {1000 * stage.step_seconds:.0f} ms here: "
        f"{stage.rate} frames per second to begin with, at most {int(1 / stage.step_seconds)}."
    )
    print(f"Play at http://{address}:{listening.getsockname()[1]}/{query} (Ctrl-C ends it).", flush=True)
    make_server(make_app(stage, door, os.cpu_count() or 1)).run(sockets=[listening])


def _play_script(options: Play, stage: Stage) -> None:
    from framedream.agents.fixed_actions import read_actions
    from framedream.use.play.game import Game
    from framedream.use.play.script import play_script

    assert options.script is not None
    actions = read_actions(options.script, stage.dreamer.actions)
    game = Game(stage, options.seed)
    try:
        played = play_script(game, (int(action) for action in actions), options.record, options.rate)
    finally:
        game.close()
        stage.starts.close()
    if options.json:
        content = {"session": played.session, "score": played.score, "errors": played.errors}
        print(json.dumps(content))
        return
    known = [error for error in played.errors if error is not None]
    beside = f", mean error {sum(known) / len(known):.3g} against the real environment" if known else ""
    print(f"Played {len(actions):,} steps{beside}.")
    if options.record is not None:
        print(f"Written: {options.record} ({played.film_frames:,} frames)")
