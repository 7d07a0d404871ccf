"""The encoder and the decoder on bordered, channels-last frames, with backward passes of their own.

Frames are (N, H+2p, W+2p, 4): three colours and a zero, within the zeros that pad the first convolution, so that the
next step reads a predicted frame as it was written. Rectifiers are part of the convolutions before them; what comes
out of a rectifier is kept, and its sign tells the way back.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from framedream.fast.backend import FIXED, RANDOM, Backend, Rectified
from framedream.fast.later import LaterDense, Notes, add_gradient
from framedream.fast.layers import COLOURS, Layer
from framedream.fast.pictures import Pictures
from framedream.fast.slopes import rectifier_salt
from framedream.model.activation import RReLU
from framedream.model.frames import Decoder, Encoder


class LayerWeights:
    """A layer's weight in both packed forms, its bias, and notes for their gradients."""

    def __init__(
        self, layer: Layer, source: nn.Conv2d | nn.ConvTranspose2d, backend: Backend, kind: torch.dtype
    ) -> None:
        self.layer, self._source, self._backend, self._kind = layer, source, backend, kind
        self.notes = Notes()
        self._encodes = isinstance(source, nn.Conv2d)
        channels = layer.coarse_channels if self._encodes else layer.fine_channels
        accurate = torch.float64 if kind == torch.float64 else torch.float32
        self.bias = torch.zeros(channels, dtype=accurate, device=source.weight.device)
        self.down = backend.pack_down(layer, source.weight.detach(), kind)
        self.up = backend.pack_up(layer, source.weight.detach(), kind)

    def refresh(self) -> None:
        weight, bias = self._source.weight.detach(), self._source.bias
        assert bias is not None
        self.down.copy_(self._backend.pack_down(self.layer, weight, self._kind))
        self.up.copy_(self._backend.pack_up(self.layer, weight, self._kind))
        self.bias[: len(bias)].copy_(bias.detach())

    def collect(self) -> None:
        weight, bias = self._source.weight, self._source.bias
        assert bias is not None
        for fine, coarse in self.notes.take():
            found = self._backend.weight_gradient(self.layer, fine, coarse)
            add_gradient(weight, self.layer.unpack_gradient(found, weight.shape[1]))
            # A bias was added to every pixel of what its layer made.
            add_gradient(bias, self._backend.channel_sums(coarse if self._encodes else fine)[: len(bias)])


