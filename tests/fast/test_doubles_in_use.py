"""What uses a simulator uses its double, and nobody can tell but by the time that it takes."""

from __future__ import annotations

from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from convolved import Convolved
from small_simulators import narrowed
from torch import Tensor
from worlds import counting_data_set

from framedream.data.dataset import DataSet
from framedream.errors import UserError
from framedream.evaluation.measure import MODEL, measure
from framedream.evaluation.periodic import PeriodicEvaluation
from framedream.evaluation.reference import make_reference
from framedream.evaluation.sequences import choose_sequences
from framedream.fast.arithmetic import has_one_dnn
from framedream.fast.cpu_simulator import CpuSimulator
from framedream.fast.doubles import double_of, faster, quickest
from framedream.fast.simulator import FastSimulator
from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec, State
from framedream.model.statistics import FrameStatistics
from framedream.training.learner import Learner
from framedream.training.scheme import Phase
from framedream.training.specification import RunSpec
from framedream.use.dreamer import Dreamer, joined, rows, with_rows
from framedream.use.simulated_env import SimulatedEnv
from framedream.use.simulated_vector import SimulatedVectorEnv
from framedream.use.starts import RecordedStarts, Start

pytestmark = pytest.mark.skipif(not has_one_dnn(), reason="this processor has no double that is faster")

WARM_UP, HORIZON = 4, 8


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return counting_data_set(tmp_path_factory.mktemp("counting") / "data", size=(17, 20))


@pytest.fixture(scope="module")
def starts(data: DataSet) -> list[Start]:
    with closing(RecordedStarts(data, "test", WARM_UP)) as supply:
        return [supply.draw(np.random.default_rng(seed)) for seed in range(3)]


def lively(data: DataSet, variant: str = "h-iz2816-2conv", seed: int = 0) -> Simulator:
    """In float32, of weights that are large enough for something to happen."""
    assert data.palette is not None
    codec = codec_for(*data.recording.frame_shape).scaled(0.1)
    spec = narrowed(SimulatorSpec.named(variant, codec, 3), 12, 9)
    torch.manual_seed(seed)
    statistics = FrameStatistics(torch.full((3, 1, 1), 0.5), torch.from_numpy(data.palette))
    simulator = Simulator(spec, statistics).eval()
    with torch.no_grad():
        for parameter in simulator.parameters():
            parameter.normal_(0, 0.3)
    return simulator


class Plain(Simulator):
    """What a simulator is without its double: of a subclass there is none."""


def plain(simulator: Simulator) -> Plain:
    own = Plain(simulator.spec, simulator.statistics)
    own.load_state_dict(simulator.state_dict())
    return own.eval()


def test_only_a_simulator_of_ordinary_precision_has_a_double(data: DataSet) -> None:
    simulator = lively(data)
    double = faster(simulator)
    assert isinstance(double, CpuSimulator) and double.kind == torch.float32 and not double.training
    assert faster(double) is double
    for without in (plain(simulator), deepcopy(simulator).double()):
        assert faster(without) is without
    assert double_of(simulator).kind == torch.float32
    assert faster(simulator, torch.bfloat16).kind == torch.bfloat16  # type: ignore[attr-defined]


def test_a_double_does_not_tell_its_simulator_to_stop_training(data: DataSet) -> None:
    simulator = lively(data, "base").train()
    for make in (faster, lambda one: FastSimulator(one, torch.float32, Convolved()).eval()):
        make(simulator)
        assert all(part.training for part in simulator.modules())


@pytest.mark.parametrize("variant", ["base", "h-iz2816-2conv", "pi-h"])
def test_dreams_are_the_same_to_the_last_bit_of_a_byte(data: DataSet, starts: list[Start], variant: str) -> None:
    dreamers = [Dreamer(lively(data, variant)), Dreamer(plain(lively(data, variant)))]
    assert [type(dreamer.simulator) for dreamer in dreamers] == [CpuSimulator, Plain]
    states = [dreamer.begin(starts) for dreamer in dreamers]
    np.testing.assert_array_equal(*(d.look(s) for d, s in zip(dreamers, states, strict=True)))
    for step in range(HORIZON):
        actions = np.random.default_rng(step).integers(3, size=len(starts))
        states = [dreamer.step(state, actions) for dreamer, state in zip(dreamers, states, strict=True)]
        one, other = (d.look(s).astype(int) for d, s in zip(dreamers, states, strict=True))
        assert np.abs(one - other).max() <= 1 and (one == other).mean() > 0.99
    jumped = [dreamer.jump(state, [[0, 1]] * len(starts)) for dreamer, state in zip(dreamers, states, strict=True)]
    torch.testing.assert_close(jumped[0].hidden, jumped[1].hidden, rtol=0, atol=1e-3)


