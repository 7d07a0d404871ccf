"""Which pixels move: on most frames nearly everything stands still, and a still picture predicts that part for free."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor

MovingRule = Literal["differs from the training median", "changed since the last observed frame"]
FROM_MEDIAN: MovingRule = "differs from the training median"
SINCE_LAST: MovingRule = "changed since the last observed frame"
LARGEST_SHARE = 0.5


def moving_pixels(rule: MovingRule, now: Tensor, last: Tensor, median: Tensor) -> Tensor:
    """The mask (B, H, W) of pixels that move between bytes `last` (x_τ) and `now` (x_t), both (B, H, W, 3)."""
    if rule == FROM_MEDIAN:
        return ((now != median) | (last != median)).any(-1)
    return (now != last).any(-1)


def choose_rule(pairs: Iterable[tuple[Tensor, Tensor]], median: Tensor) -> MovingRule:
    """The rule for a data set, from pairs (now, last) of its training frames.

    Where the camera itself moves, nearly every pixel differs from any one image, and "moving" would mean "all".
    """
    shares = [moving_pixels(FROM_MEDIAN, now, last, median).float().mean() for now, last in pairs]
    return FROM_MEDIAN if float(torch.stack(shares).mean()) <= LARGEST_SHARE else SINCE_LAST
