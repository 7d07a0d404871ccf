"""The encoder and the decoder on a CPU: pictures channels last, each layer one convolution with all that surrounds it.

Encoding layers are convolutions of stride 2, which processors are good at as they are. Their mirror images are not:
transposed convolutions are slow where outputs are few, as a frame's colours are. They are computed as ordinary
convolutions whose outputs at one place are the four pixels of a 2×2 cell; the cells are then laid side by side.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from framedream.fast.arithmetic import Arithmetic, Manner, arithmetic_for, convolution_gradient
from framedream.fast.expansion import Expansion
from framedream.fast.later import LaterDense
from framedream.fast.layers import Layer
from framedream.fast.slope_pool import SlopePool
from framedream.model.activation import MEAN_SLOPE, RReLU
from framedream.model.codec_spec import STRIDE
from framedream.model.frames import Decoder, Encoder


class Downwards:
    """A fine picture (N, H, W, C) → a coarse one (N, h, w, C): the convolution of a layer, packed."""

    def __init__(self, layer: Layer, weight: Tensor, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._manner = Manner((layer.fine_channels, *layer.fine), STRIDE, layer.padding)
        self._packed = arithmetic.pack_convolution(weight, self._manner)

    def __call__(self, fine: Tensor, bias: Tensor | None = None, slope: float | None = None) -> Tensor:
        return self._arithmetic.convolve(fine, self._packed, bias, self._manner, slope)


class Upwards:
    """A coarse picture → a fine one: the transposed convolution of a layer with the same weight, on 2×2 cells."""

    def __init__(self, layer: Layer, weight: Tensor, arithmetic: Arithmetic) -> None:
        self._layer, self._arithmetic = layer, arithmetic
        rows, columns = (
            _cells(layer.kernel, *sizes) for sizes in zip(layer.padding, layer.fine, layer.coarse, strict=True)
        )
        self._first = rows[1], columns[1]
        self._manner = Manner((layer.coarse_channels, *layer.coarse), 1, (rows[0], columns[0]))
        coarse, fine, kernel, _ = weight.shape
        half = kernel // STRIDE
        cells = weight.reshape(coarse, fine, half, STRIDE, half, STRIDE).permute(3, 5, 1, 0, 2, 4).flip(4, 5)
        self._packed = arithmetic.pack_convolution(cells.flatten(0, 2), self._manner)

    def __call__(self, coarse: Tensor, bias: Tensor | None = None, slope: float | None = None) -> Tensor:
        """The bias is given four times: once for every pixel of a cell."""
        made = self._arithmetic.convolve(coarse, self._packed, bias, self._manner, slope)
        count, rows, columns, numbers = made.shape
        cells = made.reshape(count, rows, columns, STRIDE, numbers // STRIDE).transpose(2, 3)
        picture = cells.reshape(count, STRIDE * rows, STRIDE * columns, self._layer.fine_channels)
        (height, width), (row, column) = self._layer.fine, self._first
        return picture[:, row : row + height, column : column + width].contiguous()


def _cells(kernel: int, padding: int, fine: int, coarse: int) -> tuple[int, int]:
    """Along one dimension: the padding of the convolution that makes all cells in use, and the first pixel in use.

    The first cells hold nothing but the layer's own padding, and are left out. A last pixel that no place of the
    coarse picture reaches, where the stride had dropped one, asks for one cell more.
    """
    half = kernel // STRIDE
    added = max(0, half - 1 - padding // STRIDE)
    while True:
        first = padding - STRIDE * (half - 1 - added)
        if first + fine <= STRIDE * (coarse + 2 * added - half + 1):
            return added, first
        added += 1


class CpuLayer(nn.Module):
    """A layer of the encoder or of the decoder: its convolution, bias and rectifier, and their way back."""

    def __init__(
        self,
        layer: Layer,
        source: nn.Module,
        rectifier: RReLU | None,
        kind: torch.dtype,
        slopes: SlopePool,
    ) -> None:
        super().__init__()
        assert isinstance(source, nn.Conv2d | nn.ConvTranspose2d)
        self.layer, self._kind, self._slopes = layer, kind, slopes
        self._source = (source,)
        self._forms = (Downwards, Upwards) if isinstance(source, nn.Conv2d) else (Upwards, Downwards)
        self.slope = None if rectifier is None else MEAN_SLOPE
        self._random = rectifier is not None and rectifier.random
        self._arithmetic = arithmetic_for(kind)
        self.refresh()

    def refresh(self) -> None:
        """Take over the source's weight."""
        (source,) = self._source
        assert source.bias is not None
        weight, bias = source.weight.detach().to(self._kind), source.bias.detach().to(self._kind)
        there, back = self._forms
        self.there = there(self.layer, weight, self._arithmetic)
        self._bias = bias if there is Downwards else bias.repeat(STRIDE**2)
        self._back, self._weight = back, weight
        self._packed_back: Downwards | Upwards | None = None

    def collect(self) -> None:
        """Nothing is left to do: autograd brings its gradients to the source itself."""

    @property
    def back(self) -> Downwards | Upwards:
        """The way back of gradients, packed when the first one comes."""
        if self._packed_back is None:
            self._packed_back = self._back(self.layer, self._weight, self._arithmetic)
        return self._packed_back

    def forward(self, picture: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return self.made(picture)[0]
        (source,) = self._source
        out: Tensor = _Layered.apply(picture, source.weight, source.bias, self)  # type: ignore[no-untyped-call]
        return out

    def made(self, picture: Tensor) -> tuple[Tensor, Tensor | None]:
        """What the layer makes of a picture, and the slopes it drew for that, if it did."""
        if not (self._random and self.training):
            return self.there(picture, self._bias, self.slope), None
        out = self.there(picture, self._bias)
        slopes = self._slopes.draw(out)
        for frame, own in zip(out, slopes, strict=True):  # one by one, so that they stay in the cache
            torch.maximum(frame, frame * own, out=frame)
        return out, slopes

    def before_rectifier(self, gradient: Tensor, out: Tensor, slopes: Tensor | None) -> Tensor:
        """The gradient of what had gone into the rectifier, whose sign that of `out` tells."""
        if self.slope is None:
            return gradient
        if slopes is None:
            before: Tensor = torch.ops.aten.leaky_relu_backward(gradient, out, self.slope, True)
            return before
        before = torch.empty_like(gradient)
        for frame, given, after, own in zip(before, gradient, out, slopes, strict=True):
            torch.where(after >= 0, given, given * own, out=frame)
        return before

    def weight_gradient(self, picture: Tensor, gradient: Tensor) -> Tensor:
        fine, coarse = (picture, gradient) if self._forms[0] is Downwards else (gradient, picture)
        return convolution_gradient(fine, coarse, self._weight, self.layer.padding)


class _Layered(torch.autograd.Function):
    """Weight and bias are the source's own: their gradients go straight there."""

    @staticmethod
    def forward(ctx: Any, picture: Tensor, weight: Tensor, bias: Tensor, part: CpuLayer) -> Tensor:
        out, ctx.slopes = part.made(picture)
        ctx.part, ctx.kind = part, weight.dtype
        ctx.save_for_backward(picture, out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        picture, out = ctx.saved_tensors
        part: CpuLayer = ctx.part
        gradient = part.before_rectifier(gradient.contiguous(), out, ctx.slopes)
        back = part.back(gradient) if ctx.needs_input_grad[0] else None
        weight = part.weight_gradient(picture, gradient).to(ctx.kind)
        return back, weight, gradient.sum((0, 1, 2), dtype=ctx.kind), None


class CpuEncoder(nn.Module):
    """𝒞 as `Encoder`, of frames (N, H, W, 3)."""

    def __init__(self, source: Encoder, layers: list[Layer], kind: torch.dtype, slopes: SlopePool) -> None:
        super().__init__()
        self.planes = source.planes
        rectifiers = [*source.rectifiers, *[None] * (len(layers) - len(source.rectifiers))]
        self.layers = nn.ModuleList(
            CpuLayer(layer, convolution, rectifier, kind, slopes)
            for layer, convolution, rectifier in zip(layers, source.convolutions, rectifiers, strict=True)
        )

    def forward(self, frames: Tensor, action: Tensor) -> Tensor:
        if self.planes:
            planes = action[:, None, None, :].expand(-1, *frames.shape[1:3], -1)
            frames = torch.cat([frames, planes.to(frames.dtype)], dim=3)
        for layer in self.layers:
            frames = layer(frames)
        # Flattened as the paper's tensors are: channel by channel.
        return frames.permute(0, 3, 1, 2).flatten(1)


class CpuDecoder(nn.Module):
    """𝒟 as `Decoder`, giving frames (N, H, W, 3)."""

    def __init__(self, source: Decoder, layers: list[Layer], kind: torch.dtype, slopes: SlopePool) -> None:
        super().__init__()
        self.hidden_factor = None if source.hidden_factor is None else LaterDense(source.hidden_factor.weight, kind)
        self.action_factor = None if source.action_factor is None else LaterDense(source.action_factor.weight, kind)
        self.expand = Expansion(source.expand, kind, layers[-1])
        rectifiers = [*source.rectifiers, None]
        self.layers = nn.ModuleList(
            CpuLayer(layer, convolution, rectifier, kind, slopes)
            for layer, convolution, rectifier in zip(layers[::-1], source.convolutions, rectifiers, strict=True)
        )

    def forward(self, hidden: Tensor, action: Tensor) -> Tensor:
        if self.hidden_factor is not None and self.action_factor is not None:
            hidden = self.hidden_factor(hidden) * self.action_factor(action)
        frames: Tensor = self.expand(hidden)
        for layer in self.layers:
            frames = layer(frames)
        return frames
