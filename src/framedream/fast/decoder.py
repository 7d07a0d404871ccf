"""The decoder giving bordered, channels-last frames, with a backward pass of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from framedream.fast.backend import Backend, Rectified
from framedream.fast.expansion import Expansion
from framedream.fast.half import Half
from framedream.fast.later import LaterDense
from framedream.fast.layers import Layer
from framedream.model.frames import Decoder


class FastDecoder(Half):
    """𝒟 as `Decoder`, giving bordered frames."""

    def __init__(self, source: Decoder, layers: list[Layer], backend: Backend, kind: torch.dtype, seed: Tensor) -> None:
        parts = list(source.convolutions)[::-1], list(source.rectifiers)
        super().__init__(*parts, layers, backend, kind, seed, first_rectifier=100)
        inner = layers[1:]
        self.pictures = [self.room(*layer.fine, layer.fine_channels) for layer in inner]
        self.gradients = [self.room(*layer.bordered) for layer in inner]
        self.frames, self.frame_gradients = self.room(*layers[0].bordered), self.room(*layers[0].bordered)
        self.starts = self.room(*layers[-1].coarse, layers[-1].coarse_channels)
        self.start_gradients = self.room(*layers[-1].coarse, layers[-1].coarse_channels)
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
            self.backend.up(layer, coarse, weights.up, fine, weights.bias, self.rectified(number - 1, first))
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
            rectified = self.rectified(number, first).of(first, coarse)
            self.backend.down(layer, fine, weights.down, self.layers[number + 1].inside(before), None, rectified)
            fine = before
        raise AssertionError("a codec has layers")


class _Decode(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, start: Tensor, decoder: FastDecoder) -> Tensor:
        frames, ctx.passed, ctx.first = decoder.decode(start, keep=True)
        ctx.decoder = decoder
        return frames

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.decoder.way_back(gradient, ctx.passed, ctx.first), None
