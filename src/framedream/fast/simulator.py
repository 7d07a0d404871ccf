"""A simulator's double on a GPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from framedream.fast.backend import Backend, kernels
from framedream.fast.decoder import FastDecoder
from framedream.fast.double import Double
from framedream.fast.encoder import FastEncoder
from framedream.fast.graphs import StepGraphs
from framedream.fast.layers import COLOURS, layers_of
from framedream.model.simulator import Simulator, State


class FastSimulator(Double):
    """Kernels, on frames (…, H+2p, W+2p, 4) whose border and last channel are 0. In bfloat16, as a rule."""

    encoder: FastEncoder  # type: ignore[assignment]
    decoder: FastDecoder  # type: ignore[assignment]

    def __init__(self, source: Simulator, kind: torch.dtype, backend: Backend | None = None) -> None:
        device = source.background.device
        self._backend = backend or kernels()
        self._frame = layers_of(source.spec.codec)[0]
        super().__init__(source, kind)
        self._graphs = StepGraphs(lambda: self.memory_version) if device.type == "cuda" else None

    def codec_of(self, source: Simulator) -> tuple[nn.Module, nn.Module]:
        codec, planes = source.spec.codec, source.encoder.planes
        own = (self._backend, self.kind, self.slope_seed)
        return FastEncoder(source.encoder, layers_of(codec, planes), *own), FastDecoder(
            source.decoder, layers_of(codec), *own
        )

    def normalise(self, frames: Tensor) -> Tensor:
        """uint8 (…,H,W) indices or (…,H,W,3) RGB → bordered frames."""
        frames = frames.to(self.background.device)
        palette = self.palette_of(frames)
        lead = frames.shape[: -3 if palette is None else -2]
        out = torch.zeros(*lead, *self._frame.bordered, dtype=self.kind, device=frames.device)
        if frames.is_cuda:
            from framedream.fast.error import normalise_bytes

            normalise_bytes(self._frame, frames, palette, self.background, out)
        else:
            ordinary = super().normalise(frames)
            inside = self._frame.inside(out.flatten(0, -4))
            inside[..., :COLOURS] = ordinary.flatten(0, -4).permute(0, 2, 3, 1)
        return out

    def picture(self, frames: Tensor) -> Tensor:
        """Bordered frames (N,…) → (N,3,H,W) in float32."""
        inside = self._frame.inside(frames)[..., :COLOURS].permute(0, 3, 1, 2)
        return inside.to(self.background.dtype)

    def frames_of(self, pictures: Tensor) -> Tensor:
        frames = torch.zeros(len(pictures), *self._frame.bordered, dtype=self.kind, device=pictures.device)
        self._frame.inside(frames)[..., :COLOURS] = pictures.permute(0, 2, 3, 1)
        return frames

    def error(self, predictions: Tensor, frames: Tensor, moving_weight: float = 1.0) -> Tensor:
        """As the simulator's: in borders and last channels there is nothing to differ."""
        if not predictions.is_cuda:
            return super().error(predictions, frames, moving_weight)
        from framedream.fast.error import frame_error

        return frame_error(predictions, frames, moving_weight) / (3 * predictions.shape[0] * predictions.shape[1])

    def step(self, state: State, action: Tensor) -> State:
        if self._graphs is None or torch.is_grad_enabled():
            return super().step(state, action)
        return self._graphs.replayed("step", super().step, state, action)

    def jump(self, state: State, actions: Tensor) -> State:
        if self._graphs is None or torch.is_grad_enabled():
            return super().jump(state, actions)
        return self._graphs.replayed("jump", super().jump, state, actions)

    def begin(self) -> None:
        """A new update: the memory of the last one is free again."""
        self.encoder.begin()
        self.decoder.begin()

    @property
    def memory_version(self) -> int:
        """Changes whenever pictures have moved to other memory, which a captured graph would not know."""
        return self.encoder.memory_version + self.decoder.memory_version
