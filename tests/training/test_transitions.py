"""Every scheme, transition by transition: which frame is read, which action, and where gradients stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

import pytest
from recording import RecordingSimulator, counting_data_set

from framedream.data.dataset import DataSet
from framedream.envs.counting import read_count
from framedream.training.batches import DeviceBatch, StreamedFrames
from framedream.training.learner import Learner
from framedream.training.loop import Update, train
from framedream.training.scheme import SCHEMES, Phase, Scheme, named_scheme
from framedream.training.specification import RunSpec

BATCH = 2
RUN = RunSpec(batch_size=BATCH)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    return counting_data_set(tmp_path_factory.mktemp("counting") / "data", shortest=100, longest=120)


@dataclass
class Seen:
    """What one update saw: the batch, and per transition since the last update what it read and whether it learnt."""

    batch: DeviceBatch
    transitions: list[tuple[int, list[tuple[str, int]], list[int], bool]]
    old_gradients: bool


def watch(data: DataSet, scheme: Scheme, updates: int, variant: str = "base") -> list[Seen]:
    """Train a recording simulator and tell what every update saw."""
    simulator = RecordingSimulator(variant)
    learner = Learner(simulator, RUN)
    seen: list[Seen] = []
    batches: list[DeviceBatch] = []
    reported = 0

    with StreamedFrames(data.split("train"), RUN, learner.device) as source:

        def open_batches(length: int, first: int) -> AbstractContextManager[Iterator[DeviceBatch]]:
            @contextmanager
            def remembered() -> Iterator[Iterator[DeviceBatch]]:
                with source.open(length, first) as loader:
                    yield (batches.append(batch) or batch for batch in loader)

            return remembered()

        def on_update(update: Update) -> None:
            nonlocal reported
            assert update.number == len(seen) + 1
            new = simulator.transitions[reported:]
            learnt = [transition.probe.grad is not None and bool(transition.probe.grad.any()) for transition in new]
            old = [transition.probe.grad is not None for transition in simulator.transitions[:reported]]
            seen.append(
                Seen(
                    batches[-1],
                    [(t.time, t.reads, t.actions, grad) for t, grad in zip(new, learnt, strict=True)],
                    any(old),
                )
            )
            for transition in simulator.transitions:
                transition.probe.grad = None
            reported = len(simulator.transitions)

        train(
            learner,
            scheme,
            updates,
            open_batches=open_batches,
            learning_rate=lambda update: 0.0,
            on_update=on_update,
            go_on=lambda: True,
        )
    return seen


def expected_readings(
    batch: DeviceBatch, phase: Phase, segment: int
) -> list[tuple[int, list[tuple[str, int]], list[int]]]:
    """From the words of the paper: what the transitions of one segment read, and the actions they take."""
    counts = [[read_count(frame) for frame in sequence] for sequence in batch.frames]
    tau, steps = phase.warm_up, len(phase.feed)
    times = range(1, tau + steps) if segment == 0 else range(tau + segment * steps, tau + (segment + 1) * steps)
    expected = []
    for t in times:  # the transition from s_t to s_{t+1}; x_t is number t - 1 of the sequence
        letter = "o" if t < tau else phase.feed[(t - tau) % steps]
        if letter == "o" or t == tau:
            reads = [("frame", sequence[t - 1].step) for sequence in counts]
        else:
            reads = [("prediction", t)] * BATCH
        # x_{t+1} says which action led to it.
        expected.append((t, reads, [sequence[t].action for sequence in counts]))
    return expected


def check(seen: list[Seen], phases: list[tuple[Phase, int]]) -> None:
    """`phases`: for every update the phase and the number of its segment within the batch."""
    assert len(seen) == len(phases)
    for update, (phase, segment) in zip(seen, phases, strict=True):
        assert update.batch.frames.shape[1] == phase.sequence_length
        readings = [(time, reads, actions) for time, reads, actions, _ in update.transitions]
        assert readings == expected_readings(update.batch, phase, segment)
        # No gradient into the warm-up, or only from the transition that reads x_k on; none into earlier segments.
        first = phase.warm_up if phase.warm_up_grad is None else phase.warm_up_grad
        assert [learnt for *_, learnt in update.transitions] == [time >= first for time, *_ in update.transitions]
        assert not update.old_gradients


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme(name: str, data: DataSet) -> None:
    full = named_scheme(name)
    # The same phases in a few updates each: 2, 3, 4.
    phases = tuple(replace(phase, updates=number + 2) for number, phase in enumerate(full.phases))
    updates = sum(phase.updates or 0 for phase in phases)
    seen = watch(data, replace(full, phases=phases), updates)
    check(seen, [(phase, 0) for phase in phases for _ in range(phase.updates or 0)])


@pytest.mark.parametrize("feed", ["p" * 15, "o" * 10 + "p" * 5, "op" * 7 + "o"])
def test_truncated_backpropagation_carries_the_state_and_stops_the_gradient(feed: str, data: DataSet) -> None:
    phase = Phase(None, feed, segments=3)
    seen = watch(data, Scheme("bptt", (phase,), "", ""), 6)
    check(seen, [(phase, segment) for _ in range(2) for segment in range(3)])


def test_a_phase_ends_on_its_update_even_within_a_batch(data: DataSet) -> None:
    first, second = Phase(4, "p" * 5, segments=3), Phase(None, "o" * 5)
    seen = watch(data, Scheme("cut", (first, second), "", ""), 6)
    check(seen, [(first, 0), (first, 1), (first, 2), (first, 0), (second, 0), (second, 0)])


@pytest.mark.parametrize("warm_up_grad", [None, 1, 4, 5])
@pytest.mark.parametrize("warm_up", [5, 25])
def test_gradients_enter_the_warm_up_where_let_in(warm_up: int, warm_up_grad: int | None, data: DataSet) -> None:
    phase = Phase(None, "opp", warm_up=warm_up, warm_up_grad=warm_up_grad)
    check(watch(data, Scheme("grad", (phase,), "", ""), 2), [(phase, 0)] * 2)


def test_a_warm_up_of_one_frame_reads_none(data: DataSet) -> None:
    phase = Phase(None, "pp", warm_up=1)
    seen = watch(data, Scheme("short", (phase,), "", ""), 1)
    check(seen, [(phase, 0)])


def test_prediction_independent_simulators_read_frames_up_to_the_warm_up_only(data: DataSet) -> None:
    scheme = RunSpec(scheme="pdt-100", segments=2).phases(prediction_independent=True)
    (phase,) = scheme.phases
    assert phase.warm_up_grad == 5  # "we did backpropagate the gradient back to time-step five"
    seen = watch(data, scheme, 4, variant="pi-h")
    for number, update in enumerate(seen):
        observed = expected_readings(update.batch, phase, number % 2)
        for (time, reads, actions, learnt), (_, frames, chosen) in zip(update.transitions, observed, strict=True):
            assert reads == (frames if time < 10 else [("state", 0)] * BATCH)
            assert actions == chosen
            assert learnt == (time >= 5)
