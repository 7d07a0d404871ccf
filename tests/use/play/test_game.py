"""A game is the simulator's own dream, beside the real thing on the same actions, and can be had again."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stages import WARM_UP, make_stage

from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.data.segment import SegmentId
from framedream.errors import UserError
from framedream.evaluation.store import stored_evaluation
from framedream.pictures.video import read_video
from framedream.use.play import film
from framedream.use.play.film import Film
from framedream.use.play.game import MOST_MOMENTS, Game
from framedream.use.play.stage import Stage

ACTIONS = [0, 2, 1, 1, 0, 2, 2, 0, 1, 0]


def test_the_dream_is_the_simulators_own(game: Game, stage: Stage) -> None:
    simulator, start = stage.dreamer.simulator, game._start
    frames = simulator.normalise(torch.from_numpy(start.frames))[None]
    with torch.inference_mode():
        state = simulator.warm_up(frames, torch.from_numpy(start.actions)[None])
        expected, _ = simulator.unroll(state, torch.tensor([ACTIONS]))
    for action, frame in zip(ACTIONS, simulator.picture(expected[0]), strict=True):
        picture = ((frame + simulator.background) * 255).round().clamp(0, 255).byte().permute(1, 2, 0)
        # One frame at a time may round differently from all at once.
        assert np.abs(game.step(action).dream.astype(int) - picture.numpy()).max() <= 1


def test_reality_beside_it_is_what_was_recorded(game: Game, stage: Stage, data: DataSet) -> None:
    origin = game.session()["origin"]
    episode, first = origin["episode"], origin["start"]
    split = data.split(origin["split"])
    length = min(40, int(split.episodes.length[episode]) - first)
    with SegmentReader(split) as reader:
        recorded = reader.read(SegmentId(episode, first, length))
    assert data.palette is not None
    np.testing.assert_array_equal(game.seen().real, data.palette[recorded.frames[WARM_UP - 1]])
    assert game.seen().error is None and game.seen().step == 0
    for place in range(WARM_UP, length):
        seen = game.step(int(recorded.actions[place - 1]))
        np.testing.assert_array_equal(seen.real, data.palette[recorded.frames[place]])
    assert seen.step == length - WARM_UP


def test_the_meter_shows_the_papers_error_beside_the_evaluations(game: Game, run: Path) -> None:
    evaluation = stored_evaluation(run / "step-4")
    assert evaluation is not None
    usual = evaluation.measurements[0].curve("model").error.mean
    for step, action in enumerate((ACTIONS * 3)[:25], start=1):
        seen = game.step(action)
        assert seen.real is not None and seen.error is not None and seen.usual == usual[min(step, 20) - 1]
        # The meter sees the prediction before it is clamped and rounded; this hardly differs where nothing is clamped.
        rounded = float(((seen.real / 255 - seen.dream / 255) ** 2).sum() / 3)
        assert seen.error == pytest.approx(rounded, rel=0.2)


def test_a_moment_brings_back_the_same_frames(game: Game) -> None:
    for action in ACTIONS[:4]:
        game.step(action)
    number = game.save()
    before = game.seen()
    first = [game.step(action) for action in ACTIONS[4:]]
    other = [game.step(2 - action) for action in ACTIONS]
    again = game.go_back(number)
    second = [game.step(action) for action in ACTIONS[4:]]
    assert (again.step, again.real is not None) == (4, True)
    for one, two in zip([before, *first], [again, *second], strict=True):
        np.testing.assert_array_equal(one.dream, two.dream)
        np.testing.assert_array_equal(one.real, two.real)
        assert (one.step, one.error, one.strangeness) == (two.step, two.error, two.strangeness)
    assert any((one.real != two.real).any() for one, two in zip(first, other, strict=False) if one.real is not None)
    with pytest.raises(UserError, match="no saved moment 99"):
        game.go_back(99)


def test_only_so_many_moments_are_kept(game: Game) -> None:
    numbers = [game.save() for _ in range(MOST_MOMENTS + 3)]
    with pytest.raises(UserError):
        game.go_back(numbers[2])
    game.go_back(numbers[3])
    game.restart(5)
    with pytest.raises(UserError):  # another dream has moments of its own
        game.go_back(numbers[3])


def test_a_session_is_seen_again_to_the_last_bit(game: Game, stage: Stage) -> None:
    frames = [game.step(action).dream for action in ACTIONS]
    session = game.session()
    another = Game(stage, seed=77)
    actions = another.begin_again(session)
    again = [another.step(action).dream for action in actions]
    another.close()
    np.testing.assert_array_equal(frames, again)
    assert another.digest == session["frames_sha256"]
    assert game.restart(1).step == 0 and game.digest != session["frames_sha256"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"checkpoint": "0" * 64}, "another simulator"),
        ({"format": 2}, "not a session"),
        ({"seed": -1}, "seed is damaged"),
        ({"seed": "1"}, "seed is damaged"),
        ({"actions": [0, 9]}, "actions are damaged"),
        ({"actions": "0, 1"}, "actions are damaged"),
        ({"origin": {}}, "other data"),
    ],
)
def test_damaged_and_foreign_sessions_are_refused(change: dict[str, Any], words: str, game: Game) -> None:
    session = game.session() | change
    with pytest.raises(UserError, match=words):
        game.begin_again(session)
    with pytest.raises(UserError, match="not a session"):
        game.begin_again([session])


def test_without_data_dreams_begin_in_the_real_environment(run: Path) -> None:
    stage = make_stage(run, None)
    one, two = Game(stage, seed=3), Game(stage, seed=3)
    np.testing.assert_array_equal(one.seen().dream, two.seen().dream)
    np.testing.assert_array_equal(one.seen().real, one.seen().dream)  # x_τ is both
    assert one.step(1).strangeness is None and stage.familiarity is None
    assert one._start.origin != Game(stage, seed=4)._start.origin
    stage.starts.close()


def test_without_the_real_environment_dreams_go_on(run: Path, data: DataSet) -> None:
    stage = make_stage(run, data, real=False)
    game = Game(stage, seed=1)
    seen = game.step(0)
    assert (seen.real, seen.error) == (None, None)
    with pytest.raises(UserError, match="needs the real environment"):
        game.let_play("random")
    with pytest.raises(UserError, match="nothing to begin from"):
        make_stage(run, None, real=False)


def test_only_harmless_policies_can_be_asked_for(game: Game, stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("0 1 2")
    assert stage.policies == ("random", "dithered:0.7")
    for name in (f"file:{tmp_path / 'secret.txt'}", "os:system", "epsilon:0.1:random", "scripted"):
        with pytest.raises(UserError, match="one of these"):
            game.let_play(name)
    game.let_play("random")
    played = [game.policy_action() for _ in range(30)]
    assert {0, 1, 2} == set(played)
    game.let_play(None)
    assert game.policy_action() is None


def test_the_score_card_counts_what_happened(game: Game) -> None:
    for action in ACTIONS[:6]:
        game.step(action)
    game.mark("the ball is gone")
    for action in ACTIONS[:2]:
        game.step(action)
    game.score.latencies.extend([10, 20, 30, 40])
    card = game.score.as_json()
    assert (card["steps"], card["longest_without_failure"], card["first_failure"]) == (8, 6, 6)
    assert card["failures"] == [{"step": 6, "words": "the ball is gone"}]
    assert card["latency_milliseconds"]["median"] == 25


def test_a_film_holds_dream_and_reality_and_its_episode_the_dream(game: Game) -> None:
    seen = game.seen()
    recording = Film(seen.dream, seen.real, rate=15)
    dreams = [seen.dream]
    for action in ACTIONS:
        seen = game.step(action)
        recording.add(action, seen.dream, seen.real)
        dreams.append(seen.dream)
    with np.load(io.BytesIO(recording.episode())) as episode:
        np.testing.assert_array_equal(episode["frames"], dreams)
        assert episode["actions"].tolist() == ACTIONS
    assert recording.mp4()[4:8] == b"ftyp"


def test_a_film_does_not_fill_the_memory(game: Game, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = game.seen()
    monkeypatch.setattr(film, "MOST_BYTES", 3 * seen.dream.size)
    recording = Film(seen.dream, None, rate=15)
    for _ in range(10):
        recording.add(0, seen.dream, None)
    assert len(recording) == 3 and recording.is_full
    (tmp_path / "film.mp4").write_bytes(recording.mp4())
    assert len(list(read_video(tmp_path / "film.mp4"))) == 3
