"""The one recurrent cell: whatever a `TransitionSpec` says, Eqs. 2-5 of the paper and their relatives in its appendix.

A step has two halves. `prepare` computes all that does not depend on h, and may be given many time steps at once;
`forward` does the rest, one step at a time. This is what makes observation-dependent sequences fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from framedream.model.operations import Dense, StateOperation, state_operation
from framedream.model.transition_spec import TransitionSpec


@dataclass(frozen=True)
class Sizes:
    """The sizes of a cell's streams; an encoding of size 0 is an encoding that is always zero."""

    hidden: int
    fused: int
    encoding: int
    actions: int
    shape: tuple[int, int, int]  # of h, v and z where they are convolved

    def of(self, stream: str) -> int:
        return {"h": self.hidden, "z": self.encoding, "a": self.actions}.get(stream, self.fused)


@dataclass(frozen=True)
class Prepared:
    """The half of one step that does not depend on h."""

    sums: Tensor | None  # (B, readers · hidden): what gates and cell update sum up so far; None where that is nothing
    factors: tuple[Tensor, ...]  # of every product of the fused streams that read h: what is known without h
    addition: Tensor | None  # tanh of the encoding, which the gate iᶻ lets into the cell

    def over_time(self, batch: int) -> list[Prepared]:
        """Split what was prepared for `batch` sequences at once, sequence after sequence, into single steps."""
        parts = (self.sums, self.addition, *self.factors)
        length = next(len(part) for part in parts if part is not None) // batch
        steps = zip(*(_over_time(part, batch, length) for part in parts), strict=True)
        return [Prepared(sums, cast(tuple[Tensor, ...], tuple(factors)), added) for sums, added, *factors in steps]


def _over_time(part: Tensor | None, batch: int, length: int) -> Sequence[Tensor | None]:
    return [None] * length if part is None else part.reshape(batch, length, -1).unbind(1)


class Product(nn.Module):
    """One product of a fusion, such as W^h h ⊗ W^a a: its factor h, if it has one, and the others."""

    def __init__(self, factors: dict[str, StateOperation]) -> None:
        super().__init__()
        self.hidden = factors.get("h")
        self.others = nn.ModuleDict({name: factor for name, factor in factors.items() if name != "h"})

    def known(self, streams: dict[str, Tensor]) -> Tensor:
        """The product of the factors other than h."""
        factors: list[Tensor] = [operation(streams[name]) for name, operation in self.others.items()]
        return reduce(torch.mul, factors)

    def forward(self, known: Tensor, hidden: Tensor) -> Tensor:
        return known if self.hidden is None else self.hidden(hidden) * known


class Fusion(nn.Module):
    """A fused stream v, the sum of its products (Eq. 2). Fusions have no biases."""

    def __init__(
        self, products: list[list[str]], spec: TransitionSpec, sizes: Sizes, random_slopes: bool, copies: int
    ) -> None:
        super().__init__()
        self.reads_hidden = any("h" in factors for factors in products)
        self.products = nn.ModuleList()
        for factors in products:
            operations = {}
            for name in factors:
                kind = spec.fusion_operation if name == "h" else "dense"
                operations[name] = state_operation(
                    kind, sizes.of(name), sizes.fused, sizes.shape, random_slopes, copies
                )
            self.products.append(Product(operations))

    def known(self, streams: dict[str, Tensor]) -> tuple[Tensor, ...]:
        """What does not depend on h, per product."""
        return tuple(cast(Product, product).known(streams) for product in self.products)

    def forward(self, known: tuple[Tensor, ...], hidden: Tensor) -> Tensor:
        terms: list[Tensor] = [product(k, hidden) for product, k in zip(self.products, known, strict=True)]
        return reduce(torch.add, terms)


