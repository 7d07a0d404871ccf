"""Recording and reading, measured: frames per second, memory, bytes per frame, and stock h5py on the same files."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from framedream.benchmarks.machine import OtherPrograms, describe_machine
from framedream.benchmarks.ratios import median_ratio
from framedream.data.dataset import Split, open_data_set
from framedream.data.plan import Amount
from framedream.data.reader import SegmentReader
from framedream.data.recorder import record
from framedream.data.sampler import SegmentSampler
from framedream.data.segment import SegmentId
from framedream.errors import UserError

BATCH = 16  # the paper's
REPETITIONS = 15
SECONDS_PER_REPETITION = 0.15
TARGETS = dict(
    recording_frames_per_second=2_500,
    worker_megabytes_at_most=500,
    segment_frames=25,
    faster_than_h5py=1.5,
    two_threads_faster=1.6,
    seaquest_bytes_per_frame_at_most=216 * 1.15,
)
"""What the project asks of itself, on the environment and lengths it names."""

Say = Callable[[str], None]


def bench_data(
    environment: str, frames: int, folder: Path | None, lengths: Sequence[int], say: Say = lambda text: None
) -> dict[str, Any]:
    """Everything in one run. `folder` keeps the data set for the next one."""
    if frames < 1:
        raise UserError(f"Record at least 1 frame, not {frames}.")
    machine = describe_machine(("h5py", "hdf5plugin", "zstandard", "numpy", "ale-py"))
    with _place(folder) as data_folder:
        say("Recording Pong with one worker")
        recording = _measure_recording("atari/pong", frames)
        say(f"Recording {environment}")
        record(environment, data_folder, Amount(frames=frames), options={})
        split = open_data_set(data_folder).split("train")
        reading = []
        for length in lengths:
            say(f"Reading random segments of {length} frames")
            reading.append(_measure_reading(split, length))
        return {
            "machine": machine,
            "recording": recording,
            "storage": {"environment": environment, "frames": split.frames} | _measure_storage(split),
            "reading": reading,
            "targets": TARGETS,
        }


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="framedream-bench-") as place:
        yield Path(place) / "data"


def _measure_recording(environment: str, frames: int) -> dict[str, Any]:
    """One worker playing at random and writing, as `framedream collect --workers 1` does."""
    with tempfile.TemporaryDirectory(prefix="framedream-bench-") as place:
        before = _processor_seconds_of_children()
        recorded = record(environment, Path(place) / "data", Amount(frames=frames), workers=1)
        processor_seconds = _processor_seconds_of_children() - before
    progress = recorded.progress
    return {
        "environment": environment,
        "frames": progress.new_frames,
        "frames_per_second": progress.new_frames / progress.worker_seconds,
        "frames_per_processor_second_with_start": progress.new_frames / processor_seconds,
        "worker_megabytes": progress.peak_memory / 1e6,
        "bytes_per_frame": progress.new_bytes / progress.new_frames,
    }


def _processor_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _measure_storage(split: Split) -> dict[str, float]:
    stored, images, states = 0, 0, 0
    for path in split.paths:
        stored += path.stat().st_size
        with h5py.File(path, "r") as file:
            images += file["frames"].id.get_storage_size()
            states += file["state"].id.get_storage_size() if "state" in file else 0
    return {
        "frame_bytes_per_frame": images / split.frames,
        "state_bytes_per_frame": states / split.frames,
        "file_bytes_per_frame": stored / split.frames,
    }


def _measure_reading(split: Split, length: int) -> dict[str, Any]:
    """Random batches by each way of reading in turn, again and again, so that all meet the same disturbances."""
    sampler = SegmentSampler(split.episodes.length, length, BATCH, seed=0)
    with ExitStack() as opened:
        one = opened.enter_context(SegmentReader(split, threads=1, states=False))
        two = opened.enter_context(SegmentReader(split, threads=2, states=False))
        with_states = opened.enter_context(SegmentReader(split, threads=1))
        tables = [opened.enter_context(h5py.File(path, "r"))["frames"] for path in split.paths]
        place = np.empty((BATCH, length, *one.frame_shape), np.uint8)
        ways: dict[str, Callable[[list[SegmentId]], object]] = {
            "h5py": lambda ids: _read_with_h5py(split, tables, ids, place),
            "one_thread": lambda ids: one.read_batch(ids, place),
            "two_threads": lambda ids: two.read_batch(ids, place),
            "one_thread_with_states": lambda ids: with_states.read_batch(ids, place),
        }
        once = min(_seconds(ways["h5py"], [sampler.batch(step)]) for step in range(3))
        batches = [sampler.batch(step) for step in range(max(1, round(SECONDS_PER_REPETITION / once)))]
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        others = OtherPrograms()
        for _ in range(REPETITIONS):
            for way, read in ways.items():
                seconds[way].append(_seconds(read, batches))
    frames = len(batches) * BATCH * length
    return {
        "segment_frames": length,
        "cores_busy_with_other_programs": others.busy_cores(),
        "frames_per_second": {way: frames / median(values) for way, values in seconds.items()},
        "best_frames_per_second": {way: frames / min(values) for way, values in seconds.items()},
        "faster_than_h5py": median_ratio(seconds["h5py"], seconds["one_thread"]),
        "two_threads_faster": median_ratio(seconds["one_thread"], seconds["two_threads"]),
    }


def _read_with_h5py(split: Split, tables: list[Any], ids: list[SegmentId], place: NDArray[np.uint8]) -> None:
    """The straightforward way: open files, one slice per segment, read to where it is wanted."""
    episodes = split.episodes
    for number, segment in enumerate(ids):
        start = int(episodes.start[segment.episode]) + segment.start
        tables[episodes.part[segment.episode]].read_direct(place[number], np.s_[start : start + segment.length])


def _seconds(read: Callable[[list[SegmentId]], object], batches: list[list[SegmentId]]) -> float:
    began = time.perf_counter()
    for ids in batches:
        read(ids)
    return time.perf_counter() - began
