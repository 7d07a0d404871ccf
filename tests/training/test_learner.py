"""What surrounds the loop: the loss, the background, half precision, learning rates, interruption, records."""

from __future__ import annotations

import json
import math
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from recording import SIZE, counting_data_set

from framedream.checkpoint.run_folder import METRICS_FILE, read_metrics
from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.data.segment import SegmentId
from framedream.errors import UserError
from framedream.experiments.presets import PRESETS
from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics
from framedream.training.batches import DeviceBatch
from framedream.training.interruption import Stop
from framedream.training.learner import Learner, Position
from framedream.training.loop import Update, train_on_batch
from framedream.training.records import Diverged, Records
from framedream.training.scheme import Phase
from framedream.training.session import in_words, score
from framedream.training.setup import learning_rate, new_learner
from framedream.training.specification import RunSpec
from framedream.training.statistics import measure_statistics

CPU = torch.device("cpu")
TINY = PRESETS["tiny"].run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return counting_data_set(tmp_path_factory.mktemp("counting") / "data", train=40)


def any_simulator() -> Simulator:
    spec = SimulatorSpec.named("base", codec_for(16, 16), 2)
    return Simulator(spec, FrameStatistics(torch.zeros(3, 1, 1), None))


def test_the_loss_is_the_papers_error() -> None:
    generator = np.random.default_rng(0)
    x, predicted = generator.normal(size=(2, 5, 7, 3, 4, 6))
    per_frame = [((x[b, t] - predicted[b, t]) ** 2).sum() / 3 for b in range(5) for t in range(7)]
    loss = any_simulator().error(torch.tensor(predicted, dtype=torch.float32), torch.tensor(x, dtype=torch.float32))
    assert loss.item() == pytest.approx(np.mean(per_frame), rel=1e-5)


def test_pixels_that_moved_count_as_often_as_told() -> None:
    # Whole bytes from the background: 0 is the background, anything else in any channel is not.
    generator = np.random.default_rng(0)
    x = generator.choice([0, 0, 0, 1, -3, 90], size=(2, 3, 3, 4, 6)) / 255
    predicted = generator.normal(size=x.shape)
    total = 0.0
    for b, t, row, column in np.ndindex(2, 3, 4, 6):
        weight = 5 if any(x[b, t, :, row, column]) else 1
        total += weight * ((x[b, t, :, row, column] - predicted[b, t, :, row, column]) ** 2).sum() / 3
    assert 0 < (x != 0).any(axis=2).mean() < 1
    loss = any_simulator().error(torch.tensor(predicted).float(), torch.tensor(x).float(), moving_weight=5)
    assert loss.item() == pytest.approx(total / 6, rel=1e-5)


def all_training_frames(data: DataSet) -> np.ndarray:
    split = data.split("train")
    with SegmentReader(split) as reader:
        frames = [reader.read(SegmentId(n, 0, int(length))).frames for n, length in enumerate(split.episodes.length)]
    return np.concatenate(frames)


def test_the_papers_background_is_the_channel_mean_of_the_first_2048_frames(data: DataSet) -> None:
    frames = all_training_frames(data)
    assert len(frames) > 2048 and data.palette is not None
    statistics = measure_statistics(data.split("train"), data.palette, "channel-mean")
    expected = (data.palette[frames[:2048]] / 255).mean(axis=(0, 1, 2))
    np.testing.assert_allclose(statistics.background.numpy().ravel(), expected, rtol=1e-5)


def test_images_are_measured_all_over_the_data(data: DataSet) -> None:
    frames = all_training_frames(data)
    assert data.palette is not None
    statistics = measure_statistics(data.split("train"), data.palette, "mean-image")
    expected = (data.palette[frames] / 255).mean(axis=0).transpose(2, 0, 1)
    assert statistics.background.shape == (3, SIZE, SIZE)
    # 2,048 of 2,800 frames: nearly the mean of all, in the seeds' pixels too, which the first episodes alone miss.
    np.testing.assert_allclose(statistics.background.numpy(), expected, atol=0.02)


def drawn_batch(length: int) -> DeviceBatch:
    generator = np.random.default_rng(0)
    nothing = torch.zeros(4, length)
    frames = torch.from_numpy(generator.integers(256, size=(4, length, SIZE, SIZE), dtype=np.uint8))
    return DeviceBatch(frames, torch.from_numpy(generator.integers(3, size=(4, length))), nothing, nothing.bool())


def gradients(data: DataSet, run: RunSpec, phase: Phase, half: bool) -> dict[str, torch.Tensor]:
    learner = new_learner(data, run, CPU)
    learner._half = half
    train_on_batch(learner, drawn_batch(phase.sequence_length), phase, 1, lambda update: 0.0, lambda update: None)
    return {
        name: parameter.grad.clone()
        for name, parameter in learner.simulator.named_parameters()
        if parameter.grad is not None
    }


@pytest.mark.parametrize("warm_up_grad", [None, 1, 3])
def test_half_precision_trains_the_same_parameters(warm_up_grad: int | None, data: DataSet) -> None:
    # On a GPU this is the modern recipe; what autocast does is the same here.
    run, phase = replace(TINY, clip=False), Phase(None, "op", warm_up=4, warm_up_grad=warm_up_grad)
    whole, half = (gradients(data, run, phase, half) for half in (False, True))
    assert set(whole) == set(half)
    for name, gradient in whole.items():
        scale = gradient.abs().max().item()
        assert scale > 0
        np.testing.assert_allclose(half[name].numpy(), gradient.numpy(), atol=0.1 * scale)


