"""Frame codecs and statistics: exact sizes, and bytes that survive the way in and out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from framedream.errors import UserError
from framedream.model.codec_spec import ATARI, MAZE, TORCS, CodecSpec, Convolution, codec_for
from framedream.model.frames import Decoder, Encoder
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics


@pytest.mark.parametrize(
    ("codec", "sizes", "encoding"),
    [
        (ATARI, [(210, 160), (102, 78), (50, 38), (24, 18), (11, 8)], 2816),
        (TORCS, [(180, 180), (87, 87), (41, 41), (18, 18), (8, 8)], 2048),
        (MAZE, [(48, 48), (22, 22), (10, 10), (5, 5)], 1600),
    ],
)
def test_the_paper_s_codecs(codec: CodecSpec, sizes: list[tuple[int, int]], encoding: int) -> None:
    assert codec_for(codec.height, codec.width) is codec
    assert codec.sizes == sizes
    assert codec.encoding_size == encoding
    encoder = Encoder(codec, rectify_last=True, planes=0, random_slopes=True)
    seen = []
    for convolution in encoder.convolutions:
        convolution.register_forward_hook(lambda _, __, output: seen.append(tuple(output.shape[-2:])))
    assert encoder(torch.zeros(1, 3, codec.height, codec.width), torch.zeros(1, 1)).shape == (1, encoding)
    assert seen == sizes[1:]


def test_the_race_track_s_decoder_adds_what_its_strides_dropped() -> None:
    assert TORCS.output_paddings == [(0, 0), (1, 1), (1, 1), (0, 0)]
    assert ATARI.output_paddings == [(0, 0)] * 4
    assert [layer.filters for layer in ATARI.layers] == [64, 32, 32, 32]
    assert [layer.kernel for layer in TORCS.layers] == [8, 6, 6, 4]


SIZES = [(16, 16), (16, 300), (17, 31), (64, 64), (72, 96), (84, 84), (105, 80), (119, 47), (128, 128), (240, 320)]


@pytest.mark.parametrize(("height", "width"), [*SIZES, (210, 160), (180, 180), (48, 48)])
def test_every_size_is_reconstructed_exactly(height: int, width: int) -> None:
    codec = codec_for(height, width).scaled(0.1)
    decoder = Decoder(codec, hidden=7, random_slopes=False)
    assert decoder(torch.zeros(2, 7), torch.zeros(2, 1)).shape == (2, 3, height, width)
    encoder = Encoder(codec, rectify_last=False, planes=2, random_slopes=False)
    assert encoder(torch.zeros(2, 3, height, width), torch.eye(2)).shape == (2, codec.encoding_size)
    assert len(codec.layers) >= 2
    if max(height, width) < 4 * min(height, width):
        assert 4 <= max(codec.sizes[-1]) <= 11


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_every_pixel_is_read_and_drawn(height: int, width: int) -> None:
    """Also the last rows and columns of odd sizes."""
    codec = codec_for(height, width).scaled(0.1)
    encoder = Encoder(codec, rectify_last=False, planes=0, random_slopes=False)
    frames = torch.rand(1, 3, height, width, requires_grad=True)
    encoder(frames, torch.zeros(1, 1)).pow(2).sum().backward()
    assert frames.grad is not None and (frames.grad.abs().sum(dim=(0, 1)) > 0).all()
    decoder = Decoder(codec, hidden=7, random_slopes=False)
    difference = decoder(torch.ones(1, 7), torch.zeros(1, 1)) - decoder(-torch.ones(1, 7), torch.zeros(1, 1))
    assert (difference.abs().sum(dim=(0, 1)) > 0).all()


def test_small_frames_are_refused() -> None:
    with pytest.raises(UserError, match="at least 16x16"):
        codec_for(15, 40)
    with pytest.raises(UserError, match="too small for this codec"):
        CodecSpec(16, 16, (Convolution(8, 8, (0, 0)), Convolution(8, 8, (0, 0))))


def test_narrower_codecs_keep_their_geometry() -> None:
    narrow = ATARI.scaled(0.25)
    assert [layer.filters for layer in narrow.layers] == [16, 8, 8, 8]
    assert narrow.sizes == ATARI.sizes


def simulator_with(statistics: FrameStatistics, height: int = 16, width: int = 16) -> Simulator:
    return Simulator(SimulatorSpec.named("h-iz2816-2conv-a", codec_for(height, width).scaled(0.1), 2), statistics)


@pytest.mark.parametrize("shape", [(3, 1, 1), (3, 16, 16)])
def test_all_bytes_survive_the_round_trip(shape: tuple[int, int, int]) -> None:
    simulator = simulator_with(FrameStatistics(torch.rand(shape), None))
    frames = torch.arange(256, dtype=torch.uint8).reshape(16, 16, 1).repeat(2, 5, 1, 1, 3)
    frames[..., 1] = 255 - frames[..., 1]
    normalised = simulator.normalise(frames)
    assert normalised.shape == (2, 5, 3, 16, 16)
    assert normalised.dtype == torch.float32
    assert torch.equal(simulator.to_bytes(normalised), frames)
    expected = frames[1, 2, 3, 4].double() / 255 - simulator.background.expand(3, 16, 16)[:, 3, 4]
    torch.testing.assert_close(normalised[1, 2, :, 3, 4].double(), expected, rtol=0, atol=1e-6)


def test_indices_are_looked_up_and_rgb_is_still_understood() -> None:
    palette = torch.randint(0, 256, (256, 3), dtype=torch.uint8)
    simulator = simulator_with(FrameStatistics(torch.zeros(3, 1, 1), palette))
    indices = torch.randint(0, 256, (2, 3, 16, 16), dtype=torch.uint8)
    colours = palette[indices.long()]
    assert torch.equal(simulator.to_bytes(simulator.normalise(indices)), colours)
    assert torch.equal(simulator.normalise(colours), simulator.normalise(indices))


def test_predictions_outside_the_range_are_clamped_for_display_only() -> None:
    simulator = simulator_with(FrameStatistics(torch.zeros(3, 1, 1), None))
    frames = torch.tensor([-0.5, 0.5, 1.5])[:, None, None].expand(1, 3, 16, 16)
    assert simulator.to_bytes(frames)[0, 0, 0].tolist() == [0, 128, 255]


def test_statistics_travel_with_the_parameters() -> None:
    palette = torch.randint(0, 256, (256, 3), dtype=torch.uint8)
    given = FrameStatistics(torch.rand(3, 16, 16), palette)
    simulator = simulator_with(given)
    stored = simulator.state_dict()
    rebuilt = simulator_with(FrameStatistics(stored["background"], stored["palette"]))
    rebuilt.load_state_dict(stored)
    assert torch.equal(rebuilt.statistics.background, given.background)
    assert torch.equal(rebuilt.statistics.palette, palette)
    assert "palette" not in simulator_with(FrameStatistics(torch.zeros(3, 1, 1), None)).state_dict()


def test_measured_statistics() -> None:
    generator = np.random.default_rng(0)
    frames = generator.integers(0, 256, (2100, 11, 7, 3), dtype=np.uint8)
    first = frames[:2048].astype(np.float64)
    mean = FrameStatistics.measured(frames).background.numpy()
    np.testing.assert_allclose(mean[:, 0, 0], first.mean(axis=(0, 1, 2)) / 255, rtol=1e-6)
    image = FrameStatistics.measured(frames, background="mean-image").background.numpy()
    np.testing.assert_allclose(image, first.mean(axis=0).transpose(2, 0, 1) / 255, rtol=1e-6)
    median = FrameStatistics.measured(frames, background="median-image").background.numpy()
    np.testing.assert_allclose(median, np.median(first, axis=0).transpose(2, 0, 1) / 255, rtol=1e-6)


def test_measured_statistics_of_indexed_frames() -> None:
    generator = np.random.default_rng(0)
    palette = generator.integers(0, 256, (256, 3), dtype=np.uint8)
    indices = generator.integers(0, 256, (31, 10, 6), dtype=np.uint8)
    for background in ("channel-mean", "mean-image", "median-image"):
        ours = FrameStatistics.measured(indices, palette, background)
        theirs = FrameStatistics.measured(palette[indices], background=background)
        assert torch.equal(ours.background, theirs.background)
        assert np.array_equal(ours.palette, palette)


def test_impossible_statistics_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3,1,1\) or \(3,H,W\)"):
        FrameStatistics(torch.zeros(3), None)
    with pytest.raises(ValueError, match="palette"):
        FrameStatistics(torch.zeros(3, 1, 1), torch.zeros(16, 3, dtype=torch.uint8))
    with pytest.raises(UserError, match="at least one frame"):
        FrameStatistics.measured(np.zeros((0, 16, 16, 3), np.uint8))
