"""Record episodes of an environment with a policy into a data set.

    framedream collect atari/pong --frames 50000 --out datasets/pong

Run the same command again to finish an interrupted recording, or with more frames to extend it. The data depend on
the seed alone, not on the number of workers. Episodes are kept whole, so a split has a little more than asked for.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from framedream.cli.sizes import size_in_words
from framedream.errors import UserError

if TYPE_CHECKING:
    from framedream.data.plan import Amount
    from framedream.data.recorder import Recorded


@dataclass(frozen=True)
class CollectArguments:
    """What `framedream collect` is told."""

    environment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")]
    """atari/pong, gym:ID, module:function, … (`framedream envs` lists them)."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Folder of the data set."""
    frames: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Training frames, at least: whole episodes until there are so many."""
    episodes: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Training episodes, instead of frames."""
    test_frames: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Test frames, recorded with other seeds; a fifth of the training frames unless told; 0 for none."""
    test_episodes: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Test episodes, instead of frames; a fifth of the training episodes unless told."""
    policy: Annotated[str, tyro.conf.arg(metavar="P")] = "random"
    """random, dithered:0.7, scripted, epsilon:0.2:POLICY, file:PATH, module:function, …"""
    workers: Annotated[int, tyro.conf.arg(metavar="N")] = os.cpu_count() or 1
    """Processes that play."""
    seed: Annotated[int, tyro.conf.arg(metavar="S")] = 0
    """Decides all episodes."""
    options: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE …")] = ()
    """Options of the environment; values are JSON, or else text."""
    store: Literal["frames", "actions"] = "frames"
    """What to keep: every frame, or seeds and actions, from which mazes are drawn again whenever they are read."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    told = tyro.cli(CollectArguments, args=arguments, prog="framedream collect", description=__doc__)
    train, test = amounts(told.frames, told.episodes, told.test_frames, told.test_episodes)
    options = dict(read_option(text) for text in told.options)

    from framedream.cli.collect_progress import RecordingBars
    from framedream.data.recorder import record

    try:
        with RecordingBars() as bars:
            recorded = record(
                told.environment,
                told.out,
                train,
                test,
                policy=told.policy,
                options=options,
                workers=told.workers,
                seed=told.seed,
                store=told.store,
                on_progress=bars.show,
            )
    except KeyboardInterrupt:
        again = shlex.join(["framedream", "collect", *arguments])
        print(f"The finished episodes are kept in {told.out}. To go on: {again}", file=sys.stderr)
        raise
    print(summary(recorded, told.out, told.workers))


def amounts(
    frames: int | None, episodes: int | None, test_frames: int | None, test_episodes: int | None
) -> tuple[Amount, Amount]:
    """What to record for training and for testing. Unless told, a fifth as much for testing, but not nothing."""
    from framedream.data.plan import Amount

    if frames is None and episodes is None:
        raise UserError(
            "Say how much to record, for example: framedream collect atari/pong --frames 50000 --out datasets/pong"
        )
    train = Amount(frames, episodes)
    if train.reached(0, 0):
        raise UserError("Record at least 1 frame or 1 episode.")
    if test_frames is None and test_episodes is None:
        test_frames = None if frames is None else max(1, frames // 5)
        test_episodes = None if episodes is None else max(1, episodes // 5)
    return train, Amount(test_frames, test_episodes)


def read_option(text: str) -> tuple[str, Any]:
    """`rgb=true` as ("rgb", True); what is not JSON is text."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise UserError(f"--set needs KEY=VALUE, for example --set rgb=true; {text!r} has no value.")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def summary(recorded: Recorded, folder: Path, workers: int) -> str:
    """What was recorded, in a few lines."""
    manifest, new = recorded.manifest, recorded.progress.new_frames
    stored, frames = sum(part.bytes for part in manifest.parts), sum(part.frames for part in manifest.parts)
    has = " and ".join(
        f"{manifest.frames_of(split):,} {name} frames in {_episodes(manifest.episodes_of(split))}"
        for split, name in (("train", "training"), ("test", "test"))
        if manifest.episodes_of(split)
    )
    each = stored / max(1, frames)
    size = f"{size_in_words(stored)}, {each:,.{0 if each >= 10 else 1}f} bytes a frame"
    if not new:
        return f"{folder} is already complete: {has}; {size}."
    speed = f"{new / recorded.seconds:,.0f} frames/s with {workers} workers"
    return f"{folder} has {has}; {size}; {speed}.\nNext: framedream train {shlex.quote(str(folder))} --out runs/first"


def _episodes(count: int) -> str:
    return "1 episode" if count == 1 else f"{count:,} episodes"
