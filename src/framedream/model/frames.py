"""The encoder 𝒞 and the decoder 𝒟 of a frame codec (appendices B.1, B.2 and B.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from framedream.model.activation import RReLU
from framedream.model.codec_spec import STRIDE, CodecSpec
from framedream.model.operations import Dense

COLOURS = 3


class Encoder(nn.Module):
    """Frames (N, 3, H, W) → z (N, encoding size).

    With `planes`, the one-hot action joins the colours as that many planes of zeros or ones (the paper's 𝒞𝒜).
    """

    def __init__(self, codec: CodecSpec, rectify_last: bool, planes: int, random_slopes: bool) -> None:
        super().__init__()
        self.planes = planes
        self.convolutions = nn.ModuleList()
        self.rectifiers = nn.ModuleList()
        inputs = COLOURS + planes
        for number, layer in enumerate(codec.layers, start=1):
            self.convolutions.append(nn.Conv2d(inputs, layer.filters, layer.kernel, STRIDE, layer.padding))
            if number < len(codec.layers) or rectify_last:
                self.rectifiers.append(RReLU(random_slopes))
            inputs = layer.filters

    def forward(self, frames: Tensor, action: Tensor) -> Tensor:
        if self.planes:
            planes = action[:, :, None, None].expand(-1, -1, *frames.shape[-2:])
            frames = torch.cat([frames, planes.to(frames.dtype)], dim=1)
        for number, convolution in enumerate(self.convolutions):
            frames = convolution(frames)
            if number < len(self.rectifiers):
                frames = self.rectifiers[number](frames)
        return frames.flatten(1)


class Decoder(nn.Module):
    """h (N, hidden) → predicted frames (N, 3, H, W): a fully-connected layer, then the encoder's mirror image.

    With `fused`, Oh et al.'s decoder, which reads W^h h ⊗ W^a a of that size in the place of h.
    """

    def __init__(
        self, codec: CodecSpec, hidden: int, random_slopes: bool, fused: int | None = None, actions: int = 0
    ) -> None:
        super().__init__()
        self.shape = codec.encoding_shape
        self.hidden_factor = Dense(hidden, fused) if fused else None
        self.action_factor = Dense(actions, fused) if fused else None
        self.expand = nn.Linear(fused or hidden, codec.encoding_size)
        self.convolutions = nn.ModuleList()
        self.rectifiers = nn.ModuleList(RReLU(random_slopes) for _ in codec.layers[1:])
        outputs = [COLOURS, *(layer.filters for layer in codec.layers[:-1])]
        for layer, output, missing in reversed(list(zip(codec.layers, outputs, codec.output_paddings, strict=True))):
            self.convolutions.append(
                nn.ConvTranspose2d(layer.filters, output, layer.kernel, STRIDE, layer.padding, missing)
            )

    def forward(self, hidden: Tensor, action: Tensor) -> Tensor:
        if self.hidden_factor is not None and self.action_factor is not None:
            hidden = self.hidden_factor(hidden) * self.action_factor(action)
        frames: Tensor = self.expand(hidden).reshape(-1, *self.shape)
        for number, convolution in enumerate(self.convolutions):
            frames = convolution(frames)
            if number < len(self.rectifiers):
                frames = self.rectifiers[number](frames)
        return frames
