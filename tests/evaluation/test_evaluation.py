"""Whole evaluations: of simulators whose errors are known beforehand, of the environment itself, through files."""

from __future__ import annotations

import csv
import errno
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from worlds import (
    FakeSimulator,
    as_simulator,
    count_on,
    count_on_regardless,
    counting_data_set,
    noise_episodes,
    rgb_data_set,
    write_run,
)

from framedream.cli.evaluate import main
from framedream.data.dataset import DataSet, open_data_set
from framedream.errors import UserError
from framedream.evaluation import sequences as sequences_module
from framedream.evaluation.environment_check import check_environment
from framedream.evaluation.evaluate import EvaluationPlan
from framedream.evaluation.measure import MODEL, OVER_BLEND, OVER_OWN_ACTIONS, SHUFFLED, Measurement, measure
from framedream.evaluation.periodic import PeriodicEvaluation
from framedream.evaluation.reference import make_reference
from framedream.evaluation.results import read_results, write_results
from framedream.evaluation.sequences import balanced, choose_horizon, choose_sequences
from framedream.evaluation.verdict import about_actions, against_the_blend, steps_below

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return counting_data_set(tmp_path_factory.mktemp("counting") / "data")


def evaluated(data_set: DataSet, simulator: FakeSimulator, sequences: int = 40) -> Measurement:
    horizon, notes = choose_horizon([data_set.split("test"), data_set.split("train")], 4, 12)
    reference = make_reference(data_set.split("train"), data_set.palette, 4, horizon, CPU)
    chosen = choose_sequences(data_set.split("test"), sequences, 4, horizon, notes)
    return measure(as_simulator(simulator), data_set, chosen, reference)


def test_a_perfect_simulator_makes_no_error_and_needs_its_own_actions(counting: DataSet) -> None:
    measurement = evaluated(counting, FakeSimulator(count_on, counting.palette))
    # Any frame, action or step off by one would show: frames say where they come from.
    assert set(measurement.curve(MODEL).error.mean) == {0.0}
    assert set(measurement.curve(MODEL).moving.mean) == {0.0}
    assert set(measurement.curve(MODEL).psnr) == {None}
    assert measurement.curve(MODEL).ssim["1"] == pytest.approx(1)
    shuffled = measurement.curve(SHUFFLED)
    assert min(error for error in shuffled.error.mean if error is not None) > 0
    difference = measurement.difference(OVER_OWN_ACTIONS)
    assert difference is not None
    assert min(low for low in difference.moving.low if low is not None) > 0
    assert against_the_blend(measurement).startswith("beats the blend at every step to 12")
    assert "actions make its moving-pixel error larger" in (about_actions(measurement) or "")


def test_a_simulator_that_ignores_actions_shows_no_difference(counting: DataSet) -> None:
    measurement = evaluated(counting, FakeSimulator(count_on_regardless, counting.palette))
    difference = measurement.difference(OVER_OWN_ACTIONS)
    assert difference is not None
    assert set(difference.error.mean) == {0.0}
    assert "no clear difference" in (about_actions(measurement) or "")


def test_a_simulator_that_stands_still_is_the_last_frame(counting: DataSet) -> None:
    measurement = evaluated(counting, FakeSimulator(lambda frame, action: frame, counting.palette))
    assert measurement.curve(MODEL).error == measurement.curve("last frame").error
    difference = measurement.difference(OVER_BLEND)
    assert difference is not None
    assert steps_below(difference.moving) == 0
    assert against_the_blend(measurement).startswith("does not beat the blend")


