"""The codec's convolutions as Triton kernels, each with all that surrounds it: biases, rectifiers, borders.

All convolutions of a codec have stride 2 and an even kernel k, and every layer lies between a *fine* picture of H×W
and a *coarse* one of h×w with 2y + ky = Y between their rows. Three operations are all there is:

    down     coarse[y,x] = Σ fine[2y+ky, 2x+kx] · W[ky,kx]      encoding; gradients through a decoder's layer
    up       fine[Y,X] = Σ coarse[y,x] · W[ky,kx]               decoding; gradients through an encoder's layer
    gradient W'[ky,kx] = Σ fine[2y+ky, 2x+kx]ᵀ · coarse[y,x]    of either layer's weight

Pictures lie channels last; a fine one stands in a border of zeros, its padding, so that nothing is masked when it is
read. k·C numbers of a fine row then lie side by side in memory: they are a stretch of one row of a matrix product.

Written so, everything is read k²/4 times, and that is what limits the speed where outputs are narrow. With `SHIFTS` =
k/2 a tile reads columns of cells once, multiplies them by the weights of all k/2 horizontal taps side by side, and
adds what comes out up at the end, each tap's part moved by its number of cells.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def hashed_slope(seed, index):
    """A slope of RReLU from a seed and the place of a number: backward passes draw it again instead of keeping it."""
    x = (index.to(tl.uint32) * 0x9E3779B1) ^ seed.to(tl.uint32)
    x ^= x >> 15
    x *= 0x846CA68B
    # The upper bits become those of a number in [1, 2): cheaper than converting an integer.
    uniform = ((x >> 9) | 0x3F800000).to(tl.float32, bitcast=True)
    return (0.125 - 0.20833333333333334) + 0.20833333333333334 * uniform


@triton.jit
def _rectify(
    sums, before, seed_at, salt, frame, y, x, channel,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, C: tl.constexpr, SLOPES: tl.constexpr, MEAN: tl.constexpr,
):  # fmt: skip
    """`sums` times the slopes wherever `before` is negative, at some places of a picture."""
    if SLOPES == 1:
        sums = tl.where(before >= 0, sums, sums * MEAN)
    if SLOPES == 2:
        index = ((frame * HEIGHT + y) * WIDTH + x) * C + channel
        sums = tl.where(before >= 0, sums, sums * hashed_slope(tl.load(seed_at) ^ salt, index))
    return sums


@triton.jit
def _added_up(sums, rows, SIGN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, TAPS: tl.constexpr):
    """(BM, TAPS·BN) → (BM, BN): the part of tap t moved by t rows, forwards or backwards. Rows at one end are lost."""
    taps = tl.arange(0, TAPS * BN) // BN
    index = rows[:, None] + SIGN * taps[None, :]
    moved = tl.gather(sums, tl.minimum(tl.maximum(index, 0), BM - 1), 0)
    return tl.sum(tl.reshape(moved, (BM, TAPS, BN)), 1)


@triton.jit(do_not_specialize=["frames", "first_frame", "salt"])
def down_kernel(
    fine, weight, bias, saved, out, seed_at, frames, first_frame, salt,
    h: tl.constexpr, w: tl.constexpr, fine_frame: tl.constexpr, fine_row: tl.constexpr,
    out_frame: tl.constexpr, out_row: tl.constexpr, out_column: tl.constexpr, out_channel: tl.constexpr,
    saved_frame: tl.constexpr, saved_row: tl.constexpr,
    C: tl.constexpr, COARSE: tl.constexpr, K: tl.constexpr, SHIFTS: tl.constexpr, TAPS: tl.constexpr,
    HAS_BIAS: tl.constexpr, SLOPES: tl.constexpr, MEAN: tl.constexpr, HAS_SAVED: tl.constexpr,
    ACCURACY: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """fine (frames, H+2p, W+2p, C) → coarse; forward with bias and rectifier, backward through a saved rectifier."""
    RUN: tl.constexpr = K * C if SHIFTS == 1 else 2 * C  # numbers that lie side by side and are read at once
    STEP: tl.constexpr = BM - SHIFTS + 1
    COLUMNS: tl.constexpr = w + SHIFTS - 1
    rows = tl.arange(0, BM)
    place = tl.program_id(0) * STEP + rows
    frame, y, x = place // (h * COLUMNS), place // COLUMNS % h, place % COLUMNS
    inside = frame < frames
    safe = tl.where(inside, frame, 0).to(tl.int64)
    base = fine + safe * fine_frame + (2 * fine_row) * y + (2 * C) * x
    wide = tl.arange(0, TAPS * BN)
    tap, n = wide // BN, tl.program_id(1) * BN + wide % BN
    sums = tl.zeros((BM, TAPS * BN), ACC)
    for turn in range((K * RUN + BK - 1) // BK):
        k = turn * BK + tl.arange(0, BK)
        ky, run = k // RUN, k % RUN
        mask = inside[:, None]
        known = (n < COARSE)[None, :]
        if (K * RUN) % BK != 0:
            mask = mask & (ky < K)[None, :]
            known = known & (ky < K)[:, None]
        if TAPS != SHIFTS:
            known = known & (tap < SHIFTS)[None, :]
        a = tl.load(base[:, None] + (ky * fine_row + run)[None, :], mask=mask, other=0.0)
        at = ((ky * K * C + run) * COARSE)[:, None] + (tap * (2 * C * COARSE) + n)[None, :]
        b = tl.load(weight + at, mask=known, other=0.0)
        sums = tl.dot(a, b, sums, input_precision=ACCURACY, out_dtype=ACC)
    if SHIFTS > 1:
        sums = _added_up(sums, rows, 1, BM, BN, TAPS)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    stored = (inside & (x < w) & (rows < STEP))[:, None] & (n < COARSE)[None, :]
    if HAS_BIAS:
        sums += tl.load(bias + n, mask=n < COARSE, other=0.0)[None, :]
    before = sums
    if HAS_SAVED:
        at_saved = (safe * saved_frame + y * saved_row + x * COARSE)[:, None] + n[None, :]
        before = tl.load(saved + at_saved, mask=stored, other=0.0)
    sums = _rectify(
        sums, before, seed_at, salt, (first_frame + frame)[:, None], y[:, None], x[:, None], n[None, :],
        h, w, COARSE, SLOPES, MEAN,
    )  # fmt: skip
    at_out = (safe * out_frame + y * out_row + x * out_column)[:, None] + (n * out_channel)[None, :]
    tl.store(out + at_out, sums.to(out.dtype.element_ty), mask=stored)


@triton.jit(do_not_specialize=["frames", "first_frame", "salt"])
def up_kernel(
    coarse, weight, bias, saved, out, seed_at, frames, first_frame, salt,
    h: tl.constexpr, w: tl.constexpr, H: tl.constexpr, W: tl.constexpr,
    PAD_ROWS: tl.constexpr, PAD_COLUMNS: tl.constexpr,
    coarse_frame: tl.constexpr, coarse_row: tl.constexpr, coarse_column: tl.constexpr,
    out_frame: tl.constexpr, out_row: tl.constexpr, saved_frame: tl.constexpr, saved_row: tl.constexpr,
    C: tl.constexpr, COARSE: tl.constexpr, K: tl.constexpr, SHIFTS: tl.constexpr, TAPS: tl.constexpr,
    BORDERED: tl.constexpr,
    HAS_BIAS: tl.constexpr, SLOPES: tl.constexpr, MEAN: tl.constexpr, HAS_SAVED: tl.constexpr,
    ACCURACY: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """coarse → fine, a 2×2 cell for every place; forward with bias and rectifier, backward through a saved one."""
    HALF: tl.constexpr = K // 2
    KINDS: tl.constexpr = HALF if SHIFTS > 1 else HALF * HALF  # taps that are added up in the product itself
    STEP: tl.constexpr = BM - SHIFTS + 1
    ROWS: tl.constexpr = (H + 2 * PAD_ROWS + 1) // 2
    COLUMNS: tl.constexpr = (W + 2 * PAD_COLUMNS + 1) // 2
    rows = tl.arange(0, BM)
    place = tl.program_id(0) * STEP - (SHIFTS - 1) + rows
    known_place = place >= 0
    place = tl.maximum(place, 0)
    frame, u, v = place // (ROWS * COLUMNS), place // COLUMNS % ROWS, place % COLUMNS
    inside = known_place & (frame < frames)
    safe = tl.where(inside, frame, 0).to(tl.int64)
    base = coarse + safe * coarse_frame + u * coarse_row + v * coarse_column
    wide = tl.arange(0, TAPS * BN)
    tap, n = wide // BN, tl.program_id(1) * BN + wide % BN
    sums = tl.zeros((BM, TAPS * BN), ACC)
    for turn in range((KINDS * COARSE + BK - 1) // BK):
        k = turn * BK + tl.arange(0, BK)
        kind, channel = k // COARSE, k % COARSE
        if SHIFTS > 1:
            j = kind
            i = kind * 0
        else:
            j, i = kind // HALF, kind % HALF
        y = u[:, None] - j[None, :]
        x = v[:, None] - i[None, :]
        mask = inside[:, None] & (y >= 0) & (y < h) & (x >= 0) & (x < w)
        known = (n < 4 * C)[None, :]
        if (KINDS * COARSE) % BK != 0:
            mask = mask & (kind < KINDS)[None, :]
            known = known & (kind < KINDS)[:, None]
        if TAPS != SHIFTS:
            known = known & (tap < SHIFTS)[None, :]
        a = tl.load(base[:, None] + (channel - j * coarse_row - i * coarse_column)[None, :], mask=mask, other=0.0)
        at = (((j * HALF + i) * COARSE + channel) * (4 * C))[:, None] + (tap * (COARSE * 4 * C) + n)[None, :]
        b = tl.load(weight + at, mask=known, other=0.0)
        sums = tl.dot(a, b, sums, input_precision=ACCURACY, out_dtype=ACC)
    if SHIFTS > 1:
        sums = _added_up(sums, rows, -1, BM, BN, TAPS)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    # Numbers of a cell: two rows of two pixels, each row of which lies side by side in memory.
    half, run, channel = n // (2 * C), n % (2 * C), n % C
    Y = (2 * u)[:, None] + half[None, :] - PAD_ROWS
    X = (2 * v)[:, None] + (run // C)[None, :] - PAD_COLUMNS
    inner = (Y >= 0) & (Y < H) & (X >= 0) & (X < W)
    whole = (inside & (rows >= SHIFTS - 1))[:, None] & (n < 4 * C)[None, :]
    if HAS_BIAS:
        sums += tl.load(bias + channel, mask=n < 4 * C, other=0.0)[None, :]
    before = sums
    if HAS_SAVED:
        saved_within = half * saved_row + run - (PAD_ROWS * saved_row + PAD_COLUMNS * C)
        at_saved = (safe * saved_frame + (2 * saved_row) * u + (2 * C) * v)[:, None] + saved_within[None, :]
        before = tl.load(saved + at_saved, mask=whole & inner, other=0.0)
    sums = _rectify(
        sums, before, seed_at, salt, (first_frame + frame)[:, None], Y, X, channel[None, :], H, W, C, SLOPES, MEAN
    )
    at_out = (safe * out_frame + (2 * out_row) * u + (2 * C) * v)[:, None] + (half * out_row + run)[None, :]
    if BORDERED:  # `out` begins with its border, which is written too, as zeros, so that whole cells are stored at once
        sums = tl.where(inner, sums, 0.0)
        tl.store(out + at_out, sums.to(out.dtype.element_ty), mask=whole)
    else:
        at_out -= PAD_ROWS * out_row + PAD_COLUMNS * C
        tl.store(out + at_out, sums.to(out.dtype.element_ty), mask=whole & inner)


@triton.jit(do_not_specialize=["frames"])
def gradient_kernel(
    fine, coarse, out, frames,
    h: tl.constexpr, w: tl.constexpr, fine_frame: tl.constexpr, fine_row: tl.constexpr,
    coarse_frame: tl.constexpr, coarse_row: tl.constexpr, coarse_column: tl.constexpr,
    C: tl.constexpr, COARSE: tl.constexpr, K: tl.constexpr, SHIFTS: tl.constexpr, TAPS: tl.constexpr,
    BLOCKS: tl.constexpr, ACCURACY: tl.constexpr, ACC: tl.constexpr,
    BP: tl.constexpr, BT: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """One split's part of W' (k, k·C, coarse channels); the splits are added up afterwards, always in one order."""
    RUN: tl.constexpr = K * C if SHIFTS == 1 else 2 * C
    COLUMNS: tl.constexpr = w + SHIFTS - 1
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    ky, run = t // RUN, t % RUN
    wide = tl.arange(0, TAPS * BN)
    tap, n = wide // BN, wide % BN
    sums = tl.zeros((BT, TAPS * BN), ACC)
    for block in range(BLOCKS):
        place = (tl.program_id(1) * BLOCKS + block) * BP + tl.arange(0, BP)
        frame, y, x = place // (h * COLUMNS), place // COLUMNS % h, place % COLUMNS
        inside = frame < frames
        safe = tl.where(inside, frame, 0).to(tl.int64)
        mask = inside[:, None]
        if (K * RUN) % BT != 0:
            mask = mask & (ky < K)[None, :]
        at = safe * fine_frame + (2 * fine_row) * y + (2 * C) * x
        a = tl.load(fine + at[:, None] + (ky * fine_row + run)[None, :], mask=mask, other=0.0)
        column = x[:, None] - tap[None, :]
        some = inside[:, None] & (column >= 0) & (column < w)
        if TAPS != SHIFTS:
            some = some & (tap < SHIFTS)[None, :]
        if BN != COARSE:
            some = some & (n < COARSE)[None, :]
        at_coarse = (safe * coarse_frame + y * coarse_row + x * coarse_column)[:, None]
        at_coarse += (n - tap * coarse_column)[None, :]
        b = tl.load(coarse + at_coarse, mask=some, other=0.0)
        sums = tl.dot(tl.trans(a), b, sums, input_precision=ACCURACY, out_dtype=ACC)
    split = out + tl.program_id(1).to(tl.int64) * (K * K * C * COARSE)
    known = (ky < K)[:, None] & ((n < COARSE) & (tap < SHIFTS))[None, :]
    at_out = ((ky * K * C + run) * COARSE)[:, None] + (tap * (2 * C * COARSE) + n)[None, :]
    tl.store(split + at_out, sums, mask=known)


@triton.jit(do_not_specialize=["pixels"])
def channel_sum_kernel(
    pictures, sums, pixels, TURNS: tl.constexpr, C: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    """One program's part of the sums of the columns of (pixels, C)."""
    channel = tl.arange(0, WIDE)
    total = tl.zeros((ROWS, WIDE), sums.dtype.element_ty)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    for _ in range(TURNS):
        known = (row < pixels)[:, None] & (channel < C)[None, :]
        total += tl.load(pictures + row[:, None] * C + channel[None, :], mask=known, other=0.0)
        row += tl.num_programs(0).to(tl.int64) * ROWS
    tl.store(sums + tl.program_id(0) * C + channel, tl.sum(total, 0), mask=channel < C)
