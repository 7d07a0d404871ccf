"""What the encoder and the decoder of kernels have in common: layers with their weights, and memory for pictures.

Frames are (N, H+2p, W+2p, 4): three colours and a zero, within the zeros that pad the first convolution, so that the
next step reads a predicted frame as it was written. Rectifiers are part of the convolutions before them; what comes
out of a rectifier is kept, and its sign tells the way back.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from framedream.fast.backend import FIXED, RANDOM, Backend, Rectified
from framedream.fast.later import Notes, add_gradient
from framedream.fast.layers import Layer, accurate
from framedream.fast.pictures import Pictures
from framedream.fast.slopes import rectifier_salt


class LayerWeights:
    """A layer's weight in both packed forms, its bias, and notes for their gradients."""

    def __init__(
        self, layer: Layer, source: nn.Conv2d | nn.ConvTranspose2d, backend: Backend, kind: torch.dtype
    ) -> None:
        self.layer, self._source, self._backend, self._kind = layer, source, backend, kind
        self.notes = Notes()
        self._encodes = isinstance(source, nn.Conv2d)
        channels = layer.coarse_channels if self._encodes else layer.fine_channels
        self.bias = torch.zeros(channels, dtype=accurate(kind), device=source.weight.device)
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


class Half(nn.Module):
    """The encoder or the decoder; layers are counted from the frame inwards in both."""

    def __init__(
        self,
        convolutions: list[nn.Module],
        rectifiers: list[nn.Module],
        layers: list[Layer],
        backend: Backend,
        kind: torch.dtype,
        seed: Tensor,
        first_rectifier: int,
    ) -> None:
        super().__init__()
        self.layers, self.backend = layers, backend
        self.weights = []
        for layer, part in zip(layers, convolutions, strict=True):
            assert isinstance(part, nn.Conv2d | nn.ConvTranspose2d)
            self.weights.append(LayerWeights(layer, part, backend, kind))
        self.random_slopes = bool(rectifiers) and bool(rectifiers[0].random)
        slopes = RANDOM if self.random_slopes else FIXED
        self._rectifiers = [
            Rectified(slopes, seed, rectifier_salt(first_rectifier + number)) for number in range(len(layers) - 1)
        ]
        self._rooms: list[Pictures] = []

    def room(self, *shape: int) -> Pictures:
        """Memory for pictures of one kind, to be begun with in every update."""
        self._rooms.append(Pictures(*shape))
        return self._rooms[-1]

    def begin(self) -> None:
        """A new update: the memory of the last one is free again."""
        for pictures in self._rooms:
            pictures.begin()

    @property
    def memory_version(self) -> int:
        """Changes when memory has moved."""
        return sum(pictures.moves for pictures in self._rooms)

    def refresh(self) -> None:
        """Take over the source's weights."""
        for weights in self.weights:
            weights.refresh()

    def collect(self) -> None:
        """Add what was noted to the gradients of the source."""
        for weights in self.weights:
            weights.collect()

    def rectified(self, number: int, first: int) -> Rectified:
        """The rectifier between layers `number` and `number` + 1; outside of training its slopes are the mean."""
        return self._rectifiers[number].of(first) if self.training else Rectified(FIXED)
