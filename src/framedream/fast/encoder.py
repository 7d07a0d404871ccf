"""The encoder on bordered, channels-last frames, with a backward pass of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from framedream.fast.backend import Backend, Rectified
from framedream.fast.half import Half
from framedream.fast.layers import COLOURS, Layer
from framedream.model.activation import RReLU
from framedream.model.frames import Encoder


class FastEncoder(Half):
    """𝒞 as `Encoder`, of bordered frames."""

    def __init__(self, source: Encoder, layers: list[Layer], backend: Backend, kind: torch.dtype, seed: Tensor) -> None:
        parts = list(source.convolutions), list(source.rectifiers)
        super().__init__(*parts, layers, backend, kind, seed, first_rectifier=0)
        self.planes = source.planes
        inner = layers[1:]
        self.pictures = [self.room(*layer.bordered) for layer in inner]
        self.gradients = [self.room(*layer.fine, layer.fine_channels) for layer in inner]
        last = layers[-1]
        self.last_gradients = self.room(*last.coarse, last.coarse_channels)
        self.frame_gradients = self.room(*layers[0].bordered)
        # The encoding's own rectifier, where there is one, is the ordinary one: it is small, and flattened already.
        self.last_rectifier = RReLU(self.random_slopes) if len(source.rectifiers) == len(layers) else None
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
            rectified = self.rectified(number, first)
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
                rectified = self.rectified(number - 1, first).of(first, layer.inside(fine))
                self.backend.up(layer, coarse, weights.up, before, None, rectified)
                coarse = before
        if not wanted:
            return None
        frames = self.frame_gradients.at(first, len(coarse), coarse)
        self.backend.up(self.layers[0], coarse, self.weights[0].up, self.layers[0].inside(frames), None, Rectified())
        return frames

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
