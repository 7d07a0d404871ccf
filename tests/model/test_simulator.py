"""The simulator's face: sequences equal repeated steps, the right frames are read, gradients flow where they must."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from small_simulators import ACTIONS, HEIGHT, WIDTH, random_sequence, small_simulator

from framedream.envs.counting import Count, read_count, write_count
from framedream.errors import UserError
from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec, State
from framedream.model.statistics import FrameStatistics
from framedream.model.variants import VARIANTS

# One of each shape of transition: dense, raw, convolutional, own fusions, planes, decoder action, the three PI ones.
SHAPES = ["base", "iz", "action-hz", "action-two-da", "h-iz2816-2conv-a", "conv-da", "action-planes", "oh2015"]
INDEPENDENT = ["pi-h", "pi-zero", "pi-h-iz2816-zero"]
FEEDS = ["".join(letters) for letters in product("op", repeat=4)]
WARM_UP, LENGTH = 3, 4


def warmed(simulator: Simulator, batch: int = 2) -> tuple[State, torch.Tensor, torch.Tensor]:
    """s_τ, and x_τ… and a_τ… of as many steps as the feeds have letters."""
    frames, actions = random_sequence(batch, WARM_UP + LENGTH)
    state = simulator.warm_up(frames[:, :WARM_UP], actions[:, : WARM_UP - 1])
    return state, frames[:, WARM_UP - 1 : -1], actions[:, WARM_UP - 1 : -1]


def step_by_step(
    simulator: Simulator, state: State, actions: torch.Tensor, feed: str, observed: torch.Tensor
) -> tuple[torch.Tensor, State]:
    predictions = []
    for position, letter in enumerate(feed):
        reads = observed[:, position] if letter == "o" and not simulator.prediction_independent else None
        state = simulator.advance(state, actions[:, position], reads)
        state = state.seen(simulator.decode(state))
        predictions.append(state.frame)
    return torch.stack(predictions, dim=1), state


def assert_same(ours: State, theirs: State) -> None:
    for name in ("hidden", "cell", "action"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name), rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", SHAPES + INDEPENDENT)
def test_unroll_equals_repeated_advance_for_every_feed(variant: str) -> None:
    simulator = small_simulator(variant)
    with torch.no_grad():
        state, observed, actions = warmed(simulator)
        seen = set()
        for feed in FEEDS:
            predictions, last = simulator.unroll(state, actions, feed, observed)
            expected, expected_last = step_by_step(simulator, state, actions, feed, observed)
            torch.testing.assert_close(predictions, expected, rtol=0, atol=1e-12)
            assert_same(last, expected_last)
            assert last.frame is not None
            torch.testing.assert_close(last.frame, expected[:, -1], rtol=0, atol=1e-12)
            seen.add(round(float(predictions[0, -1].sum()), 8))
    # The first letter reads x_τ either way, so half of the feeds differ; without a frame to read none do.
    assert len(seen) == (1 if simulator.prediction_independent else len(FEEDS) // 2)


@pytest.mark.parametrize("variant", ["base", "pi-h"])
def test_every_frame_is_encoded_and_decoded_once(variant: str) -> None:
    simulator = small_simulator(variant)
    counts = dict(encoder=0, decoder=0, calls=0)

    def count(name: str, inputs: tuple[torch.Tensor, ...]) -> None:
        counts[name] += len(inputs[0])
        counts["calls"] += 1

    with torch.no_grad():
        state, observed, actions = warmed(simulator)
        simulator.encoder.register_forward_pre_hook(lambda _, inputs: count("encoder", inputs))
        simulator.decoder.register_forward_pre_hook(lambda _, inputs: count("decoder", inputs))
        for feed, calls in zip(["pppp", "oppp", "ooop", "opop", "oooo"], [8, 8, 4, 6, 2], strict=True):
            counts.update(encoder=0, decoder=0, calls=0)
            simulator.unroll(state, actions, feed, observed)
            read = 0 if simulator.prediction_independent else 2 * LENGTH
            expected = dict(encoder=read, decoder=2 * LENGTH, calls=calls if read else 1)
            assert counts == expected, feed


@pytest.mark.parametrize("variant", ["base", "oh2015", "pi-h"])
def test_two_segments_equal_one_long_one(variant: str) -> None:
    simulator = small_simulator(variant)
    with torch.no_grad():
        state, observed, actions = warmed(simulator)
        whole, last = simulator.unroll(state, actions)
        first, middle = simulator.unroll(state, actions[:, :2])
        second, end = simulator.unroll(middle.detach(), actions[:, 2:])
        torch.testing.assert_close(torch.cat([first, second], dim=1), whole, rtol=0, atol=1e-12)
        assert_same(end, last)
        # A second segment that starts observation-dependent reads what it is given, not the prediction it carries.
        again, _ = simulator.unroll(middle, actions[:, 2:], "op", observed[:, 2:])
        expected, _ = step_by_step(simulator, middle, actions[:, 2:], "op", observed[:, 2:])
        torch.testing.assert_close(again, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", SHAPES + INDEPENDENT)
def test_observe_and_warm_up_equal_repeated_advance(variant: str) -> None:
    simulator = small_simulator(variant)
    frames, actions = random_sequence(batch=2, length=5)
    with torch.no_grad():
        states = simulator.observe(simulator.initial_state(2), frames[:, :4], actions[:, :4])
        state = simulator.initial_state(2)
        for position, ours in enumerate(states):
            state = simulator.advance(state, actions[:, position], frames[:, position])
            assert_same(ours, state)
            assert ours.frame is None
        warm = simulator.warm_up(frames, actions[:, :4])
    assert_same(warm, state)
    assert torch.equal(warm.frame, frames[:, -1])
    assert torch.equal(warm.action, actions[:, 3])


def test_a_warm_up_of_one_frame_starts_from_zero() -> None:
    simulator = small_simulator("base")
    frames, actions = random_sequence(batch=2, length=1)
    state = simulator.warm_up(frames, actions[:, :0])
    assert not state.hidden.any() and not state.cell.any() and not state.action.any()
    assert torch.equal(state.frame, frames[:, 0])


@pytest.mark.parametrize("variant", [*INDEPENDENT, "base", "oh2015"])
def test_jump_equals_unroll(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = small_simulator(variant)
    with torch.no_grad():
        state, _, actions = warmed(simulator)
        predictions, last = simulator.unroll(state, actions)
        if simulator.prediction_independent:  # must not decode on the way
            monkeypatch.setattr(simulator.decoder, "forward", None)
            monkeypatch.setattr(simulator.encoder, "forward", None)
        landed = simulator.jump(state, actions)
        monkeypatch.undo()
        assert_same(landed, last)
        torch.testing.assert_close(simulator.decode(landed), predictions[:, -1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", ["base", "h-iz2816-2conv-a", "oh2015", "pi-h"])
def test_batches_are_independent_sequences(variant: str) -> None:
    simulator = small_simulator(variant)
    frames, actions = random_sequence(batch=3, length=6)
    with torch.no_grad():
        whole, _ = simulator.unroll(simulator.warm_up(frames[:, :3], actions[:, :2]), actions[:, 2:])
        for row in range(3):
            one, _ = simulator.unroll(
                simulator.warm_up(frames[row : row + 1, :3], actions[row : row + 1, :2]), actions[row : row + 1, 2:]
            )
            torch.testing.assert_close(one[0], whole[row], rtol=0, atol=1e-12)


def test_a_state_without_a_frame_reads_its_own_prediction() -> None:
    simulator = small_simulator("base")
    frames, actions = random_sequence(batch=2, length=4)
    with torch.no_grad():
        state = simulator.observe(simulator.initial_state(2), frames[:, :3], actions[:, :3])[-1]
        assert_same(
            simulator.advance(state, actions[:, 3]),
            simulator.advance(state, actions[:, 3], simulator.decode(state)),
        )


@pytest.mark.parametrize(
    ("variant", "feed", "expected"),
    [
        ("base", "pppp", [2, "p", "p", "p"]),
        ("base", "oooo", [2, 3, 4, 5]),
        ("base", "oopp", [2, 3, "p", "p"]),
        ("base", "opop", [2, "p", 4, "p"]),
        ("pi-h", "oooo", []),
    ],
)
def test_which_frames_a_rollout_reads(variant: str, feed: str, expected: list[int | str]) -> None:
    """Frames that say their own time step: warm-up reads all but the last, the rollout what its feed says."""
    spec = SimulatorSpec.named(variant, codec_for(16, 16).scaled(0.15), ACTIONS)
    palette = torch.arange(256, dtype=torch.uint8)[:, None].repeat(1, 3)
    simulator = Simulator(spec, FrameStatistics(torch.full((3, 1, 1), 0.25), palette)).eval()
    indices = np.stack([write_count(Count(seed=7, step=step, action=step % 3), 16, 16) for step in range(7)])
    frames = simulator.normalise(torch.from_numpy(indices)[None])
    actions = torch.arange(6)[None] % 3
    read: list[int | str] = []

    def spy(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        for frame, action in zip(simulator.to_bytes(inputs[0]).numpy(), inputs[1], strict=True):
            try:
                count = read_count(frame)
            except ValueError:
                read.append("p")
                continue
            assert count.seed == 7
            assert int(action.argmax()) == count.step % 3, "a_t must come with x_t"
            read.append(count.step)

    simulator.encoder.register_forward_pre_hook(spy)
    with torch.no_grad():
        state = simulator.warm_up(frames[:, :3], actions[:, :2])
        assert read == [0, 1]
        read.clear()
        simulator.unroll(state, actions[:, 2:], feed, frames[:, 2:6])
    # Observed frames are encoded together before the predictions that come between them.
    assert sorted(read, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("variant", ["base", "2conv-da", "oh2015", "action-planes", "pi-h"])
@pytest.mark.parametrize("feed", ["pppp", "opop", "oooo"])
def test_gradients_are_exact_through_predictions_fed_back(variant: str, feed: str) -> None:
    """A directional derivative of the loss by finite differences: wrong wherever a fed-back prediction is detached."""
    simulator = small_simulator(variant, spread=0.15)
    frames, actions = random_sequence(batch=2, length=WARM_UP + LENGTH)
    parameters = list(simulator.parameters())
    torch.manual_seed(3)
    direction = [torch.randn_like(parameter) for parameter in parameters]

    def loss() -> torch.Tensor:
        with torch.no_grad():
            start = State(*(torch.full((2, simulator.spec.hidden_size), value) for value in (0.2, 0.1)), actions[:, 0])
            start = State(start.hidden.double(), start.cell.double(), start.action, frames[:, WARM_UP - 1])
        observed = frames[:, WARM_UP - 1 : -1]
        predictions, _ = simulator.unroll(start, actions[:, WARM_UP - 1 : -1], feed, observed)
        return ((predictions - frames[:, WARM_UP:]) ** 2).sum()

    gradients = torch.autograd.grad(loss(), parameters, allow_unused=True)
    analytic = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True) if g is not None)
    step = 1e-7
    values = []
    with torch.no_grad():
        for sign in (1, -2):
            for parameter, d in zip(parameters, direction, strict=True):
                parameter += sign * step * d
            values.append(float(loss()))
    numeric = (values[0] - values[1]) / (2 * step)
    assert abs(analytic) > 1
    assert analytic == pytest.approx(numeric, rel=1e-5)


@pytest.mark.parametrize("variant", ["base", "pi-h"])
def test_gradient_reaches_the_warm_up_unless_the_state_is_detached(variant: str) -> None:
    simulator = small_simulator(variant)
    frames, actions = random_sequence(batch=1, length=5)
    frames.requires_grad_()
    state = simulator.warm_up(frames[:, :3], actions[:, :2])
    through = torch.autograd.grad(simulator.unroll(state, actions[:, 2:4])[0].sum(), frames, retain_graph=True)[0]
    assert through[0, :2].abs().amax(dim=(1, 2, 3)).min() > 0
    predictions, _ = simulator.unroll(state.detach(), actions[:, 2:4])
    assert torch.autograd.grad(predictions.sum(), frames, allow_unused=True)[0] is None


def test_part_of_a_warm_up_can_learn() -> None:
    """As prediction-independent training does: s_k is detached, encodings from x_k on receive gradient."""
    simulator = small_simulator("pi-h")
    frames, actions = random_sequence(batch=1, length=6)
    frames.requires_grad_()
    early = simulator.warm_up(frames[:, :3], actions[:, :2]).detach()
    late = simulator.observe(early, frames[:, 2:4], actions[:, 2:4])[-1].seen(frames[:, 4])
    gradient = torch.autograd.grad(simulator.unroll(late, actions[:, 4:])[0].sum(), frames)[0]
    reached = gradient.abs().amax(dim=(0, 2, 3, 4)) > 0
    assert reached.tolist() == [False, False, True, True, False, False]  # x_5 is only x_τ, which PI does not read


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_depends_on_values(variant: str) -> None:
    """On the meta device any branch on a tensor's value fails: what runs there can be captured and compiled."""
    simulator = small_simulator(variant).to("meta")
    frames = torch.empty(2, 6, 3, HEIGHT, WIDTH, dtype=torch.float64, device="meta")
    actions = torch.empty(2, 6, dtype=torch.int64, device="meta")
    state = simulator.warm_up(frames[:, :2], actions[:, :1])
    predictions, last = simulator.unroll(state, actions[:, 1:5], "oppo", frames[:, 1:5])
    assert predictions.shape == (2, 4, 3, HEIGHT, WIDTH)
    assert simulator.decode(simulator.jump(last, actions[:, :2])).shape == (2, 3, HEIGHT, WIDTH)


def test_wrong_feeds_are_refused() -> None:
    simulator = small_simulator("base")
    state, observed, actions = warmed(simulator)
    with pytest.raises(ValueError, match="feed must be 4 letters"):
        simulator.unroll(state, actions, "op", observed)
    with pytest.raises(ValueError, match="feed must be"):
        simulator.unroll(state, actions, "oxpp", observed)
    with pytest.raises(ValueError, match="none were given"):
        simulator.unroll(state, actions, "oopp")


def test_frames_of_another_size_are_refused() -> None:
    simulator = small_simulator("base")
    with pytest.raises(UserError, match="frames of 16x19 RGB, not"):
        simulator.normalise(torch.zeros(2, 19, 16, 3, dtype=torch.uint8))
    with pytest.raises(UserError, match="16x19 RGB"):
        simulator.normalise(torch.zeros(2, 16, 19, dtype=torch.uint8))  # indices, but no palette