def test_dreams_of_a_double_are_chosen_joined_and_replaced(data: DataSet, starts: list[Start]) -> None:
    for kind in (torch.float32, torch.bfloat16):
        dreamer = Dreamer(lively(data), kind)
        state = dreamer.step(dreamer.begin(starts), [0, 1, 2])
        again = with_rows(joined([rows(state, [2, 1]), rows(state, [0])]), [0, 2], rows(state, [0, 2]))
        for one, other in zip(vars(again).values(), vars(state).values(), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_copies_are_single_environments_and_replays_are_exact(data: DataSet) -> None:
    simulator, count = lively(data, "base"), 4
    copies = SimulatedVectorEnv(simulator, count, data=data, warm_up=WARM_UP)
    single, again = (SimulatedEnv(simulator, data=data, warm_up=WARM_UP) for _ in range(2))
    actions = np.random.default_rng(0).integers(3, size=(HORIZON, count))
    seen = [copies.reset(seed=5)[0], *(copies.step(row)[0] for row in actions)]
    for copy in range(count):
        alone, replayed = (
            [one.reset(seed=5 + copy)[0], *(one.step(int(row[copy]))[0] for row in actions)] for one in (single, again)
        )
        np.testing.assert_array_equal(alone, replayed)
        apart = np.abs(np.stack([frames[copy] for frames in seen]).astype(int) - alone)  # type: ignore[index]
        assert apart.max() <= 1 and (apart == 0).mean() > 0.99


def forms_of(simulator: Simulator) -> dict[str, Simulator]:
    return {
        "plain": plain(simulator),
        "float32": CpuSimulator(simulator, torch.float32).eval(),
        "bfloat16": CpuSimulator(simulator, torch.bfloat16).eval(),
        "kernels": FastSimulator(simulator, torch.float32, Convolved()).eval(),
    }


@pytest.mark.parametrize("into", ["plain", "float32", "bfloat16", "kernels"])
def test_a_dream_goes_on_in_a_double_of_another_form(data: DataSet, starts: list[Start], into: str) -> None:
    forms = forms_of(lively(data))
    dreamer = Dreamer(forms[into])
    assert dreamer.simulator is forms[into]
    for name, other in forms.items():
        begun = Dreamer(other).begin(starts)
        taken = dreamer.taken_over(begun)
        own = dreamer.begin(starts)
        assert taken.frame is not None and own.frame is not None
        for mine, theirs in zip(vars(own).values(), vars(taken).values(), strict=True):
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
            bound = 0.02 if "bfloat16" in (name, into) else 1e-5
            torch.testing.assert_close(mine, theirs, rtol=bound, atol=bound)
        dreamer.look(dreamer.step(taken, [0, 1, 2]))
    assert dreamer.taken_over(replace(begun, frame=None)).frame is None


def test_a_dream_of_another_simulator_is_refused(data: DataSet, starts: list[Start], tmp_path: Path) -> None:
    dreamer, state = Dreamer(lively(data)), Dreamer(lively(data, "base")).begin(starts)
    with pytest.raises(UserError, match="another's"):
        dreamer.taken_over(state)
    own = dreamer.begin(starts)
    assert own.frame is not None
    with pytest.raises(UserError, match="smaller than 17x20"):
        dreamer.taken_over(own.seen(own.frame[:, :12]))


def test_where_a_person_looks_on_the_quickest_will_do(data: DataSet, starts: list[Start]) -> None:
    dreamer = Dreamer(lively(data))
    quick = dreamer.quickest()
    expected = quickest(torch.device("cpu")) or torch.float32
    assert isinstance(quick.simulator, CpuSimulator) and quick.simulator.kind == expected
    states = [one.step(one.begin(starts), [0, 1, 2]) for one in (dreamer, quick)]
    one, other = (d.look(s).astype(int) for d, s in zip((dreamer, quick), states, strict=True))
    assert np.abs(one - other).mean() < 1


def errors(simulator: Simulator, data: DataSet) -> Tensor:
    reference = make_reference(data.split("train"), data.palette, WARM_UP, HORIZON, torch.device("cpu"))
    sequences = choose_sequences(data.split("test"), 12, WARM_UP, HORIZON)
    measured = measure(simulator, data, sequences, reference)
    model = measured.curve(MODEL)
    return torch.tensor([model.error.mean, model.moving.mean])


@pytest.mark.parametrize(("kind", "bound"), [(torch.float32, 1e-4), (torch.bfloat16, 0.02)])
def test_an_evaluation_finds_the_same_errors(data: DataSet, kind: torch.dtype, bound: float) -> None:
    simulator = lively(data)
    torch.testing.assert_close(
        errors(faster(simulator, kind), data), errors(plain(simulator), data), rtol=bound, atol=0
    )


def test_looks_during_training_see_the_weights_of_the_day(data: DataSet) -> None:
    simulator = lively(data).train()
    look = PeriodicEvaluation(data, sequences=6, horizon=HORIZON, warm_up=WARM_UP, splits=("test",))
    before = look(simulator)
    with torch.no_grad():
        for parameter in simulator.parameters():
            parameter.mul_(0.7)
    after = look(simulator)
    assert simulator.training
    fresh = PeriodicEvaluation(data, sequences=6, horizon=HORIZON, warm_up=WARM_UP, splits=("test",))
    assert after == fresh(simulator)
    assert after["test/error_5"] != before["test/error_5"]
    assert look(lively(data, seed=1).train()) != after


def test_training_with_a_double_goes_on_as_if_it_had_never_stopped(data: DataSet) -> None:
    """Bit for bit: random slopes, packed weights and all."""
    run, phase = RunSpec(batch_size=2), Phase(1, "op", 1, 3)
    generator = torch.Generator().manual_seed(0)
    frames = torch.randint(256, (6, 2, phase.sequence_length, 17, 20, 3), generator=generator, dtype=torch.uint8)
    actions = torch.randint(3, (6, 2, phase.sequence_length), generator=generator)

    def train(learner: Learner, updates: range) -> None:
        learner.simulator.train()
        for update in updates:
            learner.learn(frames[update], actions[update], None, phase, 1e-3)
            learner.position.updates += 1

    through, stopped = (Learner(lively(data, "base"), run, fast=True) for _ in range(2))
    torch.manual_seed(7)
    train(through, range(6))
    torch.manual_seed(7)
    train(stopped, range(3))
    saved = {name: one.clone() for name, one in stopped.tensors().items()}
    resumed = Learner(lively(data, "base", seed=1), run, fast=True)
    resumed.simulator.load_state_dict(stopped.simulator.state_dict())
    resumed.restore(stopped.progress(), saved)
    train(resumed, range(3, 6))
    untouched = lively(data, "base").state_dict()
    for name, value in through.simulator.state_dict().items():
        assert torch.equal(value, resumed.simulator.state_dict()[name]), name
        assert name in ("background", "palette") or not torch.equal(value, untouched[name]), name


def test_states_of_both_forms_are_plain_values(data: DataSet, starts: list[Start]) -> None:
    """Nothing is remembered between calls: the same state gives the same next one, whatever came in between."""
    for kind in (torch.float32, torch.bfloat16):
        dreamer = Dreamer(lively(data), kind)
        here = dreamer.begin(starts)
        kept: State = joined([here])
        first = dreamer.step(here, [0, 1, 2])
        dreamer.step(dreamer.begin(starts[:1]), [2])
        second = dreamer.step(here, [0, 1, 2])
        for one, other, mine, theirs in zip(*(vars(s).values() for s in (first, second, here, kept)), strict=True):
            assert torch.equal(one, other) and torch.equal(mine, theirs)