class Gating(nn.Module):
    """The end of every step: gates and cell update out of what they sum up, then the next h and c (Eqs. 3-5)."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden

    def forward(self, terms: Sequence[Tensor], cell: Tensor, addition: Tensor | None) -> tuple[Tensor, Tensor]:
        sums = reduce(torch.add, terms)
        candidate = torch.tanh(sums[:, -self.hidden :])
        gates = torch.sigmoid(sums[:, : -self.hidden]).chunk(sums.shape[1] // self.hidden - 1, dim=1)
        cell = gates[1] * cell + gates[0] * candidate
        if addition is not None:
            cell = cell + gates[3] * addition
        # c may be kept more accurately than everything else is computed.
        return (gates[2] * torch.tanh(cell)).to(sums.dtype), cell


class Cell(nn.Module):
    """s_{t-1}, a_{t-1}, z_{t-1} → s_t for one `TransitionSpec`.

    The gates and the cell update are its readers, always in the order i, f, o, (iz), c: along the first dimension
    of every weight that they read a stream with, and of `bias`.
    """

    def __init__(self, spec: TransitionSpec, sizes: Sizes, random_slopes: bool) -> None:
        super().__init__()
        self.spec, self.sizes = spec, sizes
        self.readers = (*spec.gate_names, "c")
        self.fusions = nn.ModuleDict()
        for name, products in spec.fused_streams.items():
            copies = len(self.readers_of(name)) if spec.fusion_per_gate else 1
            self.fusions[name] = Fusion(products, spec, sizes, random_slopes, copies)
        self.reads = nn.ModuleDict()
        for stream in dict.fromkeys((*spec.gates, *spec.cell)):
            if sizes.of(stream) > 0:
                self.reads[stream] = state_operation(
                    "dense" if stream == "a" else spec.operation,
                    sizes.of(stream),
                    sizes.hidden,
                    sizes.shape,
                    random_slopes,
                    copies=len(self.readers_of(stream)),
                    own_input=spec.fusion_per_gate and stream in self.fusions,
                )
        # One bias per unit, or per channel where the state is convolved. The paper omits biases "for simplicity".
        units = sizes.hidden if spec.operation == "dense" else sizes.shape[0]
        self.bias = nn.Parameter(torch.empty(len(self.readers), units))
        self.gating = Gating(sizes.hidden)
        projected = spec.encoding_gate == "projected" and sizes.encoding > 0
        self.encoding_projection = Dense(sizes.encoding, sizes.hidden) if projected else None
        self.encoding_bias = nn.Parameter(torch.empty(sizes.hidden)) if projected else None

    def readers_of(self, stream: str) -> tuple[str, ...]:
        """Which of the gates and the cell update read a stream."""
        spec = self.spec
        return tuple(name for name in self.readers if stream in (spec.cell if name == "c" else spec.gates))

    def fusion(self, name: str) -> Fusion:
        return cast(Fusion, self.fusions[name])

    def operation(self, stream: str) -> StateOperation:
        """What the stream meets on its way to its readers."""
        return cast(StateOperation, self.reads[stream])

    def prepare(self, encoding: Tensor | None, action: Tensor) -> Prepared:
        """All that does not need h, for one step or many; an encoding of None is zero, the action is one-hot."""
        streams = {"a": action} if encoding is None else {"a": action, "z": encoding}
        terms: list[Tensor] = []
        factors: list[Tensor] = []
        for name in self.fusions:
            known = self.fusion(name).known(streams)
            if self.fusion(name).reads_hidden:
                factors.extend(known)
            else:
                terms.append(self._read(name, reduce(torch.add, known)))
        for name, stream in streams.items():
            if name in self.reads:
                terms.append(self._read(name, stream))
        return Prepared(reduce(torch.add, terms) if terms else None, tuple(factors), self._addition(encoding))

    def forward(self, hidden: Tensor, cell: Tensor, prepared: Prepared) -> tuple[Tensor, Tensor]:
        """The next h and c."""
        terms, factors = [self._bias().expand(len(hidden), -1)], prepared.factors
        if prepared.sums is not None:
            terms.append(prepared.sums)
        if "h" in self.reads:
            terms.append(self._read("h", hidden))
        for name in self.fusions:
            fusion = self.fusion(name)
            if fusion.reads_hidden:
                own, factors = factors[: len(fusion.products)], factors[len(fusion.products) :]
                terms.append(self._read(name, fusion(own, hidden)))
        hidden, cell = self.gating(terms, cell, prepared.addition)
        return hidden, cell

    def _bias(self) -> Tensor:
        if self.spec.operation == "dense":
            return self.bias.flatten()
        channels, height, width = self.sizes.shape
        return self.bias[:, :, None].expand(-1, channels, height * width).flatten()

    def _read(self, stream: str, value: Tensor) -> Tensor:
        """What a stream adds to the sums of its readers, and zeros for the others (which come before or after)."""
        added: Tensor = self.reads[stream](value)
        readers = self.readers_of(stream)
        before = self.readers.index(readers[0])
        after = len(self.readers) - before - len(readers)
        if before or after:
            added = functional.pad(added, (before * self.sizes.hidden, after * self.sizes.hidden))
        return added

    def _addition(self, encoding: Tensor | None) -> Tensor | None:
        if encoding is None or self.spec.encoding_gate == "none":
            return None
        if self.encoding_projection is not None:
            encoding = self.encoding_projection(encoding) + self.encoding_bias
        return torch.tanh(encoding)