class FastEncoder(nn.Module):
    """𝒞 as `Encoder`, of bordered frames."""

    def __init__(self, source: Encoder, layers: list[Layer], backend: Backend, kind: torch.dtype, seed: Tensor) -> None:
        super().__init__()
        self.planes, self.layers, self.backend = source.planes, layers, backend
        convolutions = [part for part in source.convolutions if isinstance(part, nn.Conv2d)]
        self.weights = [
            LayerWeights(layer, part, backend, kind) for layer, part in zip(layers, convolutions, strict=True)
        ]
        inner = layers[1:]
        self.pictures = [Pictures(*layer.bordered) for layer in inner]
        self.gradients = [Pictures(*layer.fine, layer.fine_channels) for layer in inner]
        last = layers[-1]
        self.last_gradients = Pictures(*last.coarse, last.coarse_channels)
        self.frame_gradients = Pictures(*layers[0].bordered)
        self._all_pictures = (*self.pictures, *self.gradients, self.last_gradients, self.frame_gradients)
        # The encoding's own rectifier, where there is one, is the ordinary one: it is small, and flattened already.
        random = bool(source.rectifiers) and bool(source.rectifiers[0].random)
        self.last_rectifier = RReLU(random) if len(source.rectifiers) == len(layers) else None
        slopes = RANDOM if random else FIXED
        self.rectified = [Rectified(slopes, seed, rectifier_salt(number)) for number in range(len(inner))]
        # Asks for a gradient where observed frames do not, so that autograd comes by.
        self._anchor = torch.zeros(0, device=seed.device, requires_grad=True)

    def forward(self, frames: Tensor, action: Tensor) -> Tensor:
        if self.planes:
            frames = self._with_planes(frames, action)
        encoding: Tensor
        if torch.is_grad_enabled():
            encoding = _Encode.apply(frames, self._anchor, self)  # type: ignore[no-untyped-call]
        else:
            encoding, _, _ = self.encode(frames, keep=False)
        return encoding if self.last_rectifier is None else self.last_rectifier(encoding)

    def encode(self, frames: Tensor, keep: bool) -> tuple[Tensor, list[Tensor], int]:
        """The encoding before its rectifier; with `keep`, the pictures on the way and the number of the first."""
        count, first = len(frames), 0
        fine, passed = frames, [frames]
        for number, (layer, weights) in enumerate(zip(self.layers, self.weights, strict=True)):
            if number + 1 == len(self.layers):
                # Flattened as the paper's tensors are: channel by channel.
                encoding = frames.new_empty(count, layer.coarse_channels, *layer.coarse)
                self.backend.down(layer, fine, weights.down, encoding.permute(0, 2, 3, 1), weights.bias, Rectified())
                return encoding.flatten(1), passed, first
            pictures = self.pictures[number]
            fine_after, first = pictures.take(count, frames) if keep else (pictures.borrow(count, frames), 0)
            rectified = self._rectified(number, first)
            inside = self.layers[number + 1].inside(fine_after)
            self.backend.down(layer, fine, weights.down, inside, weights.bias, rectified)
            fine = fine_after
            passed.append(fine)
        raise AssertionError("a codec has layers")

    def way_back(self, gradient: Tensor, passed: list[Tensor], first: int, wanted: bool) -> Tensor | None:
        """The way back: notes for every layer, and the gradient of the frames if it is wanted."""
        last = self.layers[-1]
        coarse = self.last_gradients.at(first, len(gradient), gradient)
        coarse.copy_(gradient.reshape(-1, last.coarse_channels, *last.coarse).permute(0, 2, 3, 1))
        for number in reversed(range(len(self.layers))):
            layer, weights, fine = self.layers[number], self.weights[number], passed[number]
            weights.notes.add(fine, coarse)
            if number > 0:
                before = self.gradients[number - 1].at(first, len(coarse), coarse)
                rectified = self._rectified(number - 1, first).of(first, layer.inside(fine))
                self.backend.up(layer, coarse, weights.up, before, None, rectified)
                coarse = before
        if not wanted:
            return None
        frames = self.frame_gradients.at(first, len(coarse), coarse)
        self.backend.up(self.layers[0], coarse, self.weights[0].up, self.layers[0].inside(frames), None, Rectified())
        return frames

    def begin(self) -> None:
        for pictures in self._all_pictures:
            pictures.begin()

    @property
    def memory_version(self) -> int:
        return sum(pictures.moves for pictures in self._all_pictures)

    def refresh(self) -> None:
        for weights in self.weights:
            weights.refresh()

    def collect(self) -> None:
        for weights in self.weights:
            weights.collect()

    def _rectified(self, number: int, first: int) -> Rectified:
        return self.rectified[number].of(first) if self.training else Rectified(FIXED)

    def _with_planes(self, frames: Tensor, action: Tensor) -> Tensor:
        """The one-hot action as planes of ones and zeros behind the colours, within the border only."""
        layer = self.layers[0]
        planes = frames.new_zeros(len(frames), *layer.bordered[:2], layer.fine_channels - COLOURS)
        layer.inside(planes)[..., : self.planes] = action[:, None, None, :].to(frames.dtype)
        return torch.cat([frames[..., :COLOURS], planes], dim=3)


class _Encode(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, frames: Tensor, anchor: Tensor, encoder: FastEncoder) -> Tensor:
        encoding, ctx.passed, ctx.first = encoder.encode(frames, keep=True)
        ctx.encoder = encoder
        return encoding

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        return ctx.encoder.way_back(gradient, ctx.passed, ctx.first, ctx.needs_input_grad[0]), None, None


