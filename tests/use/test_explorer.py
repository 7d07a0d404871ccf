"""The algorithm against the paper's formula written out in NumPy, over imaginations whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from maze_runs import small_mazes, small_simulator
from numpy.typing import NDArray

from framedream.envs.maze.dynamics import ACTIONS
from framedream.errors import UserError
from framedream.use.exploration import explorer
from framedream.use.exploration.explorer import (
    Method,
    Plan,
    Walks,
    draw_sequences,
    most_novel,
    walk_at_random,
    walk_to_the_unfamiliar,
)
from framedream.use.exploration.imagination import EnvironmentImagination, Imagination, SimulatorImagination
from framedream.use.exploration.probing import Probing
from framedream.use.exploration.world import World, make_world

CPU = torch.device("cpu")


class Dreams:
    """Imagines noise that depends on the sequence and the time; keeps all that it was told."""

    device = CPU

    def __init__(self) -> None:
        self.asked: list[tuple[int, NDArray[np.int64]]] = []
        self.told: list[tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float32]]] = []

    def begin(self, frames: NDArray[np.uint8], places: NDArray[np.float32]) -> int:
        self.first = frames
        return 0

    def follow(self, state: int, actions: Any, frames: Any, places: Any) -> int:
        self.told.append((actions, frames, places))
        return state + actions.shape[1]

    def imagine(self, state: int, sequences: NDArray[np.int64]) -> torch.Tensor:
        self.asked.append((state, sequences))
        return torch.from_numpy(
            np.array([[self.dream(state, sequence) for sequence in agent] for agent in sequences], np.float32)
        )

    @staticmethod
    def dream(state: int, sequence: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.random.default_rng([state, *sequence]).random((3, 16, 16))


class Given:
    """Imagines the frames it was made with: numbers, one pixel each, per agent and sequence."""

    device = CPU

    def __init__(self, frames: list[list[float]]) -> None:
        self.frames = torch.tensor(frames)[..., None]

    def imagine(self, state: Any, sequences: NDArray[np.int64]) -> torch.Tensor:
        return self.frames[:, sequences[0, :, 0]]


def world(mazes: int = 2, walks: int = 2) -> World:
    return make_world(small_mazes(), mazes, walks, seed=5)


def walked(there: World, imagination: Imagination, method: Method, steps: int) -> tuple[Walks, list[Plan]]:
    plans: list[Plan] = []
    walks = walk_to_the_unfamiliar(there, imagination, method, steps, look=plans.append)
    return walks, plans


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_a_case_worked_out_by_hand(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The farthest from its nearest memory; neither the farthest on average nor from the current frame."""
    monkeypatch.setattr(explorer, "FRAMES_AT_ONCE", 2 * at_once)
    remembered = torch.tensor([[[0.2], [0.9]], [[0.0], [0.0]]])
    imagined = Given([[0.0, 0.5, 1.0, 0.3], [0.1, -0.7, 0.7, 0.6]])
    sequences = np.arange(4).reshape(1, 4, 1).repeat(2, 0)
    novelty, chosen, expected = most_novel(imagined, None, sequences, remembered)  # type: ignore[arg-type]
    np.testing.assert_allclose(novelty, [[0.2, 0.4 - 0.1, 0.1, 0.1], [0.1, 0.7, 0.7, 0.6]], atol=1e-6)
    assert chosen.tolist() == [1, 1]  # the first of equals
    np.testing.assert_allclose(expected.flatten().numpy(), [0.5, -0.7], atol=1e-6)


@pytest.mark.parametrize(
    ("method", "steps"), [(Method(7, 3, 4), 14), (Method(5, 1, 1), 4), (Method(4, 6, 10), 24), (Method(1, 4, 3), 8)]
)
def test_what_is_followed_is_what_the_formula_says(method: Method, steps: int) -> None:
    there, dreams = world(), Dreams()
    walks, plans = walked(there, dreams, method, steps)
    seen = there.see(walks.places).astype(np.float64).transpose(0, 1, 4, 2, 3) / 255
    assert [state for state, _ in dreams.asked] == list(range(0, steps, method.length))
    for (time, sequences), plan in zip(dreams.asked, plans, strict=True):
        for walk in range(len(there)):
            nearest = []
            for sequence in sequences[walk]:
                dream = dreams.dream(time, sequence)
                memory = [seen[walk, time - j] for j in range(method.memory) if time - j >= 0]
                nearest.append(min(np.sqrt(np.sum((dream - frame) ** 2)) for frame in memory))
            followed = sequences[walk, int(np.argmax(nearest))][: steps - time]
            np.testing.assert_array_equal(walks.actions[walk, time : time + method.length], followed)
            np.testing.assert_allclose(plan.novelty[walk], np.array(nearest) / np.sqrt(3 * 16 * 16), rtol=1e-5)


