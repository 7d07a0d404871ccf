"""Errors, masks, baselines and intervals against float64 NumPy, written here from their definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from worlds import Bytes, FakeSimulator, as_simulator, counting_data_set, noise_episodes, rgb_data_set

from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.data.segment import SegmentId
from framedream.evaluation.bootstrap import EpisodeBootstrap
from framedream.evaluation.measure import MODEL, SHUFFLED, Measurement, measure
from framedream.evaluation.moving import FROM_MEDIAN, SINCE_LAST, choose_rule, moving_pixels
from framedream.evaluation.reference import Reference, make_reference, training_images
from framedream.evaluation.sequences import Sequences, choose_sequences

WARM_UP, HORIZON = 4, 6


def half_faded(frame: Bytes, action: int) -> Bytes:
    """A prediction that is wrong everywhere, and differently for every action."""
    return (frame // 2 + 10 * action).astype(np.uint8)


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    folder = tmp_path_factory.mktemp("noise") / "data"
    return rgb_data_set(folder, noise_episodes(5, 20, (12, 16), 1), noise_episodes(4, 20, (12, 16), 2))


@pytest.fixture(scope="module")
def measured(noise: DataSet) -> tuple[DataSet, Sequences, Reference, Measurement]:
    reference = make_reference(noise.split("train"), noise.palette, WARM_UP, HORIZON, torch.device("cpu"))
    sequences = choose_sequences(noise.split("test"), 13, WARM_UP, HORIZON)
    simulator = FakeSimulator(half_faded)
    return noise, sequences, reference, measure(as_simulator(simulator), noise, sequences, reference)


def raw(data_set: DataSet, split: str, segment: SegmentId) -> tuple[Bytes, np.ndarray]:
    """A segment's frames and actions, read by plain h5py."""
    import h5py
    import hdf5plugin  # noqa: F401

    table = data_set.split(split).episodes
    first = int(table.start[segment.episode]) + segment.start
    with h5py.File(data_set.split(split).paths[int(table.part[segment.episode])]) as file:
        rows = slice(first, first + segment.length)
        return file["frames"][rows], file["action"][rows].astype(np.int64)


def test_model_error_is_the_papers_formula(measured: tuple[DataSet, Sequences, Reference, Measurement]) -> None:
    data_set, sequences, reference, measurement = measured
    median = reference.median.numpy()
    expected = np.zeros((2, HORIZON))
    for segment in sequences.ids:
        frames, actions = raw(data_set, "test", segment)
        predicted = frames[WARM_UP - 1]
        for step in range(HORIZON):
            predicted = half_faded(predicted, int(actions[WARM_UP - 1 + step]))
            real = frames[WARM_UP + step]
            squared = ((predicted / 255.0 - real / 255.0) ** 2).sum(-1)
            moving = (real != median).any(-1) | (frames[WARM_UP - 1] != median).any(-1)
            if reference.rule == SINCE_LAST:
                moving = (real != frames[WARM_UP - 1]).any(-1)
            expected[:, step] += [squared.sum(), squared[moving].sum()]
    expected /= 3 * len(sequences)
    curve = measurement.curve(MODEL)
    np.testing.assert_allclose(curve.error.mean, expected[0], rtol=1e-5)
    np.testing.assert_allclose(curve.moving.mean, expected[1], rtol=1e-5)
    pixel_error = expected[0] / (12 * 16)
    np.testing.assert_allclose(curve.pixel_error, pixel_error, rtol=1e-5)
    np.testing.assert_allclose(curve.psnr, 10 * np.log10(1 / pixel_error), rtol=1e-5)


def test_shuffled_actions_are_those_of_another_sequence(
    measured: tuple[DataSet, Sequences, Reference, Measurement],
) -> None:
    data_set, sequences, _, measurement = measured
    # 13 sequences are one batch, in which each gets its neighbour's actions.
    actions = [raw(data_set, "test", segment)[1] for segment in sequences.ids]
    expected = np.zeros(HORIZON)
    for place, segment in enumerate(sequences.ids):
        frames, _ = raw(data_set, "test", segment)
        predicted = frames[WARM_UP - 1]
        for step in range(HORIZON):
            predicted = half_faded(predicted, int(actions[place - 1][WARM_UP - 1 + step]))
            expected[step] += ((predicted / 255.0 - frames[WARM_UP + step] / 255.0) ** 2).sum()
    np.testing.assert_allclose(measurement.curve(SHUFFLED).error.mean, expected / (3 * len(sequences)), rtol=1e-5)


