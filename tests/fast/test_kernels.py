"""The Triton kernels compute what ordinary convolutions do: interpreted where there is no GPU, compiled where there is.

Interpreted they run in float64, so that a forgotten tap or a border that is written to shows at once.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from convolved import Convolved
from small_simulators import narrowed
from torch import Tensor
from torch.nn import functional

GPU = torch.cuda.is_available()
pytest.importorskip("triton")

from framedream.fast.backend import FIXED, NONE, RANDOM, Rectified  # noqa: E402
from framedream.fast.error import frame_error, normalise_bytes  # noqa: E402
from framedream.fast.gating import FusedGating  # noqa: E402
from framedream.fast.layers import Layer, layers_of  # noqa: E402
from framedream.fast.on_gpu import Tiled, down_tile, gradient_tile, up_tile  # noqa: E402
from framedream.fast.simulator import FastSimulator  # noqa: E402
from framedream.fast.slopes import hashed_slopes, rectifier_salt, slope_seed  # noqa: E402
from framedream.model.activation import HIGHEST, LOWEST, MEAN_SLOPE  # noqa: E402
from framedream.model.cell import Gating  # noqa: E402
from framedream.model.codec_spec import CodecSpec, Convolution  # noqa: E402
from framedream.model.simulator import Simulator, SimulatorSpec  # noqa: E402
from framedream.model.statistics import FrameStatistics  # noqa: E402

DEVICE = "cuda" if GPU else "cpu"
KIND = torch.float32 if GPU else torch.float64
CLOSE = 2e-2 if GPU else 1e-9  # a GPU multiplies float32 in tf32
FRAMES = 3
KERNELS = Tiled()

LAYERS = {
    "frames, padded at the sides": (Convolution(8, 8, (0, 1)), (18, 20), 3),
    "odd sizes": (Convolution(8, 6, (1, 1)), (15, 14), 16),
    "odd sizes without padding": (Convolution(16, 4, (0, 0)), (13, 11), 8),
    "wide padding": (Convolution(32, 6, (2, 2)), (9, 11), 16),
    "few channels": (Convolution(5, 6, (2, 2)), (10, 12), 6),
}


class Case:
    """A layer, pictures on both of its sides and a weight between them."""

    def __init__(self, name: str) -> None:
        torch.manual_seed(0)
        convolution, size, channels = LAYERS[name]
        codec = CodecSpec(*size, (convolution,))
        held = 4 if channels == 3 else channels
        self.layer = replace(layers_of(codec)[0], fine_channels=held)
        self.convolution, self.channels = convolution, channels
        self.missing = codec.output_paddings[0]
        self.fine = torch.randn(FRAMES, channels, *size, dtype=KIND, device=DEVICE)
        self.coarse = torch.randn(FRAMES, convolution.filters, *codec.sizes[1], dtype=KIND, device=DEVICE)
        kernel = (convolution.kernel, convolution.kernel)
        self.weight = torch.randn(convolution.filters, channels, *kernel, dtype=KIND, device=DEVICE) / 10
        self.bordered = torch.zeros(FRAMES, *self.layer.bordered, dtype=KIND, device=DEVICE)
        self.layer.inside(self.bordered)[..., :channels] = self.fine.permute(0, 2, 3, 1)
        self.coarse_last = self.coarse.permute(0, 2, 3, 1).contiguous()


@pytest.fixture(params=LAYERS)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def shifts_of(layer: Layer) -> tuple[int, int]:
    return 1, layer.half


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=CLOSE, rtol=CLOSE)


def test_down_is_the_convolution_with_bias_and_rectifier(case: Case) -> None:
    layer = case.layer
    bias = torch.randn(layer.coarse_channels, dtype=KIND, device=DEVICE)
    expected = functional.conv2d(case.fine, case.weight, bias, 2, case.convolution.padding)
    for shifts in shifts_of(layer):
        tile = down_tile(layer, FRAMES) | {"SHIFTS": shifts, "BM": 32, "BK": 16}
        for rectified, change in ((NONE, 1.0), (FIXED, MEAN_SLOPE)):
            out = torch.full_like(case.coarse_last, torch.nan)
            KERNELS.down(layer, case.bordered, layer.pack_down(case.weight), out, bias, Rectified(rectified), tile)
            assert_close(out.permute(0, 3, 1, 2), torch.where(expected >= 0, expected, expected * change))


def test_up_is_the_transposed_convolution_and_leaves_borders_alone(case: Case) -> None:
    layer = case.layer
    missing = case.missing
    expected = functional.conv_transpose2d(case.coarse, case.weight, None, 2, case.convolution.padding, missing)
    for shifts in shifts_of(layer):
        tile = up_tile(layer, FRAMES) | {"SHIFTS": shifts, "BM": 32, "BN": 16, "BK": 16}
        out = torch.zeros_like(case.bordered)
        layer.inside(out).fill_(torch.nan)
        KERNELS.up(layer, case.coarse_last, layer.pack_up(case.weight), layer.inside(out), None, Rectified(), tile)
        assert_close(layer.inside(out)[..., : case.channels].permute(0, 3, 1, 2), expected)
        layer.inside(out).zero_()
        assert not out.any()
        alone = torch.full((FRAMES, *layer.fine, layer.fine_channels), torch.nan, dtype=KIND, device=DEVICE)
        KERNELS.up(layer, case.coarse_last, layer.pack_up(case.weight), alone, None, Rectified(), tile)
        assert_close(alone[..., : case.channels].permute(0, 3, 1, 2), expected)


def test_the_gradient_of_a_weight_is_the_convolutions(case: Case) -> None:
    layer, padding = case.layer, case.convolution.padding
    expected = torch.nn.grad.conv2d_weight(case.fine, case.weight.shape, case.coarse, 2, padding)
    for shifts in shifts_of(layer):
        for programs in (1, 7):  # one split, and several that are added up
            tile = gradient_tile(layer, FRAMES) | {"SHIFTS": shifts, "BT": 64, "PROGRAMS": programs}
            found = KERNELS.weight_gradient(layer, case.bordered, case.coarse_last, tile)
            assert_close(layer.unpack_gradient(found, case.channels), expected.to(found.dtype))


def test_sums_of_channels(case: Case) -> None:
    for pictures in (case.bordered, case.coarse_last):
        assert_close(KERNELS.channel_sums(pictures), pictures.sum((0, 1, 2)))


def double(variant: str, rrelu: str, backend: Tiled | Convolved) -> tuple[Simulator, FastSimulator]:
    torch.manual_seed(0)
    codec = CodecSpec(22, 20, (Convolution(16, 8, (0, 1)), Convolution(8, 6, (1, 1)), Convolution(8, 4, (1, 1))))
    spec = narrowed(SimulatorSpec.named(variant, codec, 3, "signal-preserving", rrelu), 24, 40)  # type: ignore[arg-type]
    palette = torch.randint(256, (256, 3), dtype=torch.uint8)
    simulator = Simulator(spec, FrameStatistics(torch.rand(3, 22, 20), palette)).to(DEVICE, KIND)
    fast = FastSimulator(simulator, KIND, backend)
    fast._graphs = None
    fast.slope_seed.fill_(slope_seed(7))
    for module in fast.modules():
        if isinstance(module, torch.nn.Module) and type(module).__name__ == "RReLU":
            module.random = False  # these draw from torch's generator; those in kernels by their hash
    return simulator, fast


@pytest.mark.parametrize("rrelu", ["fixed", "random"])
@pytest.mark.parametrize("variant", ["base", "h-iz2816-2conv-a", "action-planes"])
def test_a_whole_update_is_the_one_of_ordinary_convolutions(variant: str, rrelu: str) -> None:
    frames = torch.randint(256, (2, 6, 22, 20), dtype=torch.uint8, generator=torch.Generator().manual_seed(1)).to(
        DEVICE
    )
    actions = torch.randint(3, (2, 6), generator=torch.Generator().manual_seed(2)).to(DEVICE)
    found = []
    for backend in (Convolved(), Tiled()):
        simulator, fast = double(variant, rrelu, backend)
        if isinstance(backend, Tiled):
            fast.cell.gating = FusedGating(fast.cell.gating.hidden)
        for _ in range(2):  # the second update has its pictures in one piece of memory
            simulator.zero_grad()
            fast.begin()
            seen = fast.normalise(frames)
            state = fast.warm_up(seen[:, :3], actions[:, :2])
            predicted, _ = fast.unroll_states(state, actions[:, 2:5], "opp", observed=seen[:, 2:5])
            if isinstance(backend, Tiled):
                error = frame_error(predicted, seen[:, 3:], 3.0)
            else:
                differences = (predicted - seen[:, 3:]).square()
                moving = (seen[:, 3:].abs() > 0.5 / 255).any(-1, keepdim=True)
                error = (differences * torch.where(moving, 3.0, 1.0)).sum()
            error.backward()
            fast.collect()
        gradients = {name: p.grad.clone() for name, p in simulator.named_parameters() if p.grad is not None}
        found.append((predicted.detach(), error.detach(), gradients))
    (predicted, error, gradients), (other, other_error, others) = found
    assert gradients.keys() == others.keys()
    # Gates and errors are computed in float32 even here.
    close = 5e-2 if GPU else 1e-5
    torch.testing.assert_close(other, predicted, atol=close, rtol=close)
    torch.testing.assert_close(other_error.double(), error.double(), rtol=close, atol=0)
    for name, gradient in gradients.items():
        scale = gradient.abs().max()
        assert (others[name] - gradient).abs().max() <= close * scale, name


def test_random_slopes_are_uniform_and_new_in_every_update() -> None:
    shape = (4, 50, 40, 16)
    slopes = hashed_slopes(slope_seed(0) & 0xFFFFFFFF, 0, shape, torch.device("cpu")).double()
    assert slopes.min() >= LOWEST and slopes.max() < HIGHEST
    uniform = (slopes - LOWEST) / (HIGHEST - LOWEST)
    # 128,000 numbers: the mean of uniform ones is within 0.003 of a half in all but one of 1,000 tries.
    assert abs(uniform.mean() - 0.5) < 0.003
    assert abs(uniform.var() - 1 / 12) < 0.002
    counts = torch.histc(uniform, 16, 0, 1) / uniform.numel()
    assert (counts - 1 / 16).abs().max() < 0.004
    for other in (
        hashed_slopes(slope_seed(1) & 0xFFFFFFFF, 0, shape, torch.device("cpu")),  # the next update
        hashed_slopes(
            (slope_seed(0) ^ rectifier_salt(1)) & 0xFFFFFFFF, 0, shape, torch.device("cpu")
        ),  # another rectifier
        hashed_slopes(slope_seed(0) & 0xFFFFFFFF, 4, shape, torch.device("cpu")),  # the next frames
        slopes.flatten().roll(1).reshape(shape),  # the neighbouring channel
        slopes.roll(1, 2),  # the neighbouring pixel
    ):
        pair = torch.stack([slopes.flatten(), other.double().flatten()])
        assert abs(torch.corrcoef(pair)[0, 1]) < 0.015


def test_bytes_become_bordered_frames() -> None:
    for indexed in (True, False):
        for varied in (True, False):
            layer = Case("frames, padded at the sides").layer
            frames = torch.randint(256, (2, 3, *layer.fine, *([] if indexed else [3])), dtype=torch.uint8)
            palette = torch.randint(256, (256, 3), dtype=torch.uint8)
            background = torch.rand(3, *(layer.fine if varied else (1, 1)))
            colours = palette[frames.int()] if indexed else frames
            expected = colours / 255 - background.permute(1, 2, 0)
            out = torch.zeros(2, 3, *layer.bordered, device=DEVICE)
            given = (frames.to(DEVICE), palette.to(DEVICE), background.to(DEVICE))
            normalise_bytes(layer, given[0], given[1] if indexed else None, given[2], out)
            inside = layer.inside(out.flatten(0, 1))
            torch.testing.assert_close(inside[..., :3].reshape(expected.shape).cpu(), expected)
            inside[..., :3].zero_()
            assert not out.any()


@pytest.mark.parametrize("addition", [False, True])
def test_gates(addition: bool) -> None:
    torch.manual_seed(0)
    size, readers = 40, 5 if addition else 4
    given = [torch.randn(3, readers * size, device=DEVICE), torch.randn(3, size, device=DEVICE)]
    given += [torch.randn(3, size, device=DEVICE)] if addition else []
    found = []
    for gating in (Gating(size), FusedGating(size)):
        leaves = [tensor.clone().requires_grad_() for tensor in given]
        bias = leaves[0][:1].expand(3, -1)
        hidden, cell = gating([bias, leaves[0], leaves[0] * 0.5], leaves[1], leaves[2] if addition else None)
        (hidden.square().sum() + (cell * torch.arange(size, device=DEVICE)).sum()).backward()
        found.append([hidden, cell, *(leaf.grad for leaf in leaves)])
    for expected, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)


def test_rectifiers_go_back_where_they_came_from() -> None:
    """Random slopes: the backward pass finds the slopes of the forward pass, wherever the tiles lie."""
    case = Case("odd sizes")
    layer, seed = case.layer, torch.tensor(slope_seed(3), dtype=torch.int32, device=DEVICE)
    rectified = Rectified(RANDOM, seed, rectifier_salt(5), first_frame=11)
    out = torch.empty_like(case.coarse_last)
    KERNELS.down(layer, case.bordered, layer.pack_down(case.weight), out, None, rectified)
    before = functional.conv2d(case.fine, case.weight, None, 2, case.convolution.padding).permute(0, 2, 3, 1)
    shape = (FRAMES, *layer.coarse, layer.coarse_channels)
    own = (slope_seed(3) ^ rectifier_salt(5)) & 0xFFFFFFFF
    slopes = hashed_slopes(own, 11, shape, torch.device(DEVICE)).to(KIND)
    expected = torch.where(before >= 0, before, before * slopes)
    torch.testing.assert_close(out, expected, atol=max(CLOSE, 1e-5), rtol=max(CLOSE, 1e-5))  # slopes are float32
