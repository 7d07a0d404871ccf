"""The Triton kernels of whole frames: bytes become numbers, predictions are compared with what was seen."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def normalise_kernel(
    source, palette, background, out, count,
    H: tl.constexpr, W: tl.constexpr, PAD_ROWS: tl.constexpr, PAD_COLUMNS: tl.constexpr, out_frame: tl.constexpr,
    background_pixel: tl.constexpr, HAS_PALETTE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Bytes (N, H, W) or (N, H, W, 3) → frames within their borders, four channels of which the last is zero."""
    ROW: tl.constexpr = (W + 2 * PAD_COLUMNS) * 4
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.arange(0, 4)
    colour = (channel < 3)[None, :]
    known = (at < count)[:, None] & colour
    frame, y, x = at // (H * W), at // W % H, at % W
    if HAS_PALETTE:
        index = tl.load(source + at, mask=at < count, other=0).to(tl.int32)
        value = tl.load(palette + index[:, None] * 4 + channel[None, :], mask=known, other=0.0)
    else:
        value = tl.load(source + at[:, None] * 3 + channel[None, :], mask=known, other=0).to(tl.float32) * (1 / 255)
    pixel = (y * W + x) * background_pixel
    value -= tl.load(background + pixel[:, None] + channel[None, :], mask=known, other=0.0)
    within = (y + PAD_ROWS) * ROW + (x + PAD_COLUMNS) * 4
    at_out = (frame * out_frame + within)[:, None] + channel[None, :]
    tl.store(out + at_out, tl.where(colour, value, 0.0).to(out.dtype.element_ty), mask=(at < count)[:, None])


@triton.jit
def _differences(
    predictions, frames, pixels, sequence, weight, visible, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """x̂ - x of a stretch of pixels of one sequence, and the weights of their squares."""
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = pixel[:, None].to(tl.int64) * 4 + tl.arange(0, 4)[None, :]
    known = (pixel < pixels)[:, None]
    number = tl.program_id(1).to(tl.int64)
    seen = tl.load(frames + number * sequence + at, mask=known, other=0.0).to(tl.float32)
    at += number * pixels * 4
    difference = tl.load(predictions + at, mask=known, other=0.0).to(tl.float32) - seen
    weights = tl.full((BLOCK, 1), 1.0, tl.float32)
    if WEIGHTED:
        weights = tl.where(tl.max(tl.abs(seen), 1) > visible, weight, 1.0)[:, None]
    return difference, weights, at, known


@triton.jit
def error_kernel(
    sums, predictions, frames, pixels, sequence, weight, visible, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """The weighted squares of a stretch of pixels, added up."""
    difference, weights, _, _ = _differences(predictions, frames, pixels, sequence, weight, visible, WEIGHTED, BLOCK)
    total = tl.sum(tl.sum(difference * difference * weights, 1), 0)
    tl.store(sums + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), total)


@triton.jit
def error_gradient_kernel(
    found, scale, predictions, frames, pixels, sequence, weight, visible, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Their gradient, times what comes back from above."""
    difference, weights, at, known = _differences(
        predictions, frames, pixels, sequence, weight, visible, WEIGHTED, BLOCK
    )  # fmt: skip
    value = 2 * tl.load(scale) * difference * weights
    tl.store(found + at, value.to(found.dtype.element_ty), mask=known)
