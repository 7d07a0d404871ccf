"""Explore mazes with a trained simulator, against an explorer that walks at random.

The explorer imagines random sequences of actions, follows the one whose last frame is farthest from its nearest
frame in memory, and plans again. Beside it walks one that has the real environment in the place of the simulator;
`--simulator environment` needs no RUN and asks that one alone. Results go to RUN/exploration/step-N/: results.json,
paths.png, area.png, walks.npz; `framedream report` shows them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from framedream import __version__
from framedream.errors import UserError, unknown_name

if TYPE_CHECKING:
    from framedream.checkpoint.checkpoint import Checkpoint
    from framedream.envs.maze.environment import MazeEnvironment
    from framedream.evaluation.exploration import Exploration
    from framedream.use.exploration.experiment import Experiment, Explored, Progress, Settings
    from framedream.use.exploration.explorer import Method

MAZE = "maze"


@dataclass(frozen=True)
class Explore:
    """The command's options."""

    run: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = None
    """A run (its newest checkpoint), one of its checkpoints, RUN/step-N, or sim:NAME."""
    simulator: Literal["run", "environment"] = "run"
    """What to plan with: the run's simulator, or the real environment only."""
    sequences: Annotated[int, tyro.conf.arg(metavar="N")] = 100
    """Random sequences imagined for each plan."""
    length: Annotated[int, tyro.conf.arg(metavar="D")] = 6
    """Actions in each, all of which are followed."""
    memory: Annotated[int, tyro.conf.arg(metavar="M")] = 10
    """Observed frames remembered, the current one included."""
    dithering: Annotated[float, tyro.conf.arg(metavar="P")] = 1.0
    """The probability that an action of a sequence is drawn anew, not the one before it again; 1 is the paper's."""
    random_dithering: Annotated[float, tyro.conf.arg(metavar="P")] = 0.7
    """The same of the random explorer's walk."""
    mazes: Annotated[int, tyro.conf.arg(metavar="N")] = 10
    """Mazes to walk in, none of them a training episode's."""
    walks: Annotated[int, tyro.conf.arg(metavar="N")] = 3
    """Walks in each maze, by different starts and random numbers."""
    steps: Annotated[int, tyro.conf.arg(metavar="N")] = 900
    """Steps of each walk."""
    sweep: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=N,N … …")] = ()
    """Walk again with other values of `sequences`, `length` or `memory`, one changed at a time: length=3,6,30 …"""
    skip_environment: bool = False
    """Leave out the explorer with the real environment."""
    options: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE …")] = ()
    """Options of the environment where there is no RUN; with one, they are those of its data."""
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0
    """Decides mazes, starts and all random actions."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to run the simulator."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Write here instead; without it, and without a RUN or with sim:NAME, nothing is written."""
    overwrite: bool = False
    """Replace what was explored before."""
    json: bool = False
    """Print everything as JSON, and nothing else, on standard output."""


def main(arguments: list[str]) -> None:
    """Run `framedream explore`."""
    options = tyro.cli(
        Explore, args=arguments, prog="framedream explore", description=__doc__, config=(tyro.conf.FlagCreatePairsOff,)
    )
    from framedream.evaluation.console import EvaluationProgress
    from framedream.use.exploration.console import show
    from framedream.use.exploration.experiment import Settings
    from framedream.use.exploration.explorer import Method
    from framedream.use.exploration.writing import refuse_target, write_exploration

    method = Method(options.sequences, options.length, options.memory, options.dithering)
    settings = Settings(options.mazes, options.walks, options.steps, options.seed, options.random_dithering)
    sweep = _read_sweep(options.sweep)
    for length in (method.length, *sweep.get("length", [])):
        settings.refuse_length(length)
    checkpoint = _open(options)
    folder = options.out or _usual_folder(checkpoint)
    if folder is not None:
        refuse_target(folder, options.overwrite)
    with EvaluationProgress("exploring", "steps") as progress:
        experiment = _prepare(options, settings, checkpoint, progress)
        exploration, explored = _explore(options, experiment, checkpoint, method, sweep, progress)
    if folder is not None:
        write_exploration(folder, exploration, experiment.world, explored)
        print(f"Written: {folder}", file=sys.stderr)
    if options.json:
        print(json.dumps(exploration.as_json(), ensure_ascii=False))
    else:
        show(exploration)


def _usual_folder(checkpoint: Checkpoint | None) -> Path | None:
    """In the run; None where there is none, or where it is the package's and not ours to write in."""
    from framedream.checkpoint.shipped import shipped_name
    from framedream.evaluation.exploration import exploration_folder

    if checkpoint is None or shipped_name(checkpoint.folder) is not None:
        return None
    return exploration_folder(checkpoint.folder)