def test_half_the_loss_gives_half_the_gradient(data: DataSet) -> None:
    run, phase = replace(TINY, clip=False), Phase(None, "pp", warm_up=2)
    whole = gradients(data, run, phase, half=False)
    halved = gradients(data, replace(run, loss_scale=0.5), phase, half=False)
    for name, gradient in whole.items():
        np.testing.assert_allclose(halved[name].numpy(), gradient.numpy() / 2, rtol=1e-5, atol=1e-7)


def test_every_phase_has_its_own_learning_rate() -> None:
    run = RunSpec(
        scheme="pdt-0-100", updates=3_000, learning_rate=7e-4, early_learning_rate=1e-3, final_learning_rate=2e-5,
        learning_rate_warm_up=200,
    )  # fmt: skip
    at = learning_rate(run, run.phases(False))
    assert at(0) == pytest.approx(1e-3 / 200)
    assert at(200) == at(999) == pytest.approx(1e-3)
    assert at(1_000) == pytest.approx(7e-4 / 200)
    assert at(2_000) == pytest.approx((7e-4 + 2e-5) / 2)
    assert at(2_999) == pytest.approx(2e-5, rel=1e-2)


def test_the_papers_learning_rate_is_flat() -> None:
    run = PRESETS["paper-atari"].run
    at = learning_rate(run, run.phases(False))
    assert {at(update) for update in (0, 999, 1_000, 499_999)} == {1e-5}


def test_modern_training_of_prediction_independent_simulators_has_no_observation_dependent_start() -> None:
    (phase,) = PRESETS["modern"].run.phases(prediction_independent=True).phases
    assert (phase.feed, phase.warm_up, phase.warm_up_grad) == ("p" * 15, 10, 5)


def test_run_specifications_survive_json() -> None:
    for preset in PRESETS.values():
        assert RunSpec.from_json(json.loads(json.dumps(preset.run.to_json()))) == preset.run
    with pytest.raises(UserError, match="learning_rate"):
        RunSpec.from_json({"learning_rat": 1.0})


def test_interruption_waits_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop() as stop:
        assert not stop.requested
        stop.raise_if_signalled()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.requested and stop.signalled
        with pytest.raises(KeyboardInterrupt):
            stop.raise_if_signalled()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_time_budget_is_no_signal() -> None:
    with Stop(minutes=0) as stop:
        assert stop.requested and not stop.signalled


def update(number: int, loss: float, norm: float = 1.0) -> Update:
    return Update(number, torch.tensor(loss), torch.tensor(norm), 1e-3)


def test_the_first_loss_that_is_no_number_is_named(tmp_path: Path) -> None:
    with Records(tmp_path, 0) as records:
        for number, loss in enumerate([1.0, 2.0, math.inf, math.nan], start=1):
            records.add(update(number, loss))
        with pytest.raises(Diverged, match="loss is inf at update 3"):
            records.check()
        records.add(update(5, 1.0, norm=math.nan))
        with pytest.raises(Diverged, match="gradient's norm is nan at update 5"):
            records.check()


def test_metrics_are_strict_json_and_are_cut_on_resuming(tmp_path: Path) -> None:
    with Records(tmp_path, 0) as records:
        for number in (1, 2, 3):
            records.add(update(number, float(number)))
            position = Position(updates=number, frames=10 * number, frames_with_warm_up=20 * number, seconds=number)
            assert records.write_training(position)["frames_per_second"] == pytest.approx(20)
            records.write_evaluation(position, {"test/error_1": 0.5, "test/moving_1": math.nan})
    with (tmp_path / METRICS_FILE).open("a") as file:
        file.write('{"kind": "training", "upd')  # killed in the midst of a line
    with Records(tmp_path, 2):
        pass
    rows = read_metrics(tmp_path)
    assert [(row["kind"], row["updates"]) for row in rows] == [
        ("training", 1), ("evaluation", 1), ("training", 2), ("evaluation", 2),
    ]  # fmt: skip
    assert rows[1]["test/moving_1"] is None
    for line in (tmp_path / METRICS_FILE).read_text().splitlines():
        json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_scores_are_the_mean_test_error() -> None:
    found = {"test/error_1": 1.0, "test/error_10": 3.0, "test/error_blend_1": 99.0, "train/error_1": 0.5}
    assert score(found) == 2.0
    assert score({"train/error_1": 0.5}) is None
    assert score({"test/error_1": math.nan}) is None
    assert in_words(500, found | {"train/error_10": 2.5}).endswith("steps 1/10: test 1/3, train 0.5/2.5")


def test_the_optimisers_state_goes_with_the_learner(data: DataSet) -> None:
    for name in ("rmsprop", "adamw"):
        run = replace(TINY, optimiser=name, rrelu="random")  # type: ignore[arg-type]
        phase = Phase(None, "op", warm_up=2)
        batch = drawn_batch(phase.sequence_length)

        def step(learner: Learner, phase: Phase = phase, batch: DeviceBatch = batch) -> None:
            train_on_batch(learner, batch, phase, 1, lambda update: 1e-2, lambda update: None)

        learner = new_learner(data, run, CPU)
        step(learner)
        progress, tensors = learner.progress(), {key: value.clone() for key, value in learner.tensors().items()}
        weights = {key: value.clone() for key, value in learner.simulator.state_dict().items()}
        step(learner)

        other = new_learner(data, replace(run, seed=1), CPU)
        other.simulator.load_state_dict(weights)
        other.restore(progress, tensors)
        step(other)
        assert other.position == learner.position
        for key, value in learner.simulator.state_dict().items():
            assert torch.equal(other.simulator.state_dict()[key], value), key