class FastDecoder(nn.Module):
    """𝒟 as `Decoder`, giving bordered frames."""

    def __init__(self, source: Decoder, layers: list[Layer], backend: Backend, kind: torch.dtype, seed: Tensor) -> None:
        super().__init__()
        self.layers, self.backend = layers, backend  # from the frame inwards, as the encoder's
        convolutions = [part for part in source.convolutions if isinstance(part, nn.ConvTranspose2d)][::-1]
        self.weights = [
            LayerWeights(layer, part, backend, kind) for layer, part in zip(layers, convolutions, strict=True)
        ]
        inner = layers[1:]
        self.pictures = [Pictures(*layer.fine, layer.fine_channels) for layer in inner]
        self.gradients = [Pictures(*layer.bordered) for layer in inner]
        self.frames, self.frame_gradients = Pictures(*layers[0].bordered), Pictures(*layers[0].bordered)
        self.starts = Pictures(*layers[-1].coarse, layers[-1].coarse_channels)
        self.start_gradients = Pictures(*layers[-1].coarse, layers[-1].coarse_channels)
        own = (self.frames, self.frame_gradients, self.starts, self.start_gradients)
        self._all_pictures = (*own, *self.pictures, *self.gradients)
        random = bool(source.rectifiers) and source.rectifiers[0].random
        slopes = RANDOM if random else FIXED
        self.rectified = [Rectified(slopes, seed, rectifier_salt(100 + number)) for number in range(len(inner))]
        self.hidden_factor = None if source.hidden_factor is None else LaterDense(source.hidden_factor.weight, kind)
        self.action_factor = None if source.action_factor is None else LaterDense(source.action_factor.weight, kind)
        self.expand = Expansion(source.expand, kind, layers[-1])

    def forward(self, hidden: Tensor, action: Tensor) -> Tensor:
        if self.hidden_factor is not None and self.action_factor is not None:
            hidden = self.hidden_factor(hidden) * self.action_factor(action)
        start = self.expand(hidden)
        frames: Tensor
        if torch.is_grad_enabled():
            frames = _Decode.apply(start, self)  # type: ignore[no-untyped-call]
        else:
            frames, _, _ = self.decode(start, keep=False)
        return frames

    def decode(self, start: Tensor, keep: bool) -> tuple[Tensor, list[Tensor], int]:
        """Bordered frames; with `keep`, also the pictures on the way (from the frame inwards) and their number."""
        count, first = len(start), 0
        if keep:
            coarse, first = self.starts.take(count, start)
            coarse.copy_(start)
        else:
            coarse = start
        passed = [coarse]
        for number in reversed(range(1, len(self.layers))):
            layer, weights, pictures = self.layers[number], self.weights[number], self.pictures[number - 1]
            fine = pictures.at(first, count, start) if keep else pictures.borrow(count, start)
            self.backend.up(layer, coarse, weights.up, fine, weights.bias, self._rectified(number - 1, first))
            coarse = fine
            passed.insert(0, coarse)
        layer, weights = self.layers[0], self.weights[0]
        # Frames that are not kept for a backward pass are kept by whoever asked for them.
        frames = self.frames.at(first, count, start) if keep else self.backend.fresh(layer, count, start)
        self.backend.up(layer, coarse, weights.up, layer.inside(frames), weights.bias, Rectified())
        return frames, passed, first

    def way_back(self, gradient: Tensor, passed: list[Tensor], first: int) -> Tensor:
        """The way back: notes for every layer, and the gradient of what the decoder began with."""
        fine = self.frame_gradients.at(first, len(gradient), gradient)
        fine.copy_(gradient)
        for number, (layer, weights, coarse) in enumerate(zip(self.layers, self.weights, passed, strict=True)):
            weights.notes.add(fine, coarse)
            if number + 1 == len(self.layers):
                start = self.start_gradients.at(first, len(fine), fine)
                self.backend.down(layer, fine, weights.down, start, None, Rectified())
                return start
            before = self.gradients[number].at(first, len(fine), fine)
            rectified = self._rectified(number, first).of(first, coarse)
            self.backend.down(layer, fine, weights.down, self.layers[number + 1].inside(before), None, rectified)
            fine = before
        raise AssertionError("a codec has layers")

    def begin(self) -> None:
        for pictures in self._all_pictures:
            pictures.begin()

    @property
    def memory_version(self) -> int:
        return sum(pictures.moves for pictures in self._all_pictures)

    def refresh(self) -> None:
        for weights in self.weights:
            weights.refresh()

    def collect(self) -> None:
        for weights in self.weights:
            weights.collect()

    def _rectified(self, number: int, first: int) -> Rectified:
        return self.rectified[number].of(first) if self.training else Rectified(FIXED)


class _Decode(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, start: Tensor, decoder: FastDecoder) -> Tensor:
        frames, ctx.passed, ctx.first = decoder.decode(start, keep=True)
        ctx.decoder = decoder
        return frames

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.decoder.way_back(gradient, ctx.passed, ctx.first), None


class Expansion(nn.Module):
    """The decoder's fully-connected layer, whose outputs come channels last: its rows are in another order."""

    order: Tensor

    def __init__(self, source: nn.Linear, kind: torch.dtype, layer: Layer) -> None:
        super().__init__()
        self._source = (source,)
        self._shape = (*layer.coarse, layer.coarse_channels)
        numbers = torch.arange(source.out_features, device=source.weight.device)
        order = numbers.reshape(layer.coarse_channels, *layer.coarse).permute(1, 2, 0).flatten()
        self.register_buffer("order", order, persistent=False)
        self.later = LaterDense(source.weight, kind, order=order)
        self.bias = nn.Parameter(source.bias.detach()[order].to(kind))

    def forward(self, x: Tensor) -> Tensor:
        start: Tensor = self.later(x) + self.bias
        return start.reshape(-1, *self._shape)

    def refresh(self) -> None:
        self.later.refresh()
        self.bias.data.copy_(self._source[0].bias.detach()[self.order])

    def collect(self) -> None:
        self.later.collect()
        if self.bias.grad is not None:
            gradient = torch.zeros_like(self.bias.grad)
            gradient[self.order] = self.bias.grad
            add_gradient(self._source[0].bias, gradient)
            self.bias.grad = None