def test_ssim_is_that_of_the_definition(measured: tuple[DataSet, Sequences, Reference, Measurement]) -> None:
    data_set, sequences, _, measurement = measured
    offsets = np.arange(-5, 6)
    window = np.exp(-(offsets**2) / (2 * 1.5**2))
    window = np.outer(window, window) / window.sum() ** 2

    def local(values: np.ndarray) -> np.ndarray:
        """The weighted mean around every pixel, the picture mirrored beyond its edges, per channel."""
        height, width = values.shape[:2]
        wide = np.pad(values, ((5, 5), (5, 5), (0, 0)), mode="reflect")
        return np.array(
            [
                [(wide[y : y + 11, x : x + 11] * window[..., None]).sum((0, 1)) for x in range(width)]
                for y in range(height)
            ]
        )

    expected = []
    for segment in sequences.ids:
        frames, _ = raw(data_set, "test", segment)
        a, b = frames[WARM_UP - 1] / 255.0, frames[WARM_UP] / 255.0
        mean_a, mean_b = local(a), local(b)
        variance_a, variance_b = local(a * a) - mean_a**2, local(b * b) - mean_b**2
        covariance = local(a * b) - mean_a * mean_b
        similarity = (2 * mean_a * mean_b + 0.01**2) * (2 * covariance + 0.03**2)
        similarity /= (mean_a**2 + mean_b**2 + 0.01**2) * (variance_a + variance_b + 0.03**2)
        expected.append(similarity.mean())
    assert measurement.curve("last frame").ssim["1"] == pytest.approx(np.mean(expected), abs=1e-4)


