"""How parameters start: Torch's bounds exactly, or so that a small object stays visible up to the predicted frame."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch
from small_simulators import narrowed

from framedream.model.codec_spec import ATARI, CodecSpec, codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics
from framedream.model.variants import VARIANTS

BLOB = (0.36, 0.64, 0.86)  # Pong's ball on Pong's background
LAST = 5


def new_simulator(
    name: str,
    codec: CodecSpec,
    initialisation: Literal["torch", "signal-preserving"],
    hidden: int = 1024,
    fused: int = 2048,
    actions: int = 3,
) -> Simulator:
    torch.manual_seed(0)
    spec = narrowed(SimulatorSpec.named(name, codec, actions, initialisation), hidden, fused)
    return Simulator(spec, FrameStatistics(torch.zeros(3, 1, 1), None)).eval()


def assert_uniform(parameter: torch.Tensor, inputs: int) -> None:
    """U(±1/√inputs), to the accuracy that the number of draws allows."""
    bound = 1 / math.sqrt(inputs)
    values = parameter.detach().flatten()
    assert values.abs().max() <= bound
    assert values.abs().max() > bound * (1 - 10 / len(values))
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=3 / math.sqrt(len(values)))


def test_torch_s_default() -> None:
    simulator = new_simulator("base", ATARI, "torch", actions=18)
    encoder, decoder = simulator.encoder.convolutions, simulator.decoder.convolutions
    for convolution, inputs in zip(encoder, [8 * 8 * 3, 6 * 6 * 64, 6 * 6 * 32, 4 * 4 * 32], strict=True):
        assert_uniform(convolution.weight, inputs)
        assert_uniform(convolution.bias, inputs)
    # Torch's full convolutions count input planes too, where PyTorch's own default counts output planes.
    for convolution, inputs in zip(decoder, [4 * 4 * 32, 6 * 6 * 32, 6 * 6 * 32, 8 * 8 * 64], strict=True):
        assert_uniform(convolution.weight, inputs)
        if len(convolution.bias) > 3:
            assert_uniform(convolution.bias, inputs)
    assert_uniform(simulator.decoder.expand.weight, 1024)
    assert_uniform(simulator.decoder.expand.bias, 1024)
    product = simulator.cell.fusions["v"].products[0]
    assert_uniform(product.hidden.weight, 1024)
    assert_uniform(product.others["a"].weight, 18)
    assert_uniform(simulator.cell.reads["v"].weight, 2048)
    assert_uniform(simulator.cell.reads["z"].weight, 2816)
    # The sum of the two layers' biases.
    bias = simulator.cell.bias.detach()
    assert bias.abs().max() <= 1 / math.sqrt(2048) + 1 / math.sqrt(2816)
    assert bias.std() == pytest.approx(math.sqrt((1 / 2048 + 1 / 2816) / 3), rel=0.05)


def test_torch_s_default_for_convolved_states() -> None:
    simulator = new_simulator("2conv", codec_for(64, 64), "torch")
    reads = simulator.cell.reads["z"]
    for parameter in (reads.weight, reads.inner_weight, reads.inner_bias):
        assert_uniform(parameter, 3 * 3 * 32)
    simulator = new_simulator("iz", codec_for(32, 32), "torch")
    assert_uniform(simulator.cell.encoding_projection.weight, 2048)
    assert_uniform(simulator.cell.encoding_bias, 2048)


@pytest.mark.parametrize("initialisation", ["torch", "signal-preserving"])
@pytest.mark.parametrize("name", VARIANTS)
def test_every_parameter_is_set(name: str, initialisation: Literal["torch", "signal-preserving"]) -> None:
    """In deterministic mode new memory is filled with NaN: whatever the initialisation forgets would keep it."""
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3).isnan().all()
        simulator = new_simulator(name, codec_for(16, 16).scaled(0.2), initialisation, hidden=20, fused=30)
    finally:
        torch.use_deterministic_algorithms(False)
    for place, parameter in simulator.named_parameters():
        assert parameter.isfinite().all(), place


def moving_blob(codec: CodecSpec) -> torch.Tensor:
    """Five frames of a 4x4 object on an empty background, normalised."""
    frames = torch.zeros(1, LAST, 3, codec.height, codec.width)
    for time in range(LAST):
        top, left = codec.height // 2 + time, codec.width // 2 + 2 * time
        frames[0, time, :, top : top + 4, left : left + 4] = torch.tensor(BLOB)[:, None, None]
    return frames


def signal(simulator: Simulator) -> tuple[float, float]:
    """What the blob changes (root mean square): in the encoding, and in the prediction after five frames."""
    frames = moving_blob(simulator.spec.codec)
    actions = torch.tensor([[0, 2, 1, 0, 1]])
    with torch.no_grad():
        one_hot = torch.eye(simulator.spec.actions)[actions[:, -1]]
        seen, empty = (simulator.encoder(f[:, -1], one_hot) for f in (frames, torch.zeros_like(frames)))
        predictions = [
            simulator.decode(simulator.observe(simulator.initial_state(1), f, actions)[-1])
            for f in (frames, torch.zeros_like(frames))
        ]
    return float((seen - empty).square().mean().sqrt()), float((predictions[0] - predictions[1]).square().mean().sqrt())


@pytest.mark.parametrize("name", VARIANTS)
def test_a_small_object_stays_visible(name: str) -> None:
    codec = codec_for(64, 64).scaled(0.5)
    faint_encoding, faint_output = signal(new_simulator(name, codec, "torch", hidden=512, fused=768))
    encoding, output = signal(new_simulator(name, codec, "signal-preserving", hidden=512, fused=768))
    assert encoding > 5 * faint_encoding and 0.01 < encoding < 0.3
    # W^h h ⊗ W^z z ⊗ W^a a starts with an h that is still small.
    assert output > 100 * faint_output and (2e-4 if "hz" in name else 1e-3) < output < 0.05


def test_a_small_object_stays_visible_on_atari() -> None:
    encoding, output = signal(new_simulator("base", ATARI, "signal-preserving"))
    assert encoding > 0.005 and output > 5e-4


def test_places_stay_places() -> None:
    """What is seen in one place changes the prediction mostly around that place, before anything was learnt."""
    simulator = new_simulator("base", codec_for(64, 64).scaled(0.5), "signal-preserving")
    frames, actions = moving_blob(simulator.spec.codec), torch.zeros(1, LAST, dtype=torch.int64)
    with torch.no_grad():
        seen, empty = (
            simulator.decode(simulator.observe(simulator.initial_state(1), f, actions)[-1])
            for f in (frames, torch.zeros_like(frames))
        )
    energy = (seen - empty).square().sum(dim=(0, 1))
    near = energy[24:48, 24:52].sum() / energy.sum()
    assert near > 2.5 * (24 * 28) / 64**2