def _read_sweep(words: tuple[str, ...]) -> dict[str, list[int]]:
    """`length=3,6` as {"length": [3, 6]}."""
    from framedream.use.exploration.experiment import SWEPT

    values: dict[str, list[int]] = {}
    for word in words:
        name, _, numbers = word.partition("=")
        if name not in SWEPT:
            raise unknown_name("number to sweep over", name, SWEPT, "framedream explore --help")
        try:
            values[name] = [int(number) for number in numbers.split(",")]
        except ValueError:
            raise UserError(f"--sweep {word} is not a list of whole numbers: write {name}=3,6,30.") from None
        if min(values[name]) < 1:
            raise UserError(f"--sweep {word} holds a number below 1: leave it out.")
    return values


def _open(options: Explore) -> Checkpoint | None:
    """The checkpoint to explore with, if it is of a maze."""
    from framedream.checkpoint.checkpoint import open_checkpoint

    if options.run is None:
        if options.simulator == "run":
            raise UserError(
                "Name the run to explore with, or plan with the real environment: "
                "framedream explore --simulator environment."
            )
        return None
    if options.options:
        raise UserError("The mazes are those of the run's data set: leave --set out, or leave RUN out.")
    checkpoint = open_checkpoint(options.run)
    name = checkpoint.configuration.environment["name"]
    if name != MAZE:
        raise UserError(
            f"The simulator in {checkpoint.folder} is one of {name}: name a run that was trained on `maze`."
        )
    return checkpoint


def _prepare(options: Explore, settings: Settings, checkpoint: Checkpoint | None, progress: Progress) -> Experiment:
    """The mazes of the run's data set, or those that the command line asks for."""
    import torch

    from framedream.cli.collect import read_option
    from framedream.envs import make_environment
    from framedream.envs.maze.environment import MazeEnvironment
    from framedream.use.exploration.experiment import Experiment

    progress("preparing the mazes", 0, 0)
    if checkpoint is None:
        arguments = dict(read_option(text) for text in options.options)
    else:
        arguments = checkpoint.configuration.environment["arguments"]
    environment = make_environment(MAZE, **arguments)
    assert isinstance(environment, MazeEnvironment)
    if checkpoint is not None:
        _refuse_misfit(checkpoint, environment)
    return Experiment(environment, settings, torch.get_num_threads())


def _refuse_misfit(checkpoint: Checkpoint, environment: MazeEnvironment) -> None:
    """Refuse a simulator that cannot be shown what this environment shows."""
    arguments, (height, width) = environment.arguments, checkpoint.configuration.frame_size
    if (arguments["height"], arguments["width"]) != (height, width):
        raise UserError(
            f"The simulator in {checkpoint.folder} sees frames of {height}x{width}, its mazes show "
            f"{arguments['height']}x{arguments['width']}: name a run whose frames were recorded as they are."
        )
    if checkpoint.configuration.action_meanings != list(environment.action_meanings):
        raise UserError(
            f"The simulator in {checkpoint.folder} knows other actions than the mazes have: name a run of framedream's."
        )


def _explore(
    options: Explore,
    experiment: Experiment,
    checkpoint: Checkpoint | None,
    method: Method,
    sweep: dict[str, list[int]],
    progress: Progress,
) -> tuple[Exploration, list[Explored]]:
    """All explorers, the random one first, then the sweep with the first that plans."""
    from framedream.evaluation.exploration import ENVIRONMENT, SIMULATOR, Exploration
    from framedream.model.device import chosen_device
    from framedream.use.exploration.imagination import EnvironmentImagination, Imagination, SimulatorImagination

    world = experiment.world
    imaginations: dict[str, Imagination] = {}
    explored = [experiment.random]
    if checkpoint is not None and options.simulator == "run":
        imaginations[SIMULATOR] = SimulatorImagination(checkpoint.simulator(chosen_device(options.device)))
    if options.simulator == "environment" or not options.skip_environment:
        imaginations[ENVIRONMENT] = EnvironmentImagination(world.mazes, world.which)
    explored += [experiment.explore(name, one, method, progress) for name, one in imaginations.items()]
    points = experiment.sweep(next(iter(imaginations.values())), method, sweep, progress)
    exploration = Exploration(
        checkpoint=None if checkpoint is None else {"folder": str(checkpoint.folder), "name": checkpoint.folder.name},
        method=asdict(method),
        settings=experiment.settings_as_json(),
        explorers=tuple(one.explorer for one in explored),
        sweep=points,
        code_version=__version__,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return exploration, explored
