"""What `data preview` draws is what the data set holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from counting_data import make_data_set
from PIL import Image

from framedream.cli.data_preview import main
from framedream.data.preview import COLUMNS, ROWS
from framedream.envs.counting import read_count
from framedream.errors import UserError
from framedream.pictures.layout import LINE_HEIGHT
from framedream.pictures.video import read_video

FACTOR, GAP = 10, 8  # counting frames are 16 wide, the sheet shows them 160 wide


@pytest.mark.parametrize("rgb", [False, True])
def test_the_sheet_holds_frames_of_all_episodes_and_the_film_their_beginnings(tmp_path: Path, rgb: bool) -> None:
    data_set = make_data_set(tmp_path / "data", train=8, rgb=rgb)
    main([str(tmp_path / "data"), "--out", str(tmp_path / "pictures")])
    episodes = data_set.split("train").episodes

    sheet = np.asarray(Image.open(tmp_path / "pictures" / "frames.png"))
    height, width = 12 * FACTOR + LINE_HEIGHT, 16 * FACTOR
    first = len(sheet) - ROWS * (height + GAP)
    shown = []
    for row in range(ROWS):
        for column in range(COLUMNS):
            top, left = first + row * (height + GAP), GAP + column * (width + GAP)
            shown.append(read_count(sheet[top : top + 12 * FACTOR : FACTOR, left : left + width : FACTOR]))
    steps = dict(zip(episodes.seed.tolist(), episodes.length.tolist(), strict=True))
    assert {count.seed for count in shown} == set(steps)
    assert all(count.step < steps[count.seed] for count in shown)
    assert len({count.step for count in shown}) > 10

    film = list(read_video(tmp_path / "pictures" / "beginnings.mp4"))
    assert len(film) == episodes.length.max()
    # The bars below a frame's first row are its step in binary: all four episodes show the same step.
    for step in (0, 1, 5, 19):
        for top in (GAP, 2 * GAP + 12 * 20 + LINE_HEIGHT):
            for left in (GAP, 2 * GAP + 320):
                row = film[step][top + 5 * 20 + 10, left + 10 : left + 320 : 20, 0]
                assert sum(int(value > 128) << bit for bit, value in enumerate(row)) == step


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    make_data_set(tmp_path / "data", train=2, test=0)
    (tmp_path / "file").write_text("not a folder")
    for place in ("file", "file/below"):
        with pytest.raises(UserError, match=r"Cannot write in .*choose another folder with --out"):
            main([str(tmp_path / "data"), "--out", str(tmp_path / place)])
    (tmp_path / "taken" / "frames.png").mkdir(parents=True)
    with pytest.raises(UserError, match=r"Cannot write in .*Is a directory"):
        main([str(tmp_path / "data"), "--out", str(tmp_path / "taken")])
    with pytest.raises(UserError, match="seed must be 0 or more"):
        main([str(tmp_path / "data"), "--out", str(tmp_path / "pictures"), "--seed", "-1"])


def test_another_split_and_a_missing_one(tmp_path: Path) -> None:
    make_data_set(tmp_path / "data", train=2, test=0)
    with pytest.raises(UserError, match="no test episodes"):
        main([str(tmp_path / "data"), "--out", str(tmp_path / "pictures"), "--split", "test"])
    assert not (tmp_path / "pictures").exists()
