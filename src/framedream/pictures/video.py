"""MP4 files: H.264 that every browser plays, or lossless H.264 in RGB that keeps every byte."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace
from numpy.typing import NDArray

from framedream.errors import UserError

Picture = NDArray[np.uint8]
BT_709 = 1  # what browsers take for granted; the same number for primaries, transfer and matrix
PLAYABLE = {"crf": "18", "preset": "veryfast"}
LOSSLESS = {"qp": "0", "preset": "veryfast"}
INDEX_FIRST = {"movflags": "+faststart"}  # so that a browser need not have all of a film to start it


class VideoWriter:
    """Writes uint8 H×W×3 frames to an MP4 file, which appears under its name only when it is complete.

    Playable films are yuv420p, which needs an even height and width: an odd one gains a copy of its last row or
    column. Lossless ones (libx264rgb, qp 0) keep size and bytes, but browsers do not play them.
    """

    def __init__(self, path: Path, frames_per_second: int = 15, *, lossless: bool = False) -> None:
        self.path = path
        self.lossless = lossless
        self._unfinished = path.with_name(f".{path.name}.unfinished")
        self._rate = Fraction(frames_per_second)
        self._container = av.open(str(self._unfinished), "w", format="mp4", options=INDEX_FIRST)
        self._stream: av.VideoStream | None = None

    def add(self, frame: Picture) -> None:
        """Append one frame; the first one decides the size."""
        frame = np.ascontiguousarray(frame if self.lossless else _even(frame))
        if self._stream is None:
            self._stream = self._open_stream(*frame.shape[:2])
        stream = self._stream
        if frame.shape != (stream.height, stream.width, 3):
            raise ValueError(f"a film of {stream.height}×{stream.width} cannot take a frame of shape {frame.shape}")
        picture = av.VideoFrame.from_ndarray(frame, format="rgb24")
        if not self.lossless:
            picture = picture.reformat(
                format="yuv420p",
                dst_colorspace=Colorspace.ITU709,
                dst_color_range=ColorRange.MPEG,
            )
        self._container.mux(stream.encode(picture))

    def _open_stream(self, height: int, width: int) -> av.VideoStream:
        codec, options = ("libx264rgb", LOSSLESS) if self.lossless else ("libx264", PLAYABLE)
        stream = self._container.add_stream(codec, rate=self._rate, options=options)
        assert isinstance(stream, av.VideoStream)
        stream.height, stream.width = height, width
        stream.pix_fmt = "rgb24" if self.lossless else "yuv420p"
        if not self.lossless:
            context = stream.codec_context
            context.color_primaries = context.color_trc = context.colorspace = BT_709
            context.color_range = ColorRange.MPEG
        return stream

    def close(self) -> None:
        """Complete the file and give it its name."""
        if self._stream is None:
            self._drop()
            raise ValueError(f"{self.path} would be a film without frames")
        self._container.mux(self._stream.encode())
        self._container.close()
        self._unfinished.replace(self.path)

    def _drop(self) -> None:
        self._container.close()
        self._unfinished.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._drop()


def read_video(path: Path) -> Iterator[Picture]:
    """The frames of a film, one after the other, as uint8 H×W×3."""
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise UserError(f"{path} has no pictures in it: give a video file.")
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for frame in container.decode(stream):
                yield frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False)
    except av.FFmpegError as error:
        raise UserError(f"{path} cannot be read as a video ({error.strerror}): give an MP4 or another film.") from error


def _even(frame: Picture) -> Picture:
    return np.pad(frame, ((0, frame.shape[0] % 2), (0, frame.shape[1] % 2), (0, 0)), mode="edge")