def test_memory_holds_the_last_frames_seen_the_current_one_included() -> None:
    there = world()
    walks, plans = walked(there, Dreams(), Method(3, 4, 6), 20)
    seen = there.see(walks.places)
    for number, plan in enumerate(plans):
        now = 4 * number
        expected = seen[:, max(0, now - 5) : now + 1].transpose(0, 1, 4, 2, 3).reshape(len(there), -1, 3 * 16 * 16)
        np.testing.assert_array_equal((plan.remembered * 255).round().numpy(), expected)


def test_imagination_is_told_all_that_was_done_and_seen() -> None:
    there, dreams = world(), Dreams()
    walks, _ = walked(there, dreams, Method(3, 4, 6), 12)
    seen = there.see(walks.places)
    np.testing.assert_array_equal(dreams.first, seen[:, 0])
    np.testing.assert_array_equal(np.concatenate([actions for actions, *_ in dreams.told], 1), walks.actions)
    np.testing.assert_array_equal(np.concatenate([frames for _, frames, _ in dreams.told], 1), seen[:, 1:])
    for (*_, places), now in zip(dreams.told, (4, 8, 12), strict=True):
        np.testing.assert_array_equal(places, walks.places[:, now])


def test_the_real_environment_is_never_surprised() -> None:
    there = world()
    imagination = EnvironmentImagination(there.mazes, there.which)
    probing = Probing(there, imagination, Method(6, 5, 4), 32)
    walk_to_the_unfamiliar(there, imagination, Method(6, 5, 4), 32, look=probing)
    planning = probing.result()
    assert planning.surprise == 0
    for outlook in planning.outlooks:
        assert outlook.error == 0 and outlook.change > 0
        assert outlook.agreement == pytest.approx(1)


def test_the_figures_that_explain_are_those_of_numpy() -> None:
    """Random sequences from the places of the plans: what is imagined, what would really have been seen."""
    there, dreams, method = world(), Dreams(), Method(4, 6, 3)
    plans: list[Plan] = []
    probing = Probing(there, dreams, method, 12)

    def look(plan: Plan) -> None:
        plans.append(plan)
        probing(plan)

    walk_to_the_unfamiliar(there, dreams, method, 12, look=look)
    generators = [np.random.default_rng(seeds.probes) for seeds in there.seeds]
    found: dict[int, list[list[float]]] = {6: [], 30: []}
    for plan in plans:
        sequences = draw_sequences(generators, Method(4, 30, 3))
        for depth, walk in ((depth, walk) for depth in found for walk in range(len(there))):
            memory = plan.remembered[walk].double().numpy()
            rows = []
            for sequence in sequences[walk, :, :depth]:
                place, which = plan.places[walk][None], there.which[walk : walk + 1]
                for action in sequence:
                    place = there.mazes.step(place, [action], which)
                real = there.mazes.frames(place, which)[0].transpose(2, 0, 1).ravel() / 255
                dream = dreams.dream(plan.state, sequence).ravel()
                to_memory = [min(np.sqrt(np.mean((one - frame) ** 2)) for frame in memory) for one in (dream, real)]
                error, change = (np.sqrt(np.mean((real - one) ** 2)) for one in (dream, memory[-1]))
                rows.append([error, change, *to_memory])
            error, change, novelty, real_novelty = np.array(rows).T
            agreement = float(np.corrcoef(novelty, real_novelty)[0, 1])
            found[depth].append([error.mean(), change.mean(), novelty.min(), novelty.max(), agreement])
    planning = probing.result()
    for outlook in planning.outlooks:
        shown = (outlook.error, outlook.change, outlook.least, outlook.greatest, outlook.agreement)
        np.testing.assert_allclose(shown, np.mean(found[outlook.depth], axis=0), rtol=1e-4)
    novelty = np.stack([plan.novelty for plan in plans])
    assert planning.least == pytest.approx(novelty.min(2).mean())
    assert planning.greatest == pytest.approx(novelty.max(2).mean())
    assert planning.surprise == pytest.approx(np.mean([plan.surprise for plan in plans]))


