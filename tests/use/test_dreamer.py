"""A dreamer says what the simulator says, in bytes and action numbers, for any number of dreams at once."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from dreamed import counted_frames, dreaming_simulator, random_actions

from framedream.data.dataset import DataSet
from framedream.model.simulator import State
from framedream.use import dreamer as dreamer_module
from framedream.use.dreamer import Dreamer, joined, rows, with_rows
from framedream.use.starts import RecordedStarts, Start, stacked

VARIANTS = ("base", "pi-h")


@pytest.fixture(scope="module")
def starts(counting: DataSet) -> list[Start]:
    generator = np.random.default_rng(0)
    with closing(RecordedStarts(counting, "test", 6)) as supply:
        return [supply.draw(generator) for _ in range(5)]


def assert_same_state(one: State, other: State) -> None:
    for ours, theirs in zip(vars(one).values(), vars(other).values(), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_dream_is_what_the_simulator_predicts(counting: DataSet, starts: list[Start], variant: str) -> None:
    simulator = dreaming_simulator(counting, variant)
    dreamer, actions = Dreamer(simulator), random_actions(5, 4)
    frames, before = stacked(starts)
    with torch.no_grad():
        begun = simulator.warm_up(simulator.normalise(torch.from_numpy(frames)), torch.from_numpy(before))
        predictions, _ = simulator.unroll(begun, torch.from_numpy(actions))
    state = dreamer.begin(starts)
    assert_same_state(state, begun)
    np.testing.assert_array_equal(dreamer.look(state)[..., 0], frames[:, -1])  # grey indices are grey colours
    for step in range(4):
        state = dreamer.step(state, actions[:, step])
        np.testing.assert_array_equal(dreamer.look(state), simulator.to_bytes(predictions[:, step]).numpy())
    assert len(np.unique(dreamer.look(state))) > 50, "a dull dream would show no mistake"


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_jump_arrives_where_steps_do(counting: DataSet, starts: list[Start], variant: str) -> None:
    dreamer, actions = Dreamer(dreaming_simulator(counting, variant)), random_actions(5, 7)
    begun = dreamer.begin(starts)
    walked = begun
    for step in range(7):
        walked = dreamer.step(walked, actions[:, step])
    with counted_frames(dreamer.simulator) as drawn:
        landed = dreamer.jump(begun, actions)
        on_the_way = sum(drawn)
    assert on_the_way == (0 if variant == "pi-h" else 5 * 6)
    assert landed.frame is None
    np.testing.assert_array_equal(dreamer.look(landed), dreamer.look(walked))


def test_many_dreams_begin_a_bounded_number_at_a_time(
    counting: DataSet, starts: list[Start], monkeypatch: pytest.MonkeyPatch
) -> None:
    dreamer = Dreamer(dreaming_simulator(counting, "base"))
    whole = dreamer.begin(starts)
    sizes: list[int] = []
    hook = dreamer.simulator.encoder.register_forward_pre_hook(lambda module, inputs: sizes.append(len(inputs[0])))
    monkeypatch.setattr(dreamer_module, "BYTES_AT_ONCE", 2 * 6 * 16 * 19 * 3 * 4)
    assert_same_state(dreamer.begin(starts), whole)
    hook.remove()
    assert sizes == [2 * 5, 2 * 5, 1 * 5]  # two dreams of five encoded frames, two more, and the last


def test_dreams_are_chosen_joined_and_replaced(counting: DataSet, starts: list[Start]) -> None:
    dreamer = Dreamer(dreaming_simulator(counting, "base"))
    state = dreamer.begin(starts)
    single = [dreamer.begin([start]) for start in starts]
    assert_same_state(joined(single), state)
    assert_same_state(rows(state, [3, 0, 3]), joined([single[3], single[0], single[3]]))
    mixed = with_rows(state, [1, 4], rows(state, [0, 2]))
    assert_same_state(mixed, joined([single[0], single[0], single[2], single[3], single[2]]))
    assert_same_state(state, joined(single))  # which was left as it was
    with pytest.raises(ValueError, match="has frames"):
        with_rows(state, [0], replace(rows(state, [1]), frame=None))


@pytest.mark.parametrize("wrong", [-1, 3])
def test_actions_that_do_not_exist_are_refused(counting: DataSet, starts: list[Start], wrong: int) -> None:
    dreamer = Dreamer(dreaming_simulator(counting, "base"))
    with pytest.raises(ValueError, match="0 to 2"):
        dreamer.step(dreamer.begin(starts[:1]), [wrong])
