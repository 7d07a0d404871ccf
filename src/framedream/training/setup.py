"""What a run starts from: a learner, new or out of a checkpoint, and the data it will be shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import torch

from framedream import __version__
from framedream.checkpoint.checkpoint import Checkpoint
from framedream.checkpoint.configuration import Configuration
from framedream.data.dataset import DataSet
from framedream.errors import UserError
from framedream.model.simulator import Simulator
from framedream.training.heads import new_heads
from framedream.training.learner import Learner
from framedream.training.optimiser import Schedule
from framedream.training.scheme import Scheme
from framedream.training.specification import RunSpec
from framedream.training.statistics import measure_statistics

# What may change when a run is resumed: how long it lasts, how often it is looked at, and how fast it learns.
CHANGEABLE = frozenset(
    {
        "updates",
        "log_every",
        "evaluate_every",
        "evaluation_sequences",
        "evaluation_horizon",
        "checkpoint_every",
        "keep_checkpoints",
        "shard_size",
        "learning_rate",
        "early_learning_rate",
        "final_learning_rate",
        "learning_rate_warm_up",
        "clip",
    }
)


def new_learner(data: DataSet, run: RunSpec, device: torch.device, fast: bool = False) -> Learner:
    """A learner that has learnt nothing yet."""
    recording = data.recording
    torch.manual_seed(run.seed)
    spec = run.simulator(*recording.frame_shape, len(recording.action_meanings))
    statistics = measure_statistics(data.split("train"), data.palette, run.background)
    heads = new_heads(run, spec, data.split("train"))
    return Learner(Simulator(spec, statistics).to(device), run, None if heads is None else heads.to(device), fast)


def resumed_learner(checkpoint: Checkpoint, run: RunSpec, device: torch.device, fast: bool = False) -> Learner:
    """A learner that goes on as if it had never stopped."""
    learner = Learner(checkpoint.simulator(device), run, checkpoint.heads(device), fast)
    learner.restore(checkpoint.training, checkpoint.training_tensors())
    return learner


def refuse_other_run(checkpoint: Checkpoint, data: DataSet, run: RunSpec) -> None:
    """Refuse to resume on other data, or with other choices than those the run began with."""
    config = checkpoint.configuration
    if config.data["identity"] != data.identity:
        raise UserError(
            f"The run in {checkpoint.folder.parent} was trained on {config.data['folder']} "
            f"({config.data['identity'][:12]}), {data.folder} is another data set ({data.identity[:12]})."
        )
    if checkpoint.training["updates"] > run.updates:
        raise UserError(
            f"The run in {checkpoint.folder.parent} has made {checkpoint.training['updates']:,} updates already: "
            f"--updates {run.updates} is too few."
        )
    began = RunSpec.from_json({name: value for name, value in config.run.items() if name != "preset"})
    for field in fields(run):
        before, now = getattr(began, field.name), getattr(run, field.name)
        if before != now and field.name not in CHANGEABLE:
            option = "--" + field.name.replace("_", "-")
            raise UserError(
                f"The run in {checkpoint.folder.parent} began with {option} {before}, which cannot become {now}: "
                f"leave it out, or train into another --out."
            )


def refuse_long_sequences(data: DataSet, run: RunSpec, scheme: Scheme) -> None:
    """Refuse, before anything is trained, a scheme whose sequences no training episode can hold."""
    lengths = data.split("train").episodes.length
    longest = int(lengths.sum() if run.cross_episodes else lengths.max())
    phase = max(scheme.phases, key=lambda phase: phase.sequence_length)
    if phase.sequence_length > longest:
        raise UserError(
            f"Sequences of {phase.sequence_length} frames ({phase.warm_up} to warm up, "
            f"{phase.segments} x {phase.prediction_length} to predict) are longer than every training episode of "
            f"{data.folder} (at most {longest} frames): use a smaller --warm-up, --prediction-length or --segments."
        )


def configuration(data: DataSet, run: RunSpec, scheme: Scheme, learner: Learner, preset: str) -> Configuration:
    """What the run's checkpoints will say of it."""
    recording = data.recording
    return Configuration(
        simulator=learner.simulator.spec.to_json(),
        environment={
            "name": recording.environment,
            "arguments": recording.arguments,
            "action_meanings": list(recording.action_meanings),
            "action_repeat": recording.action_repeat,
        },
        data={
            "folder": str(data.folder.resolve()),
            "identity": data.identity,
            "train_frames": data.split("train").frames,
            "policy": recording.policy,
        },
        run={"preset": preset, **run.to_json()},
        scheme=scheme.to_json(),
        code_version=__version__,
        heads=None if learner.heads is None else learner.heads.heads.spec.to_json(),
    )


def learning_rate(run: RunSpec, scheme: Scheme) -> Callable[[int], float]:
    """The learning rate of every update: each phase has its own warm-up, the last one the decay."""
    stretches = []
    for phase, first, end in scheme.stretches(run.updates):
        last = phase is scheme.phases[-1]
        rate = run.learning_rate if last or run.early_learning_rate is None else run.early_learning_rate
        final = run.final_learning_rate if last else None
        stretches.append((Schedule(rate, final, run.learning_rate_warm_up), first, end))

    def at(update: int) -> float:
        schedule, first, end = next(stretch for stretch in stretches if update < stretch[2])
        return schedule.at(update - first, end - first)

    return at
