"""The three operations of a codec's layer on a GPU: which kernel is launched how."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor

from framedream.fast import kernels
from framedream.fast.backend import Rectified
from framedream.fast.layers import Layer, accurate
from framedream.model.activation import MEAN_SLOPE

SUMMED_AT_ONCE = 4096
SUMMING_PROGRAMS = 132 * 8
PROGRAMS_WANTED = 132


def _power(number: int) -> int:
    """The next power of two, at least what a matrix unit takes."""
    return max(16, 1 << (number - 1).bit_length())


def _arithmetic(like: Tensor) -> dict[str, Any]:
    double = like.dtype == torch.float64
    return {
        "ACCURACY": "ieee" if double else "tf32",
        "ACC": triton.language.float64 if double else triton.language.float32,
    }


def _strides(picture: Tensor | None) -> tuple[int, int]:
    """From frame to frame and from row to row, of a picture whose columns and channels lie side by side."""
    if picture is None:
        return 0, 0
    frame, row, column, channel = picture.stride()
    assert channel == 1 and column == picture.shape[3], "columns must lie side by side"
    return frame, row


def _coarse_strides(picture: Tensor) -> tuple[int, int, int]:
    frame, row, column, channel = picture.stride()
    assert channel == 1, "channels must lie side by side"
    return frame, row, column


def _epilogue(bias: Tensor | None, rectified: Rectified) -> dict[str, Any]:
    return {
        "HAS_BIAS": bias is not None,
        "SLOPES": rectified.slopes,
        "MEAN": MEAN_SLOPE,
        "HAS_SAVED": rectified.saved is not None,
    }


def _even(layer: Layer) -> bool:
    """Whether a bordered picture is made of whole 2×2 cells."""
    height, width, _ = layer.bordered
    return height % 2 == 0 and width % 2 == 0


def down_tile(layer: Layer, frames: int) -> dict[str, int]:
    """What was fastest for the paper's layers on one H200 (`docs/speed.md`), by what they have in common."""
    if layer.fine_channels < 16:
        rows = _rows(frames * layer.coarse[0] * layer.coarse[1])
        return dict(SHIFTS=1, BM=rows, BN=min(128, _power(layer.coarse_channels)), BK=32, num_warps=4, num_stages=3)
    places = frames * layer.coarse[0] * (layer.coarse[1] + layer.half - 1)
    shifts = layer.half if layer.coarse_channels <= 64 else 1
    warps = 8 if layer.fine_channels >= 64 else 4
    return dict(
        SHIFTS=shifts,
        BM=_rows(places),
        BN=min(128, _power(layer.coarse_channels)),
        BK=64,
        num_warps=warps,
        num_stages=3,
    )


