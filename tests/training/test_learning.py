"""Does anything learn? On a tiny world, every scheme and every kind of transition must beat what knows no dynamics.

The bar is the best blend α·last + (1-α)·mean, with an α per step fitted on training data, as docs/error.md defines
it: a simulator whose gradients are broken anywhere along the sequence does not get under it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from moving_square import moving_square_data_set
from numpy.typing import NDArray

from framedream.data.dataset import DataSet, Split
from framedream.data.reader import SegmentReader
from framedream.data.sampler import evaluation_index
from framedream.experiments.presets import PRESETS
from framedream.model.simulator import Simulator
from framedream.training.batches import StreamedFrames
from framedream.training.loop import train
from framedream.training.scheme import SCHEMES, Scheme
from framedream.training.setup import learning_rate, new_learner
from framedream.training.specification import RunSpec

WARM_UP, STEPS, UPDATES = 4, 8, 150
RUN = replace(
    PRESETS["tiny"].run,
    hidden=64,
    fused=64,
    filters=0.25,
    batch_size=16,
    warm_up=WARM_UP,
    prediction_length=STEPS,
    phase_scale=1.0,
    updates=UPDATES,
    learning_rate=2e-3,
    early_learning_rate=None,
    final_learning_rate=1e-4,
    learning_rate_warm_up=10,
)


@dataclass
class World:
    """The data, test sequences of WARM_UP + STEPS frames, and the blend's errors on them."""

    data: DataSet
    frames: NDArray[np.uint8]
    actions: NDArray[np.int64]
    blend: NDArray[np.float64]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    data = moving_square_data_set(tmp_path_factory.mktemp("square") / "data")
    frames, actions = sequences(data.split("test"), 200)
    return World(data, frames, actions, blend_errors(data, frames))


def sequences(split: Split, count: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    with SegmentReader(split) as reader:
        batch = reader.read_batch(evaluation_index(split, count, WARM_UP + STEPS))
    return batch.frames, batch.actions


def blend_errors(data: DataSet, test: NDArray[np.uint8]) -> NDArray[np.float64]:
    assert data.palette is not None
    colours = data.palette / 255.0
    train_frames = colours[sequences(data.split("train"), 1000)[0]]
    test_frames = colours[test]
    mean = train_frames.mean(axis=(0, 1))
    errors = []
    for step in range(WARM_UP, WARM_UP + STEPS):
        last, now = train_frames[:, WARM_UP - 1] - mean, train_frames[:, step] - mean
        alpha = (last * now).sum() / (last * last).sum()
        predicted = mean + alpha * (test_frames[:, WARM_UP - 1] - mean)
        errors.append(((test_frames[:, step] - predicted) ** 2).sum(axis=(1, 2, 3)).mean() / 3)
    return np.array(errors)


@torch.no_grad()
def model_errors(simulator: Simulator, world: World) -> NDArray[np.float64]:
    simulator.eval()
    frames, actions = simulator.normalise(torch.from_numpy(world.frames)), torch.from_numpy(world.actions)
    state = simulator.warm_up(frames[:, :WARM_UP], actions[:, : WARM_UP - 1])
    predictions, _ = simulator.unroll(state, actions[:, WARM_UP - 1 : -1])
    errors: NDArray[np.float64] = (predictions - frames[:, WARM_UP:]).square().sum(dim=(2, 3, 4)).mean(dim=0).numpy()
    return errors / 3


def shortened(scheme: Scheme) -> Scheme:
    """All phases of the same number of updates."""
    each = UPDATES // len(scheme.phases)
    return replace(scheme, phases=tuple(replace(phase, updates=each) for phase in scheme.phases))


def check_learning(world: World, run: RunSpec) -> None:
    learner = new_learner(world.data, run, torch.device("cpu"))
    scheme = shortened(run.phases(learner.simulator.prediction_independent))
    split = world.data.split("train")
    with StreamedFrames(split, run, learner.device) as source:
        train(
            learner,
            scheme,
            UPDATES,
            open_batches=source.open,
            learning_rate=learning_rate(run, scheme),
            on_update=lambda update: None,
            go_on=lambda: True,
        )
    errors = model_errors(learner.simulator, world)
    # Schemes differ in which steps they care for, so all steps together must be well under the blend.
    assert errors.mean() < 0.85 * world.blend.mean(), (errors, world.blend)
    assert errors[0] < world.blend[0], (errors, world.blend)


def test_the_blend_is_no_straw_man(world: World) -> None:
    frames = world.data.palette[world.frames] / 255.0  # type: ignore[index]
    copy = ((frames[:, WARM_UP:] - frames[:, WARM_UP - 1 : WARM_UP]) ** 2).sum(axis=(2, 3, 4)).mean(axis=0) / 3
    assert (world.blend < copy).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_beats_the_blend(scheme: str, world: World) -> None:
    own_lengths = len({phase.prediction_length for phase in SCHEMES[scheme].phases}) > 1
    check_learning(world, replace(RUN, scheme=scheme, prediction_length=None if own_lengths else STEPS))


@pytest.mark.parametrize("variant", ["h-iz2816-2conv-a", "pi-h"])
def test_convolutional_and_prediction_independent_transitions_beat_the_blend(variant: str, world: World) -> None:
    check_learning(world, replace(RUN, variant=variant, scheme="pdt-0-100"))


def test_the_papers_optimiser_learns_too(world: World) -> None:
    # At a learning rate that shows it within seconds: the paper's 1e-5 is for half a million updates.
    run = replace(
        RUN, optimiser="rmsprop", clip=False, learning_rate=1e-3, final_learning_rate=None, rrelu="random", segments=2
    )
    check_learning(world, replace(run, scheme="pdt-33"))
