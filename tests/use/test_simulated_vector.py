"""Many dreams in one batch: what as many single environments show, step by step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from dreamed import counted_frames, random_actions
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from framedream.errors import UserError
from framedream.use.simulated_env import SimulatedEnv
from framedream.use.simulated_vector import SimulatedVectorEnv

COPIES = 5


@pytest.fixture(params=["run", "run_with_heads", "independent_run"])
def any_run(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.fixture(params=["run", "independent_run"])
def endless_run(request: pytest.FixtureRequest) -> Path:
    """A simulator that predicts no ends."""
    path: Path = request.getfixturevalue(request.param)
    return path


def many(run: Path, **options: Any) -> SimulatedVectorEnv:
    return SimulatedVectorEnv(run, COPIES, **options)


def assert_same(one: Any, other: Any) -> None:
    """Equal, numbers up to the rounding of heads in single precision."""
    assert type(one) is type(other) or np.isscalar(one)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, np.ndarray) and one.dtype.kind == "f":
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
    else:
        np.testing.assert_array_equal(one, other)


def test_copies_are_single_environments_frame_by_frame(any_run: Path) -> None:
    """Gymnasium's own vector environment, around single ones, is the reference: autoreset, infos and all."""

    def single() -> SimulatedEnv:
        return SimulatedEnv(any_run, time_limit=13)

    reference: Any = SyncVectorEnv([single] * COPIES, autoreset_mode=AutoresetMode.NEXT_STEP)
    copies = many(any_run, time_limit=13)
    assert copies.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    assert copies.observation_space == reference.observation_space
    assert copies.action_space == reference.action_space
    for theirs, ours in zip(reference.reset(seed=11), copies.reset(seed=11), strict=True):
        assert_same(ours, theirs)
    ended, restarted = 0, 0
    for step in range(45):
        actions = random_actions(COPIES, seed=step)
        expected, seen = reference.step(actions), copies.step(actions)
        for theirs, ours in zip(expected, seen, strict=True):
            assert_same(ours, theirs)
        ended += int((expected[2] | expected[3]).sum())
        restarted += int(expected[4].get("_origin", np.zeros(1)).sum())
    assert ended >= 2 * COPIES
    assert restarted >= 2 * COPIES
    copies.close()
    copies.close()


def test_some_copies_can_be_reset_alone(endless_run: Path) -> None:
    copies, undisturbed = many(endless_run, time_limit=0), many(endless_run, time_limit=0)
    for environment in (copies, undisturbed):
        environment.reset(seed=2)
        for step in range(3):
            environment.step(random_actions(COPIES, seed=step))
    mask = np.array([False, True, False, True, False])
    seen, infos = copies.reset(seed=[None, 70, None, 71, None], options={"reset_mask": mask})
    np.testing.assert_array_equal(infos["_origin"], mask)
    np.testing.assert_array_equal(seen[~mask], undisturbed.look()[~mask])
    single = SimulatedEnv(endless_run)
    for copy, seed in ((1, 70), (3, 71)):
        np.testing.assert_array_equal(single.reset(seed=seed)[0], seen[copy])
    actions = random_actions(COPIES, seed=9)
    after, *_, infos = copies.step(actions)
    np.testing.assert_array_equal(after[~mask], undisturbed.step(actions)[0][~mask])
    assert infos["steps"].tolist() == [4, 1, 4, 1, 4]


def test_copies_begin_where_they_are_told(run: Path) -> None:
    copies, single = many(run), SimulatedEnv(run)
    seen, infos = copies.reset(options={"episode": 1, "start": np.arange(COPIES)})
    assert infos["origin"]["start"].tolist() == list(range(COPIES))
    np.testing.assert_array_equal(seen[4], single.reset(options={"episode": 1, "start": 4})[0])
    same, _ = copies.reset(options={"episode": 0, "start": 2})
    assert all((frame == same[0]).all() for frame in same)


def test_a_dream_branches_into_many(endless_run: Path) -> None:
    """One moment for all copies, each goes on with other actions, and any of them goes back to a single one."""
    single, copies = SimulatedEnv(endless_run, time_limit=0), many(endless_run, time_limit=0)
    single.reset(seed=5)
    single.step(1)
    moment = single.get_state()
    copies.set_state(moment)
    actions = random_actions(COPIES, 6)
    for step in range(6):
        seen, *_ = copies.step(actions[:, step])
    branches = copies.get_state()
    for copy in range(COPIES):
        single.set_state(moment)
        for action in actions[copy]:
            frame, *_ = single.step(int(action))
        np.testing.assert_array_equal(frame, seen[copy])
        single.set_state(branches.rows([copy]))
        np.testing.assert_array_equal(single.look(), frame)
    copies.set_state(branches.rows([4, 4, 0, 1, 2]))
    np.testing.assert_array_equal(copies.look(), seen[[4, 4, 0, 1, 2]])
    copies.set_state(moment, which=[1, 3])
    np.testing.assert_array_equal(copies.look()[[0, 2, 4]], seen[[4, 0, 2]])
    assert copies.get_state().steps.tolist() == [7, 1, 7, 1, 7]
    with pytest.raises(UserError, match="holds 2 dreams"):
        copies.set_state(branches.rows([0, 1]))