def up_tile(layer: Layer, frames: int) -> dict[str, int]:
    wide = _power(4 * layer.fine_channels)
    places = frames * (layer.fine[0] // 2) * (layer.fine[1] // 2)
    rows = _rows(places * max(1, wide // 128))
    if wide <= 32:
        rows, warps = (256, 8) if places >= 256 * PROGRAMS_WANTED else (rows, 4)
        return dict(SHIFTS=layer.half, BM=rows, BN=wide, BK=64, num_warps=warps, num_stages=2)
    warps = 8 if wide >= 256 else 4
    return dict(SHIFTS=1, BM=rows, BN=128 if wide >= 256 else 64, BK=32, num_warps=warps, num_stages=3)


def gradient_tile(layer: Layer, frames: int) -> dict[str, int]:
    shifts = layer.half if layer.fine_channels >= 16 and layer.coarse_channels <= 64 else 1
    taps = layer.kernel * 2 * layer.fine_channels if shifts > 1 else layer.kernel**2 * layer.fine_channels
    tile = dict(SHIFTS=shifts, BT=min(128, _power(taps)), num_stages=3)
    if layer.fine_channels >= 64:
        return tile | dict(BP=32, PROGRAMS=8 * PROGRAMS_WANTED, num_warps=4)
    return tile | dict(BP=64, PROGRAMS=4 * PROGRAMS_WANTED, num_warps=8 if shifts == 1 else 4)


def _rows(places: int) -> int:
    """Rows of a tile: fewer where there would not be one for every multiprocessor."""
    return 128 if places >= 128 * PROGRAMS_WANTED else 64 if places >= 64 * PROGRAMS_WANTED // 3 else 32


class Tiled:
    """The backend of GPUs; a `tile` may be given in the place of the one that suits the layer."""

    def pack_down(self, layer: Layer, weight: Tensor, kind: torch.dtype) -> Tensor:
        return layer.pack_down(weight).to(kind)

    def pack_up(self, layer: Layer, weight: Tensor, kind: torch.dtype) -> Tensor:
        return layer.pack_up(weight).to(kind)

    def down(
        self,
        layer: Layer,
        fine: Tensor,
        packed: Tensor,
        out: Tensor,
        bias: Tensor | None,
        rectified: Rectified,
        tile: dict[str, int] | None = None,
    ) -> None:
        """`fine` with its border → `out` (N, h, w, coarse channels), which may have any strides."""
        frames, (h, w), coarse = len(fine), layer.coarse, layer.coarse_channels
        t = tile or down_tile(layer, frames)
        shifts, step = t["SHIFTS"], t["BM"] - t["SHIFTS"] + 1
        places = frames * h * (w + shifts - 1)
        kernels.down_kernel[(-(-places // step), -(-coarse // t["BN"]))](
            fine, packed, bias, rectified.saved, out, rectified.seed, frames, rectified.first_frame, rectified.salt,
            h, w, *_strides(fine), *out.stride(), *_strides(rectified.saved),
            C=layer.fine_channels, COARSE=coarse, K=layer.kernel, TAPS=triton.next_power_of_2(shifts),
            **_epilogue(bias, rectified), **_arithmetic(fine), **t,
        )  # fmt: skip

    def up(
        self,
        layer: Layer,
        coarse: Tensor,
        packed: Tensor,
        out: Tensor,
        bias: Tensor | None,
        rectified: Rectified,
        tile: dict[str, int] | None = None,
    ) -> None:
        """`coarse` (N, h, w, channels) → `out` (N, H, W, fine channels), a view within a border or without one."""
        frames, (h, w), (H, W) = len(coarse), layer.coarse, layer.fine
        rows, columns = layer.padding
        t = tile or up_tile(layer, frames)
        strides = _strides(out)
        # Whether `out` stands in a border that whole cells fit into.
        row = (W + 2 * columns) * layer.fine_channels
        bordered = _even(layer) and strides == ((H + 2 * rows) * row, row)
        if bordered:
            corner = out.storage_offset() - rows * row - columns * layer.fine_channels
            out = out.as_strided((1,), (1,), corner)
        step = t["BM"] - t["SHIFTS"] + 1
        places = frames * ((H + 2 * rows + 1) // 2) * ((W + 2 * columns + 1) // 2)
        kernels.up_kernel[(-(-places // step), -(-4 * layer.fine_channels // t["BN"]))](
            coarse, packed, bias, rectified.saved, out, rectified.seed, frames, rectified.first_frame, rectified.salt,
            h, w, H, W, rows, columns, *_coarse_strides(coarse), *strides, *_strides(rectified.saved),
            C=layer.fine_channels, COARSE=layer.coarse_channels, K=layer.kernel,
            TAPS=triton.next_power_of_2(t["SHIFTS"]), BORDERED=bordered,
            **_epilogue(bias, rectified), **_arithmetic(coarse), **t,
        )  # fmt: skip

    def weight_gradient(self, layer: Layer, fine: Tensor, coarse: Tensor, tile: dict[str, int] | None = None) -> Tensor:
        """W' in the form of `Layer.pack_down`, in float32 (float64 of float64)."""
        frames, (h, w), K = len(fine), layer.coarse, layer.kernel
        C, channels = layer.fine_channels, layer.coarse_channels
        t = dict(tile or gradient_tile(layer, frames))
        shifts = t["SHIFTS"]
        blocks = -(-frames * h * (w + shifts - 1) // t["BP"])
        tiles = -(-(K * (K * C if shifts == 1 else 2 * C)) // t["BT"])
        each = -(-blocks // max(1, t.pop("PROGRAMS") // tiles))
        splits = -(-blocks // each)
        out = torch.empty(splits, K, K * C, channels, dtype=accurate(fine.dtype), device=fine.device)
        kernels.gradient_kernel[(tiles, splits)](
            fine, coarse, out, frames, h, w, *_strides(fine), *_coarse_strides(coarse),
            C=C, COARSE=channels, K=K, TAPS=triton.next_power_of_2(shifts), BLOCKS=each, BN=_power(channels),
            **_arithmetic(fine), **t,
        )  # fmt: skip
        return out.sum(0)

    def fresh(self, layer: Layer, count: int, like: Tensor) -> Tensor:
        # Whole cells are written, border and all, wherever cells fit.
        return like.new_empty(count, *layer.bordered) if _even(layer) else like.new_zeros(count, *layer.bordered)

    def channel_sums(self, pictures: Tensor) -> Tensor:
        channels = pictures.shape[3]
        pixels = pictures.numel() // channels
        rows = max(1, SUMMED_AT_ONCE // _power(channels))
        programs = min(SUMMING_PROGRAMS, -(-pixels // rows))
        sums = torch.empty(programs, channels, dtype=accurate(pictures.dtype), device=pictures.device)
        kernels.channel_sum_kernel[(programs,)](
            pictures, sums, pixels, TURNS=-(-pixels // (rows * programs)), C=channels, WIDE=_power(channels), ROWS=rows
        )
        return sums.sum(0)
