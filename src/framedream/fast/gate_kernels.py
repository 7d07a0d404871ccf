"""The Triton kernels of a step's end: gates and cell update, forwards and backwards."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _places(
    terms0, terms1, terms2, terms3, row, column,
    stride0: tl.constexpr, stride1: tl.constexpr, stride2: tl.constexpr, stride3: tl.constexpr, TERMS: tl.constexpr,
):  # fmt: skip
    """Where the terms of one sum lie; those that there are none of repeat the first."""
    place0 = terms0 + row * stride0 + column
    place1, place2, place3 = place0, place0, place0
    if TERMS > 1:
        place1 = terms1 + row * stride1 + column
    if TERMS > 2:
        place2 = terms2 + row * stride2 + column
    if TERMS > 3:
        place3 = terms3 + row * stride3 + column
    return place0, place1, place2, place3


@triton.jit
def _sum(places, further, known, TERMS: tl.constexpr):
    """What the terms add up to, so many columns further."""
    total = tl.load(places[0] + further, mask=known, other=0.0).to(tl.float32)
    if TERMS > 1:
        total += tl.load(places[1] + further, mask=known, other=0.0).to(tl.float32)
    if TERMS > 2:
        total += tl.load(places[2] + further, mask=known, other=0.0).to(tl.float32)
    if TERMS > 3:
        total += tl.load(places[3] + further, mask=known, other=0.0).to(tl.float32)
    return total


@triton.jit
def _gates(places, known, SIZE: tl.constexpr, READERS: tl.constexpr, TERMS: tl.constexpr):
    """i, f, o and the candidate; what lies between o and the candidate is iᶻ."""
    i = tl.sigmoid(_sum(places, 0, known, TERMS))
    f = tl.sigmoid(_sum(places, SIZE, known, TERMS))
    o = tl.sigmoid(_sum(places, 2 * SIZE, known, TERMS))
    return i, f, o, _tanh(_sum(places, (READERS - 1) * SIZE, known, TERMS))


@triton.jit
def gate_kernel(
    terms0, terms1, terms2, terms3, cell, addition, hidden, after, count,
    stride0: tl.constexpr, stride1: tl.constexpr, stride2: tl.constexpr, stride3: tl.constexpr,
    SIZE: tl.constexpr, READERS: tl.constexpr, TERMS: tl.constexpr, HAS_ADDITION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sums (N, readers·size) in the order i, f, o, (iz), c, and c → the next h and c."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    known = at < count
    row, column = at // SIZE, at % SIZE
    places = _places(terms0, terms1, terms2, terms3, row, column, stride0, stride1, stride2, stride3, TERMS)
    i, f, o, candidate = _gates(places, known, SIZE, READERS, TERMS)
    c = f * tl.load(cell + at, mask=known, other=0.0) + i * candidate
    if HAS_ADDITION:
        iz = tl.sigmoid(_sum(places, 3 * SIZE, known, TERMS))
        c += iz * tl.load(addition + at, mask=known, other=0.0).to(tl.float32)
    tl.store(after + at, c, mask=known)
    tl.store(hidden + at, (o * _tanh(c)).to(hidden.dtype.element_ty), mask=known)


@triton.jit
def gate_gradient_kernel(
    terms0, terms1, terms2, terms3, cell, addition, after, hidden_gradient, after_gradient,
    sums_gradient, cell_gradient, addition_gradient, count,
    stride0: tl.constexpr, stride1: tl.constexpr, stride2: tl.constexpr, stride3: tl.constexpr,
    SIZE: tl.constexpr, READERS: tl.constexpr, TERMS: tl.constexpr, HAS_ADDITION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The way back through `gate_kernel`; the gates are computed again."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    known = at < count
    row, column = at // SIZE, at % SIZE
    places = _places(terms0, terms1, terms2, terms3, row, column, stride0, stride1, stride2, stride3, TERMS)
    i, f, o, candidate = _gates(places, known, SIZE, READERS, TERMS)
    t = _tanh(tl.load(after + at, mask=known, other=0.0))
    dh = tl.load(hidden_gradient + at, mask=known, other=0.0).to(tl.float32)
    dc = tl.load(after_gradient + at, mask=known, other=0.0) + dh * o * (1 - t * t)
    kind = sums_gradient.dtype.element_ty
    out = sums_gradient + row * (READERS * SIZE) + column
    tl.store(out, (dc * candidate * i * (1 - i)).to(kind), mask=known)
    tl.store(out + SIZE, (dc * tl.load(cell + at, mask=known, other=0.0) * f * (1 - f)).to(kind), mask=known)
    tl.store(out + 2 * SIZE, (dh * t * o * (1 - o)).to(kind), mask=known)
    tl.store(out + (READERS - 1) * SIZE, (dc * i * (1 - candidate * candidate)).to(kind), mask=known)
    tl.store(cell_gradient + at, dc * f, mask=known)
    if HAS_ADDITION:
        iz = tl.sigmoid(_sum(places, 3 * SIZE, known, TERMS))
        added = tl.load(addition + at, mask=known, other=0.0).to(tl.float32)
        tl.store(out + 3 * SIZE, (dc * added * iz * (1 - iz)).to(kind), mask=known)
        tl.store(addition_gradient + at, (dc * iz).to(kind), mask=known)
