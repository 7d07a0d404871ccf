"""Random slopes of RReLU as a function of a seed and a place, so that a backward pass can draw them again."""

from __future__ import annotations

import torch
from torch import Tensor

from framedream.model.activation import HIGHEST, LOWEST

_MASK = 0xFFFFFFFF


def hashed_slopes(seed: int, first_frame: int, shape: tuple[int, int, int, int], device: torch.device) -> Tensor:
    """Slopes for (N, H, W, C) numbers, float32; `kernels.hashed_slope` draws the very same ones.

    The hash is a multiply-and-shift mixer of 32 bits (unsigned arithmetic, written here in 64); its upper bits count.
    """
    frames, height, width, channels = shape
    start = first_frame * height * width * channels
    x = torch.arange(start, start + frames * height * width * channels, dtype=torch.int64, device=device)
    x = (x * 0x9E3779B1 & _MASK) ^ seed
    x = (x ^ (x >> 15)) * 0x846CA68B & _MASK
    uniform = (x >> 9).to(torch.float32) * 2**-23
    return (LOWEST + (HIGHEST - LOWEST) * uniform).reshape(shape)


def slope_seed(update: int) -> int:
    """The seed of an update, as an int32: successive ones have nothing in common."""
    x = (update + 1) * 0x9E3779B1 & _MASK
    x = (x ^ (x >> 16)) * 0x7FEB352D & _MASK
    x = (x ^ (x >> 15)) * 0x846CA68B & _MASK
    x = x ^ (x >> 16)
    return x - 2**32 if x >= 2**31 else x


def rectifier_salt(number: int) -> int:
    """What tells a rectifier from the others: together with an update's seed it must look like another update's."""
    return slope_seed(2**31 + number)  # no run has as many updates
