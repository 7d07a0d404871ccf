"""The program `framedream`: the first words choose a command, the command's own module reads the rest.

Nothing is imported before the command is known, so that every `--help` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass

from framedream import __version__
from framedream.errors import UserError, unknown_name


@dataclass(frozen=True)
class Command:
    """Where a command lives (`main(arguments)` of that module) and the line `framedream --help` shows for it."""

    module: str
    summary: str


COMMANDS = {
    "demo": Command("demo", "record, train, evaluate and report on the built-in default, in minutes"),
    "collect": Command("collect", "record episodes of an environment with a policy into a data set"),
    "data info": Command("data_info", "describe a data set"),
    "data verify": Command("data_verify", "check every checksum of a data set"),
    "data preview": Command("data_preview", "draw frames of a data set: a contact sheet and a video"),
    "data export": Command("data_export", "convert a data set to Minari, NPZ or MP4"),
    "data import": Command("data_import", "make a data set of your own recordings or of a Minari data set"),
    "train": Command("train", "train a simulator"),
    "evaluate": Command("evaluate", "measure open-loop error at every step to a horizon, with baselines"),
    "report": Command("report", "write one self-contained HTML page about one or several runs"),
    "play": Command("play", "play inside a simulator in a web page, beside the real environment"),
    "export": Command("export", "write a simulator for others, with frames to begin in, errors and a card"),
    "explore": Command("explore", "explore mazes with a trained simulator, against walking at random"),
    "variants": Command("variants", "list the state transitions, their sizes and equations"),
    "schemes": Command("schemes", "list the training schemes"),
    "simulators": Command("simulators", "list the simulators that ship trained"),
    "presets": Command("presets", "list the ready-made training runs"),
    "envs": Command("envs", "list the environments"),
    "torcs build": Command("torcs_build", "compile the program that drives TORCS, and say what is missing for it"),
    "bench": Command("bench", "measure the speeds of this machine"),
}


def main(arguments: list[str] | None = None) -> None:
    """Run one command; exit with 0, with 2 on wrong usage or input, with 130 on Ctrl-C."""
    # Before torch is imported: with large pages, memory for a whole sequence of frames costs far fewer page faults.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    if debug:
        words.remove("--debug")
    try:
        _dispatch(words)
    except UserError as error:
        if debug:
            raise
        print(f"framedream: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        if debug:
            raise
        print("framedream: stopped.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted; a second error while flushing at exit would only confuse.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _dispatch(words: list[str]) -> None:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview())
        return
    if words[0] == "--version":
        print(f"framedream {__version__}")
        return
    for length in (2, 1):
        command = COMMANDS.get(" ".join(words[:length]))
        if command is not None:
            importlib.import_module(f"framedream.cli.{command.module}").main(words[length:])
            return
    group = [name for name in COMMANDS if name.startswith(f"{words[0]} ")]
    if group and (len(words) == 1 or words[1] in ("-h", "--help")):
        print(_overview(group))
        return
    spoken = " ".join(words[:2]) if group else words[0]
    raise unknown_name("command", spoken, COMMANDS, "framedream --help")


def _overview(names: list[str] | None = None) -> str:
    listed = list(COMMANDS) if names is None else names
    lines = ["usage: framedream COMMAND …", ""]
    if names is None:
        lines += ["Learn a playable simulator of any pixel environment; measure how far it can be trusted.", ""]
    lines += [f"  {name:14}{COMMANDS[name].summary}" for name in listed]
    lines += ["", "framedream COMMAND --help tells the rest; --debug anywhere shows the traceback of an error."]
    return "\n".join(lines)
