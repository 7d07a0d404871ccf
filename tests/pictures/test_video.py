"""Films: lossless ones keep every byte, playable ones are what browsers play, and neither is ever half there."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange

from framedream.errors import UserError
from framedream.pictures.video import VideoWriter, read_video


def noise(count: int, height: int, width: int) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return list(generator.integers(0, 256, (count, height, width, 3), dtype=np.uint8))


@pytest.mark.parametrize(("height", "width"), [(48, 48), (33, 47), (210, 160)])
def test_lossless_films_keep_every_byte(tmp_path: Path, height: int, width: int) -> None:
    frames = noise(7, height, width)
    with VideoWriter(tmp_path / "film.mp4", lossless=True) as film:
        for frame in frames:
            film.add(frame)
    assert np.array_equal(np.stack(list(read_video(tmp_path / "film.mp4"))), np.stack(frames))


@pytest.mark.parametrize(
    "colour", [(255, 0, 0), (0, 200, 30), (20, 40, 250), (255, 255, 255), (0, 0, 0), (92, 186, 92)]
)
def test_playable_films_show_the_colours_they_were_given(tmp_path: Path, colour: tuple[int, int, int]) -> None:
    with VideoWriter(tmp_path / "film.mp4", frames_per_second=15) as film:
        for _ in range(20):
            film.add(np.full((33, 47, 3), colour, np.uint8))
    frames = list(read_video(tmp_path / "film.mp4"))
    assert len(frames) == 20
    assert frames[0].shape == (34, 48, 3)  # yuv420p has no odd sizes
    assert np.abs(frames[10].astype(int) - colour).max() <= 4


def test_playable_films_are_what_browsers_play(tmp_path: Path) -> None:
    with VideoWriter(tmp_path / "film.mp4", frames_per_second=15) as film:
        for frame in noise(15, 40, 40):
            film.add(frame)
    with av.open(str(tmp_path / "film.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt, stream.average_rate) == ("h264", "yuv420p", 15)
        # Says which numbers mean which colours: players guess differently where a film does not.
        assert (stream.codec_context.colorspace, stream.codec_context.color_range) == (1, ColorRange.MPEG)
        assert float(stream.duration * stream.time_base) == pytest.approx(1.0)
    content = (tmp_path / "film.mp4").read_bytes()
    assert content.index(b"moov") < content.index(b"mdat"), "a player must read all of it before it can start"


def test_a_film_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), VideoWriter(tmp_path / "film.mp4") as film:
        film.add(noise(1, 32, 32)[0])
        raise KeyboardInterrupt
    with pytest.raises(ValueError, match="without frames"), VideoWriter(tmp_path / "empty.mp4"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_frames_of_another_size_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot take a frame"), VideoWriter(tmp_path / "film.mp4") as film:
        film.add(noise(1, 32, 32)[0])
        film.add(noise(1, 32, 34)[0])


def test_what_is_not_a_film_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no film at all, only words")
    with pytest.raises(UserError, match=r"text\.mp4 cannot be read as a video"):
        list(read_video(tmp_path / "text.mp4"))
    with pytest.raises(UserError, match="No such file"):
        list(read_video(tmp_path / "missing.mp4"))
    with av.open(str(tmp_path / "sound.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))
        container.mux(stream.encode())
    with pytest.raises(UserError, match="no pictures"):
        list(read_video(tmp_path / "sound.mp4"))
