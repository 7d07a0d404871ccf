"""A simulator's double on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from framedream.fast.cpu_codec import CpuDecoder, CpuEncoder
from framedream.fast.double import Double
from framedream.fast.layers import layers_of
from framedream.fast.slope_pool import SlopePool
from framedream.model.simulator import Simulator


class CpuSimulator(Double):
    """Convolutions on frames (…, H, W, 3), in float32, bfloat16 or float64."""

    _actions: Tensor

    def codec_of(self, source: Simulator) -> tuple[nn.Module, nn.Module]:
        codec, planes = source.spec.codec, source.encoder.planes
        self._slopes = SlopePool(self.slope_seed)
        # A row for every action: looking one up takes a fraction of the time of `one_hot`.
        self.register_buffer("_actions", torch.eye(self.spec.actions, dtype=self.kind), persistent=False)
        encoder = CpuEncoder(source.encoder, layers_of(codec, planes, for_kernels=False), self.kind, self._slopes)
        decoder = CpuDecoder(source.decoder, layers_of(codec, for_kernels=False), self.kind, self._slopes)
        return encoder, decoder

    def normalise(self, frames: Tensor) -> Tensor:
        """uint8 (…,H,W) indices or (…,H,W,3) RGB → (…,H,W,3)."""
        return super().normalise(frames).movedim(-3, -1).to(self.kind)

    def picture(self, frames: Tensor) -> Tensor:
        """(N,H,W,3) → (N,3,H,W) in float32."""
        return frames.movedim(-1, -3).to(self.background.dtype)

    def frames_of(self, pictures: Tensor) -> Tensor:
        return pictures.movedim(-3, -1).to(self.kind)

    def error(self, predictions: Tensor, frames: Tensor, moving_weight: float = 1.0) -> Tensor:
        if moving_weight != 1:
            return super().error(predictions, frames, moving_weight)
        # One pass there and one back instead of one for every operation.
        squares = functional.mse_loss(predictions.to(self.accurate), frames.to(self.accurate), reduction="sum")
        return squares / (3 * predictions.shape[0] * predictions.shape[1])

    def begin(self) -> None:
        self._slopes.begin()

    def _one_hot(self, actions: Tensor) -> Tensor:
        return self._actions.index_select(0, actions)
