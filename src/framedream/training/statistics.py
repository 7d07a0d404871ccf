"""The background that a run subtracts from every frame, measured on its training data (appendix A)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from framedream.data.dataset import Split
from framedream.data.reader import SegmentReader
from framedream.data.sampler import evaluation_index
from framedream.data.segment import SegmentId
from framedream.model.statistics import FRAMES_MEASURED, Background, FrameStatistics


def measure_statistics(split: Split, palette: NDArray[np.uint8] | None, background: Background) -> FrameStatistics:
    """The paper's channel means come from the first 2,048 frames; images from as many spread over all episodes."""
    with SegmentReader(split, states=False) as reader:
        if background == "channel-mean":
            segments = _first_frames(split, FRAMES_MEASURED)
        else:
            # The first frames alone may all show one room or one score.
            segments = evaluation_index(split, FRAMES_MEASURED, length=1)
        frames = np.concatenate([reader.read(segment).frames for segment in segments])
    return FrameStatistics.measured(frames, palette, background)


def _first_frames(split: Split, frames: int) -> list[SegmentId]:
    """Whole episodes in their order, the last one cut, up to so many frames."""
    segments = []
    for episode, length in enumerate(split.episodes.length):
        if frames > 0:
            segments.append(SegmentId(episode, 0, min(int(length), frames)))
            frames -= int(length)
    return segments