def test_training_images_and_baselines(measured: tuple[DataSet, Sequences, Reference, Measurement]) -> None:
    data_set, sequences, reference, measurement = measured
    training = np.concatenate([raw(data_set, "train", SegmentId(episode, 0, 20))[0] for episode in range(5)])
    mean = training.mean(0) / 255
    np.testing.assert_allclose(reference.mean.numpy(), mean.transpose(2, 0, 1), atol=1e-6)
    np.testing.assert_array_equal(reference.median.numpy(), np.sort(training, axis=0)[(len(training) - 1) // 2])
    errors = {"last frame": np.zeros(HORIZON), "mean frame": np.zeros(HORIZON), "blend": np.zeros(HORIZON)}
    for segment in sequences.ids:
        frames, _ = raw(data_set, "test", segment)
        last = frames[WARM_UP - 1] / 255.0
        for step in range(HORIZON):
            real, alpha = frames[WARM_UP + step] / 255.0, reference.blend.whole[step]
            predictions = {"last frame": last, "mean frame": mean, "blend": alpha * last + (1 - alpha) * mean}
            for name, predicted in predictions.items():
                errors[name][step] += ((predicted - real) ** 2).sum() / (3 * len(sequences))
    for name, expected in errors.items():
        np.testing.assert_allclose(measurement.curve(name).error.mean, expected, rtol=1e-5)


def test_images_of_palette_indices_are_images_of_their_colours(tmp_path: Path) -> None:
    data_set = counting_data_set(tmp_path / "data", episodes=3)
    split = data_set.split("train")
    palette = np.random.default_rng(0).integers(256, size=(256, 3), dtype=np.uint8)
    with SegmentReader(split) as reader:
        mean, median = training_images(split, reader, palette)
    lengths = split.episodes.length.tolist()
    frames = [raw(data_set, "train", SegmentId(number, 0, length))[0] for number, length in enumerate(lengths)]
    colours = palette[np.concatenate(frames)]
    np.testing.assert_allclose(mean.transpose(1, 2, 0), colours.mean(0) / 255, atol=1e-6)
    np.testing.assert_array_equal(median, np.sort(colours, axis=0)[(len(colours) - 1) // 2])


def test_no_other_blend_is_better_on_training_data(
    measured: tuple[DataSet, Sequences, Reference, Measurement],
) -> None:
    data_set, _, reference, _ = measured
    training = choose_sequences(data_set.split("train"), 128, WARM_UP, HORIZON)
    mean, median = reference.mean.numpy().transpose(1, 2, 0).astype(np.float64), reference.median.numpy()
    candidates = np.arange(-0.2, 1.2, 0.001)
    for step in (0, HORIZON - 1):
        whole, on_moving = np.zeros(len(candidates)), np.zeros(len(candidates))
        for segment in training.ids:
            frames, _ = raw(data_set, "train", segment)
            last, real = frames[WARM_UP - 1] / 255.0, frames[WARM_UP + step] / 255.0
            pictures = [torch.from_numpy(picture) for picture in (frames[WARM_UP + step], frames[WARM_UP - 1], median)]
            moving = moving_pixels(reference.rule, *pictures)
            for place, alpha in enumerate(candidates):
                squared = ((alpha * last + (1 - alpha) * mean - real) ** 2).sum(-1)
                whole[place] += squared.sum()
                on_moving[place] += squared[moving.numpy()].sum()
        assert reference.blend.whole[step] == pytest.approx(candidates[whole.argmin()], abs=0.001)
        assert reference.blend.moving[step] == pytest.approx(candidates[on_moving.argmin()], abs=0.001)


def test_moving_pixels_of_drawn_frames() -> None:
    median = torch.zeros(4, 5, 3, dtype=torch.uint8)
    last, now = median.clone(), median.clone()
    last[0, 0, 1] = 9  # something was here
    now[0, 1, 2] = 1  # and is here now
    last[3, 3], now[3, 3] = 7, 7  # this stands still, but not in most frames
    where = [tuple(place) for place in moving_pixels(FROM_MEDIAN, now[None], last[None], median)[0].nonzero().tolist()]
    assert where == [(0, 0), (0, 1), (3, 3)]
    where = [tuple(place) for place in moving_pixels(SINCE_LAST, now[None], last[None], median)[0].nonzero().tolist()]
    assert where == [(0, 0), (0, 1)]


@pytest.mark.parametrize(("changed", "rule"), [(10, FROM_MEDIAN), (11, SINCE_LAST)])
def test_where_more_than_half_differs_from_the_median_only_changes_count(changed: int, rule: str) -> None:
    median = torch.zeros(4, 5, 3, dtype=torch.uint8)
    now = median.clone()
    now.view(20, 3)[:changed, 0] = 200
    assert choose_rule([(now[None], median[None])], median) == rule


def test_intervals_of_overlapping_sequences_are_wider_by_episode_and_cover_the_truth() -> None:
    generator = np.random.default_rng(3)
    truth, covered, wider = 5.0, {"episode": 0, "sequence": 0}, 0
    for trial in range(200):
        # 30 episodes of 8 sequences that share most of their luck.
        luck = generator.normal(size=(30, 1, 1)) + 0.3 * generator.normal(size=(30, 8, 1))
        values = (truth + luck).reshape(240, 1)
        by_episode = EpisodeBootstrap(np.repeat(np.arange(30), 8), resamples=300, seed=trial).mean(values)
        by_sequence = EpisodeBootstrap(np.arange(240), resamples=300, seed=trial).mean(values)
        assert by_episode.mean[0] == pytest.approx(values.mean())
        for name, interval in (("episode", by_episode), ("sequence", by_sequence)):
            covered[name] += int(interval.low[0] <= truth <= interval.high[0])
        wider += int(by_episode.high[0] - by_episode.low[0] > 1.5 * (by_sequence.high[0] - by_sequence.low[0]))
    assert wider == 200
    # 95% of 200 with a standard deviation of 3; percentile intervals of 30 episodes are a little too narrow.
    assert covered["episode"] >= 178
    assert covered["sequence"] < 130


def test_a_share_counts_only_what_counts() -> None:
    bootstrap = EpisodeBootstrap([0, 0, 1, 2])
    found = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    shown = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    share = bootstrap.ratio(found, shown)
    assert share.mean[0] == pytest.approx(2 / 3)
    assert 0 <= share.low[0] <= 2 / 3 <= share.high[0] <= 1
    assert np.isnan(share.mean[1]) and np.isnan(share.low[1])


def test_one_episode_gives_no_interval() -> None:
    interval = EpisodeBootstrap([4, 4]).mean(np.array([[1.0], [3.0]]))
    assert interval.mean[0] == 2
    assert np.isnan(interval.low[0]) and np.isnan(interval.high[0])


def test_noise_changes_everywhere_so_only_changes_count(
    measured: tuple[DataSet, Sequences, Reference, Measurement],
) -> None:
    assert measured[2].rule == SINCE_LAST
    assert measured[3].moving_rule == SINCE_LAST


def test_episodes_of_unequal_length_do_not_widen_an_interval_by_themselves() -> None:
    # Every resample of a constant has the same mean, however many sequences its episodes happen to hold.
    interval = EpisodeBootstrap([0, 1, 1, 1, 1, 1, 2, 2]).mean(np.full((8, 2), 3.0))
    np.testing.assert_allclose([interval.low, interval.mean, interval.high], 3.0)
