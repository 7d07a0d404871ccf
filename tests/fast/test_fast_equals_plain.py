"""Both fast codecs, and the cell beside them, are the same functions as the plain definition, gradients included."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from convolved import Convolved
from small_simulators import narrowed, small_simulator
from torch import Tensor

from framedream.fast.cpu_simulator import CpuSimulator
from framedream.fast.double import Double
from framedream.fast.simulator import FastSimulator
from framedream.fast.slope_pool import SlopePool
from framedream.fast.slopes import hashed_slopes, rectifier_salt
from framedream.model.activation import RReLU, given_slopes
from framedream.model.codec_spec import CodecSpec, Convolution, codec_for
from framedream.model.simulator import Simulator, SimulatorSpec, State
from framedream.model.statistics import FrameStatistics
from framedream.model.variants import VARIANTS
from framedream.training.objective import predict_segment
from framedream.training.scheme import Phase

Make = Callable[[Simulator, torch.dtype], Double]
DOUBLES: dict[str, Make] = {
    "cpu": CpuSimulator,
    # What kernels compute on a GPU, by ordinary convolutions: all but the kernels themselves.
    "kernels": lambda simulator, kind: FastSimulator(simulator, kind, Convolved()),
}
BATCH, WARM_UP = 2, 3
EXACT = torch.autocast("cpu", enabled=False)

Learnt = tuple[list[Tensor], dict[str, Tensor]]
"""Losses, predictions and last states of the segments of an update, and the gradients of all parameters."""


def bytes_of(simulator: Simulator, length: int, batch: int = BATCH) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    size = (simulator.spec.codec.height, simulator.spec.codec.width)
    frames = torch.randint(256, (batch, length, *size, 3), generator=generator, dtype=torch.uint8)
    return frames, torch.randint(simulator.spec.actions, (batch, length), generator=generator)


def learnt(source: Simulator, computing: Simulator, phase: Phase, moving_weight: float = 1.0) -> Learnt:
    """All segments of an update, as training computes them."""
    frames, actions = bytes_of(source, phase.sequence_length)
    state: State | None = None
    found: list[Tensor] = []
    source.zero_grad(set_to_none=True)
    if isinstance(computing, Double):
        computing.begin()
    for segment in range(phase.segments):
        rows = phase.rows_of(segment)
        loss, states = predict_segment(
            computing, computing.normalise(frames[:, rows]), actions[:, rows], state, phase, EXACT, moving_weight
        )
        loss.backward()
        state = states[-1].detach()
        assert state.frame is not None
        found += [loss.detach(), computing.picture(state.frame), state.hidden, state.cell]
    if isinstance(computing, Double):
        computing.collect()
    return found, {name: p.grad.clone() for name, p in source.named_parameters() if p.grad is not None}


def assert_same(ours: Learnt, theirs: Learnt, bound: float) -> None:
    """Within a bound on the distance of each tensor, as a part of its length."""
    assert ours[1].keys() == theirs[1].keys()
    names = [*map(str, range(len(ours[0]))), *ours[1]]
    for name, one, other in zip(names, [*ours[0], *ours[1].values()], [*theirs[0], *theirs[1].values()], strict=True):
        assert apart(one, other) <= bound, f"{name} differs by {apart(one, other):.2g}"


def apart(one: Tensor, other: Tensor) -> float:
    """The distance of two tensors as a part of the second one's length."""
    distance, length = (one.double() - other.double()).norm(), other.double().norm()
    return 0.0 if distance == 0 else float(distance / length)


def feeds_for(simulator: Simulator) -> list[Phase]:
    if simulator.prediction_independent:
        return [Phase(1, "pppp", warm_up=WARM_UP + 2, warm_up_grad=3)]
    return [Phase(1, "opop", 2, WARM_UP), Phase(1, "oopp", 1, WARM_UP, 2)]