def test_jumps_arrive_where_steps_do(endless_run: Path) -> None:
    copies = many(endless_run, time_limit=0)
    actions = random_actions(COPIES, 8)
    copies.reset(seed=1)
    begun = copies.get_state()
    for step in range(8):
        walked, *_ = copies.step(actions[:, step])
    copies.set_state(begun)
    assert copies.jump(actions[:, :3], look=False) is None
    np.testing.assert_array_equal(copies.jump(actions[:, 3:]), walked)
    assert copies.get_state().steps.tolist() == [8] * COPIES


def test_a_jump_of_copies_that_have_ended_is_refused(run: Path) -> None:
    copies = many(run, time_limit=2)
    copies.reset(seed=0)
    copies.step([0] * COPIES)
    copies.step([0] * COPIES)
    with pytest.raises(ResetNeeded, match=r"\[0, 1, 2, 3, 4\] have ended"):
        copies.jump(random_actions(COPIES, 3))


def test_steps_without_looking_bring_the_same(any_run: Path) -> None:
    looking, blind = many(any_run, time_limit=9), many(any_run, time_limit=9)
    looking.reset(seed=3)
    blind.reset(seed=3)
    for step in range(30):
        actions = random_actions(COPIES, seed=step)
        _, *expected = looking.step(actions)
        seen, *brought = blind.step(actions, look=False)
        assert seen is None
        for theirs, ours in zip(expected, brought, strict=True):
            assert_same(ours, theirs)
    going_on = looking.get_state().steps > 0  # of others, the blind ones may have dropped the real frame
    np.testing.assert_array_equal(blind.look()[going_on], looking.look()[going_on])
    np.testing.assert_array_equal(blind.step(actions)[0], looking.step(actions)[0])


def test_prediction_independent_copies_draw_nothing_unseen(independent_run: Path) -> None:
    copies = many(independent_run, time_limit=4)
    copies.reset(seed=0)
    with counted_frames(copies._dreams._dreamer.simulator) as drawn:
        for step in range(15):  # over ends and restarts
            copies.step(random_actions(COPIES, seed=step), look=False)
        assert drawn == []


def test_observations_can_stay_tensors(run: Path) -> None:
    arrays, tensors = many(run), many(run, observations="torch")
    first, _ = tensors.reset(seed=0)
    assert isinstance(first, torch.Tensor)
    assert first.dtype == torch.uint8
    np.testing.assert_array_equal(first.numpy(), arrays.reset(seed=0)[0])
    actions = random_actions(COPIES)
    np.testing.assert_array_equal(tensors.step(actions)[0].numpy(), arrays.step(actions)[0])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_dreams_are_nearly_the_same(run: Path) -> None:
    there, here = many(run, device="cuda", observations="torch"), many(run)
    there.reset(seed=0)
    here.reset(seed=0)
    for step in range(5):
        actions = random_actions(COPIES, seed=step)
        seen, expected = there.step(actions)[0], here.step(actions)[0]
        assert seen.device.type == "cuda"
        assert np.abs(seen.cpu().numpy().astype(int) - expected).max() <= 1


def test_gymnasium_makes_it_and_its_wrappers_work(run_with_heads: Path) -> None:
    made = gymnasium.make_vec(
        "framedream.use:framedream/Simulated-v0", num_envs=3, simulator=run_with_heads, time_limit=6
    )
    assert isinstance(made.unwrapped, SimulatedVectorEnv)
    wrapped = DictInfoToList(RecordEpisodeStatistics(made))
    _, infos = wrapped.reset(seed=0)
    assert [info["steps"] for info in infos] == [0, 0, 0]
    lengths = []
    for step in range(20):
        *_, infos = wrapped.step(random_actions(3, seed=step))
        lengths += [int(info["episode"]["l"]) for info in infos if "episode" in info]
    assert lengths
    assert max(lengths) == 6


def test_rendering_gives_a_frame_per_copy(run: Path) -> None:
    copies = many(run, render_mode="rgb_array")
    seen, _ = copies.reset(seed=0)
    rendered = copies.render()
    assert rendered is not None
    np.testing.assert_array_equal(np.stack(rendered), seen)
    assert many(run).render() is None


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (lambda copies: copies.reset(seed=[1, 2]), "give one for each"),
        (lambda copies: copies.reset(options={"reset_mask": np.zeros(COPIES, bool)}), "reset_mask"),
        (lambda copies: copies.reset(options={"reset_mask": np.ones(2, bool)}), "reset_mask"),
        (lambda copies: copies.reset(options={"state": copies.get_state(), "episode": 1}), "no other options"),
    ],
)
def test_senseless_wishes_are_refused(run: Path, deed: Callable[[SimulatedVectorEnv], object], words: str) -> None:
    copies = many(run)
    copies.reset(seed=0)
    with pytest.raises(UserError, match=words):
        deed(copies)


def test_nothing_can_be_done_before_the_first_reset(run: Path) -> None:
    copies = many(run)
    with pytest.raises(ResetNeeded):
        copies.step([0] * COPIES)
    with pytest.raises(ResetNeeded):
        copies.reset(options={"reset_mask": np.array([True] + [False] * (COPIES - 1))})
