"""Area averages against their definition in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from framedream.envs.area_average import area_average


def exact_average(plane: np.ndarray, height: int, width: int) -> np.ndarray:
    """Integrate over each new pixel, piece by piece."""

    def pieces(old: int, new: int, index: int) -> list[tuple[int, Fraction]]:
        start, end = Fraction(index * old, new), Fraction((index + 1) * old, new)
        return [
            (pixel, min(end, Fraction(pixel + 1)) - max(start, Fraction(pixel)))
            for pixel in range(int(start), min(old, int(end) + 1))
        ]

    result = np.zeros((height, width), np.uint8)
    for row in range(height):
        for column in range(width):
            total = sum(
                int(plane[i, j]) * a * b
                for i, a in pieces(plane.shape[0], height, row)
                for j, b in pieces(plane.shape[1], width, column)
            )
            area = Fraction(plane.shape[0], height) * Fraction(plane.shape[1], width)
            result[row, column] = int(total / area + Fraction(1, 2))
    return result


@pytest.mark.parametrize(
    ("old", "new"), [((21, 16), (9, 9)), ((12, 10), (6, 5)), ((7, 5), (7, 5)), ((5, 7), (8, 10)), ((13, 11), (1, 1))]
)
def test_exact(old: tuple[int, int], new: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    # Two grey levels make many sums that lie exactly between two bytes.
    for frame in (random.integers(256, size=(*old, 3)), random.integers(2, size=(*old, 3))):
        frame = frame.astype(np.uint8)
        expected = np.stack([exact_average(frame[..., c], *new) for c in range(3)], axis=2)
        averaged = area_average(frame, *new)
        np.testing.assert_array_equal(averaged, expected)
        np.testing.assert_array_equal(area_average(frame[..., 1], *new), expected[..., 1])
        assert averaged.flags.c_contiguous


def test_large_frames_are_exact_too() -> None:
    """Coprime sizes, where single precision would no longer hold every sum."""
    frame = np.full((1081, 1923), 200, np.uint8)
    np.testing.assert_array_equal(area_average(frame, 84, 85), np.full((84, 85), 200, np.uint8))