@pytest.mark.parametrize("double", DOUBLES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_learns_the_same(variant: str, double: str) -> None:
    simulator = small_simulator(variant, rrelu="fixed", spread=0.25).train()
    fast = DOUBLES[double](simulator, torch.float64)
    for phase in feeds_for(simulator):
        assert_same(learnt(simulator, fast, phase), learnt(simulator, simulator, phase), 1e-6)


@pytest.mark.parametrize("double", DOUBLES)
@pytest.mark.parametrize("feed", ["oooo", "pppp", "oppo"])
def test_every_feed_learns_the_same_with_weighted_pixels(feed: str, double: str) -> None:
    simulator = small_simulator("base", rrelu="fixed", spread=0.25).train()
    fast, phase = DOUBLES[double](simulator, torch.float64), Phase(1, feed, 2, WARM_UP)
    assert_same(learnt(simulator, fast, phase, 7.0), learnt(simulator, simulator, phase, 7.0), 1e-6)


# Every way in which a picture is not cut into whole cells: odd paddings, dropped rows and columns, odd frames.
CODECS = {
    "atari": codec_for(210, 160).scaled(0.1),
    "torcs": codec_for(180, 180).scaled(0.1),
    "maze": codec_for(48, 48).scaled(0.1),
    "demo": codec_for(64, 64).scaled(0.1),
    "odd": codec_for(33, 47).scaled(0.1),
    "wide": codec_for(16, 61).scaled(0.1),
    "padded": CodecSpec(21, 18, (Convolution(5, 8, (3, 2)), Convolution(6, 4, (1, 0)))),
}


def of_codec(codec: CodecSpec, kind: torch.dtype, background: tuple[int, ...] = (3, 1, 1)) -> Simulator:
    spec = narrowed(SimulatorSpec.named("base", codec, 3, rrelu="fixed"), 12, 9)
    torch.manual_seed(0)
    simulator = Simulator(spec, FrameStatistics(torch.full(background, 0.4), None)).to(kind).train()
    with torch.no_grad():
        for parameter in simulator.parameters():
            parameter.mul_(1.5)
    return simulator


@pytest.mark.parametrize("double", DOUBLES)
@pytest.mark.parametrize("name", CODECS)
def test_every_size_learns_the_same(name: str, double: str) -> None:
    simulator = of_codec(CODECS[name], torch.float64)
    fast, phase = DOUBLES[double](simulator, torch.float64), Phase(1, "op", 1, 2)
    assert_same(learnt(simulator, fast, phase), learnt(simulator, simulator, phase), 1e-6)


@pytest.mark.parametrize(("kind", "bound"), [(torch.float32, 1e-5), (torch.bfloat16, 0.03)])
@pytest.mark.parametrize("name", CODECS)
def test_rounding_stays_small(name: str, kind: torch.dtype, bound: float) -> None:
    """Of the whole gradient: single parameters of such small layers can differ by several times as much."""
    simulator = of_codec(CODECS[name], torch.float32)
    fast, phase = CpuSimulator(simulator, kind), Phase(1, "op", 1, 2)
    (ours, our_gradients), (theirs, their_gradients) = (learnt(simulator, one, phase) for one in (fast, simulator))
    whole = [torch.cat([part.flatten() for part in found.values()]) for found in (our_gradients, their_gradients)]
    for one, other in zip([*ours, whole[0]], [*theirs, whole[1]], strict=True):
        assert apart(one, other) <= bound


@pytest.mark.parametrize("variant", ["base", "h-iz2816-2conv", "h-iz2816-2conv-da", "oh2015", "action-planes"])
@pytest.mark.parametrize(("kind", "bound"), [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_without_gradients_all_is_packed_and_the_same(variant: str, kind: torch.dtype, bound: float) -> None:
    simulator = small_simulator(variant, spread=0.25)
    fast = CpuSimulator(simulator if kind == torch.float64 else simulator.float(), kind).eval()
    frames, actions = bytes_of(simulator, WARM_UP + 4)
    with torch.inference_mode():
        states = []
        for one in (simulator, fast):
            state = one.warm_up(one.normalise(frames[:, :WARM_UP]), actions[:, : WARM_UP - 1])
            for action in actions[:, WARM_UP:].unbind(1):
                state = one.step(state, action)
            assert state.frame is not None
            states.append((one.picture(state.frame), state.hidden, state.cell))
        for plain, ours in zip(*states, strict=True):
            assert apart(ours, plain) <= bound


def test_a_double_sees_new_weights_once_it_is_refreshed() -> None:
    simulator = small_simulator("h-iz2816-2conv").float()
    fast = CpuSimulator(simulator, torch.bfloat16).eval()
    frames, actions = bytes_of(simulator, 4)

    def seen() -> Tensor:
        with torch.inference_mode():
            return fast.picture(fast.decode(fast.warm_up(fast.normalise(frames), actions[:, :-1])))

    before = seen()
    with torch.no_grad():
        for parameter in simulator.parameters():
            parameter.mul_(1.1)
    fast.refresh()
    refreshed = seen()
    fast = CpuSimulator(simulator, torch.bfloat16).eval()
    assert torch.equal(seen(), refreshed) and not torch.equal(refreshed, before)


def as_the_plain_one_has_them(simulator: Simulator, double: str, seed: int) -> dict[str, Tensor]:
    """The slopes that a double draws for the first frames an update encodes and decodes, by the rectifiers' names."""
    codec, pool = simulator.spec.codec, SlopePool(torch.tensor(seed, dtype=torch.int32))
    sizes = list(zip(codec.sizes[1:], (layer.filters for layer in codec.layers), strict=True))
    salts, slopes = {"encoder": 0, "decoder": 100}, {}
    encoded = [(f"encoder.rectifiers.{number}", number, *size) for number, size in enumerate(sizes)]
    # The decoder's layers are numbered from the frame inwards, its rectifiers the other way.
    inwards = list(enumerate(sizes[:-1]))
    decoded = [(f"decoder.rectifiers.{place}", number, *size) for place, (number, size) in enumerate(reversed(inwards))]
    for name, number, (height, width), channels in [*encoded, *decoded]:
        shape = (BATCH, height, width, channels)
        if double == "cpu":
            drawn = pool.draw(torch.empty(shape, dtype=torch.float64))
        else:
            salt = rectifier_salt(salts[name.partition(".")[0]] + number)
            drawn = hashed_slopes((seed ^ salt) & 0xFFFFFFFF, 0, shape, torch.device("cpu")).double()
        slopes[name] = drawn.permute(0, 3, 1, 2)
    return slopes


@pytest.mark.parametrize("double", DOUBLES)
def test_random_slopes_are_those_that_were_drawn(double: str) -> None:
    """One step, so that every rectifier is met once: the plain one is given the slopes that the double draws."""
    seed, phase = 12345, Phase(1, "p", 1, 1)
    simulator = small_simulator("base", spread=0.25).train()
    fast = DOUBLES[double](simulator, torch.float64)
    fast.slope_seed.fill_(seed)
    slopes = as_the_plain_one_has_them(simulator, double, seed)
    assert all(0.12 < part.min() < 0.2 < 0.26 < part.max() < 0.34 for part in slopes.values())
    # The kernels leave the rectifier after the last convolution to the ordinary one.
    last = [name for name, part in fast.named_modules() if isinstance(part, RReLU)]
    given = given_slopes(fast, {name: slopes[f"encoder.rectifiers.{len(simulator.encoder.rectifiers) - 1}"].flatten(1)
                                for name in last})  # fmt: skip
    with given:
        ours = learnt(simulator, fast, phase)
    with given_slopes(simulator, slopes):
        theirs = learnt(simulator, simulator, phase)
    assert_same(ours, theirs, 1e-6)
    fast.slope_seed.fill_(seed + 1)
    assert not torch.equal(learnt(simulator, fast, phase)[0][0], ours[0][0])