def test_memory_is_bounded(counting: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = sequences_module.SegmentReader.read_batch

    def counted(self: object, ids: object) -> object:
        batch = original(self, ids)  # type: ignore[arg-type]
        read.append(len(batch))
        return batch

    monkeypatch.setattr(sequences_module.SegmentReader, "read_batch", counted)
    simulator = FakeSimulator(count_on, counting.palette)
    measurement = evaluated(counting, simulator, sequences=70)
    assert measurement.sequences > sequences_module.LARGEST_BATCH
    assert max(read) == 64  # single frames, for the training images
    assert simulator.largest_batch <= sequences_module.LARGEST_BATCH
    one_sequence = 16 * 12 * 16
    monkeypatch.setattr(sequences_module, "LARGEST_BATCH_BYTES", 5 * one_sequence)
    simulator.largest_batch = 0
    assert evaluated(counting, simulator, sequences=70).curve(MODEL) == measurement.curve(MODEL)
    assert simulator.largest_batch == 5


@pytest.mark.parametrize(("count", "at_most"), [(1, 4), (2, 4), (5, 4), (33, 32), (65, 32), (1000, 32)])
def test_batches_cover_everything_and_leave_no_sequence_alone(count: int, at_most: int) -> None:
    places = balanced(count, at_most)
    assert [number for place in places for number in range(count)[place]] == list(range(count))
    sizes = [place.stop - place.start for place in places]
    assert max(sizes) <= at_most
    assert count == 1 or min(sizes) >= 2


def test_sequences_are_the_same_every_time_and_neighbours_are_of_different_episodes(counting: DataSet) -> None:
    split = counting.split("test")
    first, second = (choose_sequences(split, 24, 4, 12) for _ in range(2))
    assert first.ids == second.ids
    same = sum(a == b for a, b in zip(first.episodes, np.roll(first.episodes, 1), strict=True))
    assert same < 12


def test_a_horizon_that_does_not_fit_is_shortened_and_said(counting: DataSet) -> None:
    lengths = sorted(counting.split("test").episodes.length.tolist(), reverse=True)
    horizon, (note,) = choose_horizon([counting.split("test")], 10, 200)
    assert horizon == lengths[1] - 10  # a quarter of six episodes, and at least two
    assert f"{horizon} instead of 200 steps" in note
    chosen = choose_sequences(counting.split("test"), 10_000, 10, horizon)
    assert len(chosen) == sum(max(0, length - 10 - horizon + 1) for length in lengths)
    assert any("all are used" in note for note in chosen.notes)
    with pytest.raises(UserError, match="record longer episodes"):
        choose_horizon([counting.split("test")], 30, 5)


def test_the_environment_replayed_makes_no_error(counting: DataSet) -> None:
    chosen = choose_sequences(counting.split("test"), 20, 4, 10)
    check = check_environment(counting, chosen)
    assert check.episodes == 6
    assert check.frames >= 6 * 14
    assert check.largest_error == 0
    assert check.where == ""
    assert "no error at all" in str(check)


def test_an_environment_that_differs_is_found(counting: DataSet) -> None:
    split = counting.split("test")
    wrong = replace(split.episodes, seed=split.episodes.seed + np.uint64(1))
    chosen = replace(choose_sequences(split, 20, 4, 10), split=replace(split, episodes=wrong))
    check = check_environment(counting, chosen)
    assert check.largest_error > 0
    assert check.where.startswith("test episode ") and check.where.endswith("frame 0")


def test_atari_replayed_makes_no_error(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    from framedream.data.recorder import Amount, record

    record("atari/pong", tmp_path / "pong", Amount(frames=60), Amount(frames=60), workers=1)
    data_set = open_data_set(tmp_path / "pong")
    check = check_environment(data_set, choose_sequences(data_set.split("test"), 2, 10, 100))
    assert check.frames >= 110
    assert check.largest_error == 0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DataSet]:
    """A run of two checkpoints of untrained simulators, on a data set of slowly changing noise."""
    folder = tmp_path_factory.mktemp("run")
    data_set = rgb_data_set(folder / "data", noise_episodes(4, 30, (16, 16), 5), noise_episodes(3, 30, (16, 16), 6))
    return write_run(folder / "run", data_set), data_set


def test_results_survive_their_file(run: tuple[Path, DataSet], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = run
    main([str(folder), "--horizon", "12", "--sequences", "9", "--split", "both", "--json"])
    printed = json.loads(capsys.readouterr().out)
    written = folder / "evaluation" / "step-40"
    evaluation = read_results(written)
    assert evaluation.as_json() == printed
    assert [measurement.data for measurement in evaluation.measurements] == ["test", "train"]
    assert evaluation.checkpoint["updates"] == 40
    assert evaluation.checkpoint["trained_on_this_data"] is True
    assert {path.name for path in written.iterdir()} == {
        "results.json", "steps.csv", "film.mp4", "salient-1.png", "salient-2.png", "salient-3.png",
    }  # fmt: skip
    with (written / "steps.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 5 * 12
    row = next(row for row in rows if (row["data"], row["curve"], row["step"]) == ("test", "model", "7"))
    assert float(row["error"]) == evaluation.measurements[0].curve(MODEL).error.mean[6]
    write_results(evaluation, written)
    assert read_results(written) == evaluation


def test_the_same_again_is_read_and_something_else_is_not_overwritten(
    run: tuple[Path, DataSet], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = run
    asked = [str(folder / "step-20"), "--horizon", "3", "--sequences", "4"]
    main(asked)
    first = (folder / "evaluation" / "step-20" / "results.json").read_bytes()
    main(asked)
    assert (folder / "evaluation" / "step-20" / "results.json").read_bytes() == first
    with pytest.raises(UserError, match="--overwrite"):
        main([*asked[:-1], "5"])
    main([*asked[:-1], "5", "--overwrite"])
    assert read_results(folder / "evaluation" / "step-20").measurements[0].sequences == 5
    (folder / "evaluation" / "step-20" / "results.json").write_text('{"schema": ')
    with pytest.raises(UserError, match="again with --overwrite"):
        main([*asked[:-1], "5"])
    main([*asked[:-1], "5", "--overwrite"])
    assert read_results(folder / "evaluation" / "step-20").measurements[0].sequences == 5
    assert "beat" in capsys.readouterr().out


def test_all_checkpoints(run: tuple[Path, DataSet], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = run
    main([str(folder), "--horizon", "2", "--sequences", "4", "--all-checkpoints", "--overwrite", "--json"])
    evaluations = json.loads(capsys.readouterr().out)
    assert [evaluation["checkpoint"]["updates"] for evaluation in evaluations] == [20, 40]


def test_a_replay_is_noted_beside_what_was_measured(tmp_path: Path) -> None:
    data_set = counting_data_set(tmp_path / "data", size=(16, 16))
    run = write_run(tmp_path / "run", data_set)
    asked = [str(run), "--horizon", "4", "--sequences", "5"]
    main(asked)
    before = read_results(run / "evaluation" / "step-40")
    main([*asked, "--check-environment"])
    after = read_results(run / "evaluation" / "step-40")
    assert before.environment_check is None
    assert after.environment_check is not None and after.environment_check["largest_error"] == 0
    assert replace(after, environment_check=None) == before


def test_data_of_another_policy_is_measured_beside(run: tuple[Path, DataSet], tmp_path: Path) -> None:
    folder, _ = run
    rgb_data_set(tmp_path / "other", noise_episodes(2, 30, (16, 16), 7), noise_episodes(2, 14, (16, 16), 8, speed=0.6))
    other = ["--other-data", str(tmp_path / "other")]
    main([str(folder), "--horizon", "6", "--sequences", "5", "--overwrite", *other])
    evaluation = read_results(folder / "evaluation" / "step-40")
    measurement = evaluation.measurement("other")
    assert measurement is not None
    assert measurement.horizon == 4
    own, others = (evaluation.measurements[place].curve("last frame").error.at(4) for place in (0, 1))
    assert own is not None and others is not None and others > own


def test_results_that_cannot_be_written_are_noticed_before_measuring(
    run: tuple[Path, DataSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = run
    copy = tmp_path / "run"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("evaluation"))
    (copy / "evaluation").write_text("in the way, as a disk that cannot be written would be")
    monkeypatch.setattr(EvaluationPlan, "evaluate", lambda *_: pytest.fail("measured for nothing"))
    with pytest.raises(UserError, match="results cannot be written"):
        main([str(copy), "--horizon", "5", "--sequences", "4"])


def test_what_was_measured_is_kept_when_the_film_fails(
    run: tuple[Path, DataSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = run
    copy = tmp_path / "run"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("evaluation"))

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(EvaluationPlan, "film", fail)
    with pytest.raises(UserError, match=r"cannot be written .*No space left"):
        main([str(copy), "--horizon", "5", "--sequences", "4"])
    (results,) = (copy / "evaluation").glob("*/results.json")
    assert read_results(results.parent).showcase is None


def test_imported_recordings_have_nothing_to_be_replayed_in(tmp_path: Path) -> None:
    frames, actions = np.zeros((30, 16, 16, 3), np.uint8), np.arange(29) % 2
    data_set = rgb_data_set(tmp_path / "data", [(frames, actions)], [(frames, actions)], environment="imported")
    with pytest.raises(UserError, match="was imported"):
        check_environment(data_set, choose_sequences(data_set.split("test"), 2, 4, 5))


def test_data_that_do_not_fit_are_refused_naming_both(run: tuple[Path, DataSet], tmp_path: Path) -> None:
    folder, _ = run
    rgb_data_set(tmp_path / "wider", noise_episodes(2, 9, (16, 18), 7), noise_episodes(2, 20, (16, 18), 8))
    rgb_data_set(tmp_path / "more", noise_episodes(2, 9, (16, 16), 7), noise_episodes(2, 20, (16, 16), 8), actions=4)
    counting_data_set(tmp_path / "indexed", size=(16, 16))
    for other, what in (("wider", "16x18"), ("more", "4 "), ("indexed", "palette")):
        with pytest.raises(UserError, match=what) as error:
            main([str(folder), "--data", str(tmp_path / other), "--horizon", "2", "--warm-up", "3", "--overwrite"])
        assert str(folder / "step-40") in str(error.value) and str(tmp_path / other) in str(error.value)


def test_a_look_during_training_gives_the_same_numbers(counting: DataSet) -> None:
    simulator = FakeSimulator(count_on_regardless, counting.palette)
    simulator.train()
    asked: list[int] = []
    look = PeriodicEvaluation(counting, sequences=40, horizon=12, warm_up=4, splits=("test",))
    numbers = look(as_simulator(simulator), between=lambda: asked.append(1))
    assert simulator.training
    assert len(asked) >= 12
    measurement = evaluated(counting, simulator)
    assert look.steps == (1, 5, 10)
    assert numbers["test/error_5"] == measurement.curve(MODEL).error.at(5)
    assert numbers["test/moving_blend_10"] == measurement.curve("blend").moving.at(10)
