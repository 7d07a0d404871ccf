"""Putting frames together changes no pixel of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from framedream.pictures.layout import captioned, enlarge, factor_for, grid, save_picture, side_by_side, titled


def noise(seed: int, height: int = 6, width: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 250, (height, width, 3), dtype=np.uint8)


def test_enlarging_is_crisp() -> None:
    large = enlarge(noise(0), 5)
    assert large.shape == (30, 45, 3)
    for row in range(5):
        for column in range(5):
            assert np.array_equal(large[row::5, column::5], noise(0))
    assert (factor_for(48, 160), factor_for(160, 160), factor_for(500, 160)) == (3, 1, 1)


def test_side_by_side_and_grid_place_pictures_without_touching_them() -> None:
    row = side_by_side([noise(1), noise(2, height=4)], gap=3)
    assert row.shape == (6, 21, 3)
    assert np.array_equal(row[:, :9], noise(1)) and np.array_equal(row[:4, 12:], noise(2, height=4))
    assert (row[:, 9:12] == 255).all() and (row[4:, 12:] == 255).all()

    sheet = grid([noise(number) for number in range(5)], columns=3, gap=2)
    assert sheet.shape == (2 + 2 * 8, 2 + 3 * 11, 3)
    for number in range(5):
        top, left = 2 + number // 3 * 8, 2 + number % 3 * 11
        assert np.array_equal(sheet[top : top + 6, left : left + 9], noise(number))
    assert (sheet[10:, 24:] == 255).all()


def test_captions_stand_beside_the_picture_and_fit() -> None:
    picture = noise(0, 20, 120)
    for text in ("step 7", "", "a caption that is much longer than the picture is wide, and therefore cut"):
        below = captioned(picture, text)
        assert np.array_equal(below[:20], picture)
        assert (below[20:, -1] == 255).all() or text.startswith("a caption")
        assert (below[20:] < 200).any() == bool(text)
        assert np.array_equal(titled(picture, text)[-20:], picture)


def test_pictures_are_saved_as_they_are(tmp_path: Path) -> None:
    save_picture(tmp_path / "picture.png", noise(3))
    assert np.array_equal(np.asarray(Image.open(tmp_path / "picture.png")), noise(3))