@pytest.mark.parametrize("kind", ["environment", "base", "pi-h"])
def test_walks_do_not_depend_on_how_many_there_are(kind: str) -> None:
    def imagination(there: World) -> Imagination:
        if kind == "environment":
            return EnvironmentImagination(there.mazes, there.which)
        return SimulatorImagination(small_simulator(kind).double())

    many, one = world(3, 2), world(1, 1)
    method = Method(5, 4, 6)
    together, alone = (walked(there, imagination(there), method, 18)[0] for there in (many, one))
    np.testing.assert_array_equal(together.actions[:1], alone.actions)
    np.testing.assert_array_equal(together.places[:1], alone.places)
    np.testing.assert_array_equal(walk_at_random(many, 18).places[:1], walk_at_random(one, 18).places)
    third_maze = np.flatnonzero(many.which == 2)[0]
    fewer = world(3, 1)
    np.testing.assert_array_equal(
        together.places[third_maze], walked(fewer, imagination(fewer), method, 18)[0].places[2]
    )


@pytest.mark.parametrize("variant", ["base", "pi-h", "pi-zero", "conv", "action-planes", "oh2015"])
def test_a_simulator_imagines_what_its_own_calls_give(variant: str) -> None:
    """After walking, and although sequences that begin alike are imagined together."""
    simulator = small_simulator(variant).double()
    imagination = SimulatorImagination(simulator)
    random = np.random.default_rng(0)
    frames = random.integers(256, size=(2, 8, 16, 16, 3)).astype(np.uint8)
    actions = random.integers(5, size=(2, 7))
    sequences = random.integers(2, size=(2, 30, 4))
    places = np.zeros((2, 6), np.float32)
    with torch.inference_mode():
        state = imagination.begin(frames[:, 0], places)
        for start, end in ((0, 3), (3, 4), (4, 7)):
            state = imagination.follow(state, actions[:, start:end], frames[:, start + 1 : end + 1], places)
        imagined = imagination.imagine(state, sequences)
        for walk in range(2):
            seen = simulator.normalise(torch.from_numpy(frames[walk][None]))
            warm = simulator.warm_up(seen, torch.from_numpy(actions[walk][None]))
            for number in range(30):
                final = simulator.jump(warm, torch.from_numpy(sequences[walk, number][None]))
                expected = simulator.decode(final)[0] + simulator.background
                torch.testing.assert_close(imagined[walk, number], expected.float())


def test_sequences_are_uniform_by_default_and_repeat_with_dithering() -> None:
    def drawn(dithering: float) -> NDArray[np.int64]:
        return draw_sequences([np.random.default_rng(3)], Method(20_000, 6, 1, dithering))[0]

    uniform = drawn(1.0)
    np.testing.assert_allclose(
        np.stack([(uniform == action).mean(0) for action in range(len(ACTIONS))]), 0.2, atol=0.02
    )
    pairs = np.bincount(uniform[:, 2] * 5 + uniform[:, 3], minlength=25) / len(uniform)
    np.testing.assert_allclose(pairs, 1 / 25, atol=0.01)
    repeated = drawn(0.7)
    same = (repeated[:, 1:] == repeated[:, :-1]).mean(0)
    np.testing.assert_allclose(same, 0.3 + 0.7 / 5, atol=0.02)
    assert (np.diff(drawn(0.0), axis=1) == 0).all()


def test_layouts_are_those_of_odd_seeds_and_differ() -> None:
    there = make_world(small_mazes(), 10, 1, seed=0)
    assert all(seed % 2 == 1 for seed in there.layout_seeds)
    assert len({layout.region.tobytes() for layout in there.mazes.layouts}) == 10


@pytest.mark.parametrize("fields", [dict(sequences=0), dict(length=0), dict(memory=0), dict(dithering=1.5)])
def test_senseless_methods_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"--{next(iter(fields))}"):
        Method(**fields)
