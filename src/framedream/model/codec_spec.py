"""Frame codecs as data: the encoder's convolutions, mirrored by the decoder (appendices B.1, B.2 and B.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from framedream.errors import UserError

STRIDE = 2
SMALLEST_FRAME = 16
LARGEST_ENCODING = 11  # cells along the longer side; the paper's encodings are 5 to 11 cells wide


@dataclass(frozen=True)
class Convolution:
    """One encoder layer, of stride 2; the decoder has its mirror image."""

    filters: int
    kernel: int
    padding: tuple[int, int]  # height, width


@dataclass(frozen=True)
class CodecSpec:
    """How frames of one size become encodings z, and states become frames again."""

    height: int
    width: int
    layers: tuple[Convolution, ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise UserError("A frame codec needs at least one convolution.")
        for size, layer in zip(self.sizes, self.layers, strict=False):
            if any(n + 2 * p < layer.kernel for n, p in zip(size, layer.padding, strict=True)):
                raise UserError(
                    f"A {self.height}x{self.width} frame is too small for this codec: a kernel of {layer.kernel} "
                    f"meets only {size[0]}x{size[1]} cells; use fewer layers or larger frames."
                )

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Height and width of the frame and of what every layer makes of it."""
        sizes = [(self.height, self.width)]
        for layer in self.layers:
            (height, width), (pad_height, pad_width) = sizes[-1], layer.padding
            sizes.append(
                (
                    (height + 2 * pad_height - layer.kernel) // STRIDE + 1,
                    (width + 2 * pad_width - layer.kernel) // STRIDE + 1,
                )
            )
        return sizes

    @property
    def output_paddings(self) -> list[tuple[int, int]]:
        """Rows and columns that each layer's mirror image must add, because the stride had dropped them."""
        missing = []
        for larger, smaller, layer in zip(self.sizes, self.sizes[1:], self.layers, strict=False):
            rows, columns = (
                n - ((m - 1) * STRIDE + layer.kernel - 2 * p)
                for n, m, p in zip(larger, smaller, layer.padding, strict=True)
            )
            missing.append((rows, columns))
        return missing

    @property
    def encoding_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of z before it is flattened."""
        return (self.layers[-1].filters, *self.sizes[-1])

    @property
    def encoding_size(self) -> int:
        return math.prod(self.encoding_shape)

    def scaled(self, factor: float) -> CodecSpec:
        """The same codec with its numbers of filters multiplied, for small presets."""
        layers = tuple(replace(layer, filters=max(4, round(layer.filters * factor))) for layer in self.layers)
        return replace(self, layers=layers)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CodecSpec:
        layers = tuple(
            Convolution(layer["filters"], layer["kernel"], (layer["padding"][0], layer["padding"][1]))
            for layer in data["layers"]
        )
        return cls(data["height"], data["width"], layers)


ATARI = CodecSpec(
    210,
    160,
    (
        Convolution(64, 8, (0, 1)),
        Convolution(32, 6, (1, 1)),
        Convolution(32, 6, (1, 1)),
        Convolution(32, 4, (0, 0)),
    ),
)
# "the same number of convolutional layers, filters and kernel sizes as in Atari, with no padding"
TORCS = CodecSpec(180, 180, tuple(replace(layer, padding=(0, 0)) for layer in ATARI.layers))
MAZE = CodecSpec(48, 48, tuple(Convolution(64, 6, (padding, padding)) for padding in (0, 1, 2)))


def codec_for(height: int, width: int) -> CodecSpec:
    """The paper's codec where the frame size is one of the paper's, a general one of the same kind elsewhere."""
    for codec in (ATARI, TORCS, MAZE):
        if (height, width) == (codec.height, codec.width):
            return codec
    if min(height, width) < SMALLEST_FRAME:
        raise UserError(
            f"Frames of {height}x{width} are too small for a simulator; "
            f"resize them to at least {SMALLEST_FRAME}x{SMALLEST_FRAME}."
        )
    return CodecSpec(height, width, _general_layers(height, width))


def _general_layers(height: int, width: int) -> tuple[Convolution, ...]:
    """At least two layers that halve the frame until its longer side is 11 cells or less.

    An even kernel k with padding k/2 - 1 halves any size (rounding down); kernels shrink from 8 to 4 as in the paper.
    """
    shorter, longer = sorted((height, width))
    depth = 0
    while depth < 2 or (longer > LARGEST_ENCODING and shorter >= 4):
        shorter, longer, depth = shorter // STRIDE, longer // STRIDE, depth + 1
    kernels = [6] * depth
    kernels[-1] = 4
    if depth >= 4:
        kernels[0] = 8
    filters = [64] + [32] * (depth - 1)
    return tuple(Convolution(f, k, (k // 2 - 1, k // 2 - 1)) for f, k in zip(filters, kernels, strict=True))
