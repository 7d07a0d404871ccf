"""What the doubles of a simulator have in common: the same functions of the same weights, computed in other ways.

A double answers the calls of `Simulator` and is used in its place. It takes the weights over with `refresh`; gradients
go back to the parameters of the simulator that it doubles with `collect`.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from framedream.fast.later import LaterDense, add_gradient
from framedream.fast.later_convolutions import LaterConvolutions
from framedream.fast.layers import accurate
from framedream.model.cell import Cell, Gating
from framedream.model.operations import Convolutions, Dense
from framedream.model.simulator import JUST_VISIBLE, Simulator, State


@runtime_checkable
class Part(Protocol):
    """What looks after weights of its own."""

    def refresh(self) -> None:
        """Take over the source's weights."""

    def collect(self) -> None:
        """Add the gradients of an update to the source's."""


class Double(Simulator):
    """A simulator's double, on the device that the simulator is on."""

    slope_seed: Tensor
    """What random slopes of rectifiers are drawn by; one int32, to be changed from update to update."""

    def __init__(self, source: Simulator, kind: torch.dtype) -> None:
        nn.Module.__init__(self)
        self._source = (source,)
        self.spec, self.kind = source.spec, kind
        device = source.background.device
        self.register_buffer("background", source.background, persistent=False)
        self.register_buffer("palette", source.palette, persistent=False)
        self.register_buffer("slope_seed", torch.zeros((), dtype=torch.int32, device=device), persistent=False)
        self.encoder, self.decoder = self.codec_of(source)  # type: ignore[assignment]
        self.cell = _fast_cell(source.cell, kind)
        self.prediction_cell = None if source.prediction_cell is None else _fast_cell(source.prediction_cell, kind)
        self.train(source.training)
        self.refresh()

    @abstractmethod
    def codec_of(self, source: Simulator) -> tuple[nn.Module, nn.Module]:
        """The doubles of its encoder and decoder."""

    @abstractmethod
    def begin(self) -> None:
        """A new update: what the last one needed for its way back is needed no more."""

    @property
    def memory_version(self) -> int:
        """Changes whenever an update's pictures have moved to other memory, which a captured graph would not know."""
        return 0

    @property
    def accurate(self) -> torch.dtype:
        """What sums and c are kept in."""
        return accurate(self.kind)

    def to_bytes(self, frames: Tensor) -> Tensor:
        return super().to_bytes(self.picture(frames))

    def error(self, predictions: Tensor, frames: Tensor, moving_weight: float = 1.0) -> Tensor:
        """As the simulator's, of frames whose last dimension are the channels."""
        squares = (predictions - frames).square()
        if moving_weight != 1:
            moving = (frames.abs() > JUST_VISIBLE).any(dim=-1, keepdim=True)
            squares = squares * torch.where(moving, moving_weight, 1.0)
        return squares.sum(dim=(2, 3, 4), dtype=self.accurate).mean() / 3

    def initial_state(self, batch: int) -> State:
        state = super().initial_state(batch)
        return State(state.hidden, state.cell.to(self.accurate), state.action)

    @torch.no_grad()
    def refresh(self) -> None:
        """Take over the source's weights."""
        for part in self._parts():
            part.refresh()
        for mine, theirs in self._ordinary():
            mine.copy_(theirs)

    @torch.no_grad()
    def collect(self) -> None:
        """Add the gradients of this update to those of the source's parameters."""
        for part in self._parts():
            part.collect()
        for mine, theirs in self._ordinary():
            if mine.grad is not None:
                add_gradient(theirs, mine.grad)
                mine.grad = None

    def _parts(self) -> list[Part]:
        """All but the matrix of the decoder's first layer, which that layer looks after."""
        other = (self, self.decoder.expand.later)
        return [module for module in self.modules() if isinstance(module, Part) and module not in other]

    def _ordinary(self) -> list[tuple[nn.Parameter, nn.Parameter]]:
        """Parameters that are computed with as they are, biases mostly, each with its source's."""
        pairs = []
        (source,) = self._source
        for mine, theirs in ((self.cell, source.cell), (self.prediction_cell, source.prediction_cell)):
            if mine is not None and theirs is not None:
                own = dict(theirs.named_parameters())
                pairs += [(p, own[name]) for name, p in mine.named_parameters(recurse=False)]
        return pairs


def _fast_cell(source: Cell, kind: torch.dtype) -> Cell:
    """A copy whose operations on streams leave their weights' gradients for later."""
    copy = deepcopy(source).to(kind)
    on_gpu = source.bias.is_cuda
    for name, part in source.named_modules():
        fast: nn.Module
        if isinstance(part, Dense):
            fast = LaterDense(part.weight, kind, part.copies, part.own_input)
        elif isinstance(part, Convolutions):
            fast = LaterConvolutions(part, kind, spread=on_gpu)
        elif isinstance(part, Gating) and on_gpu:
            from framedream.fast.gating import FusedGating

            fast = FusedGating(part.hidden)
        else:
            continue
        parent, _, own = name.rpartition(".")
        setattr(copy.get_submodule(parent), own, fast)
    return copy
