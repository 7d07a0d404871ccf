"""Every source of batches gives the loader's, to the last bit, whatever device they are for."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from framedream.data import plan
from framedream.data.dataset import Split, open_data_set
from framedream.data.episode import Rows
from framedream.data.loader import BatchLoader
from framedream.data.part_file import PartFile
from framedream.data.plan import Amount
from framedream.data.reader import SegmentReader
from framedream.data.recorder import record
from framedream.data.sampler import SegmentSampler
from framedream.errors import UserError
from framedream.training import resident
from framedream.training.batches import BatchSource, StreamedFrames
from framedream.training.resident import ResidentFrames, choose_source, gather, read_whole, resident_bytes
from framedream.training.specification import RunSpec

NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
CPU = torch.device("cpu")
DEVICES = [
    CPU,
    pytest.param(torch.device("cuda"), marks=NEEDS_GPU),
]
KINDS: dict[str, dict[str, Any]] = {
    "palette": dict(options=dict(height=48, width=48)),
    "colours": dict(options=dict(rgb=True)),
    "replayed": dict(store="actions"),
}
FIELDS = ("frames", "actions", "rewards", "terminations")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Split]:
    """Nine episodes of 20 to 40 frames in several parts."""

    @cache
    def record_one(kind: str) -> Split:
        folder = tmp_path_factory.mktemp(kind) / "data"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan, "FRAMES_PER_PART", 80)
            record("counting", folder, Amount(episodes=9), workers=1, **KINDS[kind])
        return open_data_set(folder).split("train")

    return record_one


@pytest.fixture
def split(recorded: Callable[[str], Split]) -> Split:
    return recorded("palette")


@pytest.fixture(params=KINDS)
def any_split(request: pytest.FixtureRequest, recorded: Callable[[str], Split]) -> Split:
    return recorded(request.param)


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("cross_episodes", [False, True])
@pytest.mark.parametrize("source_of", [StreamedFrames, ResidentFrames])
def test_batches_are_the_loaders(
    any_split: Split, source_of: type[BatchSource], cross_episodes: bool, device: torch.device
) -> None:
    run = RunSpec(batch_size=7, seed=3, cross_episodes=cross_episodes)
    with source_of(any_split, run, device) as source:
        for length, first in ((15, 0), (2, 1000), (20, 5)):
            compared(source, any_split, run, device, length, first)


def compared(
    source: BatchSource, split: Split, run: RunSpec, device: torch.device, length: int, first: int, batches: int = 12
) -> None:
    sampler = SegmentSampler(split.episodes.length, length, run.batch_size, run.seed, cross_episodes=run.cross_episodes)
    joints = ends = 0
    with (
        SegmentReader(split, cross_episodes=run.cross_episodes) as reader,
        BatchLoader(reader, sampler, first) as loader,
        source.open(length, first) as opened,
    ):
        for expected, batch, _ in zip(loader, opened, range(batches), strict=False):
            assert len(batch) == run.batch_size
            for field in FIELDS:
                tensor, array = getattr(batch, field), getattr(expected, field)
                assert tensor.device.type == device.type
                assert tensor.dtype == torch.from_numpy(array).dtype
                np.testing.assert_array_equal(tensor.cpu().numpy(), array, field)
            inside = split.episodes.length[[one.episode for one in expected.ids]]
            joints += sum(one.start + length > frames for one, frames in zip(expected.ids, inside, strict=True))
            ends += int((expected.actions[:, -1] == -1).sum())
    # The rare cases did occur: an episode's last frame at the end of a segment, and within one.
    assert ends > 0
    assert (joints > 0) == run.cross_episodes


@pytest.mark.parametrize("segment_frames", [7, 64, 10_000])
@pytest.mark.parametrize("segments_at_once", [1, 3])
def test_a_whole_split_is_read_in_pieces(
    split: Split, monkeypatch: pytest.MonkeyPatch, segment_frames: int, segments_at_once: int
) -> None:
    frame_bytes = 48 * 48
    monkeypatch.setattr(resident, "SEGMENT_FRAMES", segment_frames)
    monkeypatch.setattr(resident, "PIECE_BYTES", segments_at_once * segment_frames * frame_bytes + 100)
    told: list[tuple[int, int]] = []
    columns = read_whole(split, CPU, lambda read, frames: told.append((read, frames)))
    whole = [rows_of(path) for path in split.paths]
    for column, field in zip(columns, FIELDS, strict=True):
        np.testing.assert_array_equal(column.numpy(), np.concatenate([getattr(rows, field) for rows in whole]), field)
    read, of = zip(*told, strict=True)
    assert set(of) == {split.frames} and read[-1] == split.frames
    steps = np.diff([0, *read])
    assert steps.min() > 0 and steps.max() <= segments_at_once * segment_frames
    assert sum(column.nbytes for column in columns) == resident_bytes(split)


def rows_of(path: Path) -> Rows:
    """A part's rows through plain h5py."""
    with PartFile(path) as part:
        return next(part.rows(0, part.frames, part.frames))


def test_reading_a_whole_split_can_be_broken_off(split: Split) -> None:
    def stop(read: int, frames: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ResidentFrames(split, RunSpec(), CPU, stop)
    assert not reading_threads()


@pytest.fixture
def damaged(split: Split, tmp_path: Path) -> Split:
    """A copy with a broken chunk of frames in its second part."""
    shutil.copytree(split.folder, tmp_path / "copy")
    copy = open_data_set(tmp_path / "copy").split("train")
    with h5py.File(copy.paths[1]) as file:
        place = file["frames"].id.get_chunk_info(1).byte_offset
    content = bytearray(copy.paths[1].read_bytes())
    content[place] ^= 0xFF
    copy.paths[1].write_bytes(content)
    return copy


@pytest.mark.parametrize("source_of", [StreamedFrames, ResidentFrames])
def test_errors_in_reading_reach_the_caller(damaged: Split, source_of: type[BatchSource]) -> None:
    with (
        pytest.raises(UserError, match="damaged near row 16"),
        source_of(damaged, RunSpec(), CPU) as source,
        source.open(10, 0) as batches,
    ):
        for _ in zip(batches, range(50), strict=False):
            pass
    assert not reading_threads()


@pytest.mark.parametrize("source_of", [StreamedFrames, ResidentFrames])
def test_sequences_that_fit_nowhere_are_refused_when_they_are_opened(
    split: Split, source_of: type[BatchSource]
) -> None:
    with source_of(split, RunSpec(), CPU) as source:
        with pytest.raises(UserError, match="Segments of 41 frames do not fit"), source.open(41, 0):
            pass
        with source.open(5, 0) as batches:
            assert next(batches).frames.shape[:2] == (16, 5)
    assert not reading_threads()


def test_frames_stay_on_a_device_where_that_helps(split: Split) -> None:
    def chosen(device: torch.device, **options: Any) -> type[BatchSource]:
        with choose_source(split, RunSpec(), device, **options) as source:
            return type(source)

    assert chosen(CPU) is chosen(CPU, residence="never") is StreamedFrames
    assert chosen(CPU, residence="always") is ResidentFrames
    if torch.cuda.is_available():
        gpu = torch.device("cuda")
        assert chosen(gpu) is chosen(gpu, residence="always") is ResidentFrames
        assert chosen(gpu, residence="never") is StreamedFrames


@NEEDS_GPU
def test_a_slow_gpu_finds_whole_batches_in_bounded_memory(split: Split) -> None:
    """The processor is done with a batch long before the GPU is; later ones must neither replace it nor pile up."""
    run, gpu, length = RunSpec(batch_size=256), torch.device("cuda"), 20
    before = torch.cuda.memory_stats(gpu)["active_bytes.all.current"]
    torch.cuda.reset_peak_memory_stats(gpu)
    sums = []
    with StreamedFrames(split, run, gpu) as source, source.open(length, 0) as batches:
        for batch, _ in zip(batches, range(30), strict=False):
            torch.cuda._sleep(50_000_000)  # clock cycles: some 25 ms
            sums.append(batch.frames.sum(dtype=torch.int64))
            size = batch.frames.nbytes
    most = torch.cuda.memory_stats(gpu)["active_bytes.all.peak"] - before
    assert most < 6 * size
    sampler = SegmentSampler(split.episodes.length, length, run.batch_size, run.seed)
    with SegmentReader(split) as reader:
        expected = [int(reader.read_batch(sampler.batch(step)).frames.sum()) for step in range(len(sums))]
    assert torch.stack(sums).tolist() == expected


@NEEDS_GPU
def test_frames_beyond_the_reach_of_32_bits_are_gathered() -> None:
    gpu = torch.device("cuda")
    count, shape = 140_000, (210, 160)  # 4.7 GB: more than 2**32 bytes
    if torch.cuda.mem_get_info(gpu)[0] < 1.5 * count * 210 * 160:
        pytest.skip("needs 7 GB of free GPU memory")
    frames = torch.zeros((count, *shape), dtype=torch.uint8, device=gpu)
    frames[:, 0, :3] = torch.tensor([[n % 251, n % 241, n % 239] for n in range(count)], dtype=torch.uint8, device=gpu)
    actions = torch.arange(count, device=gpu)
    rows = torch.randint(count - 25, (80, 1), device=gpu) + torch.arange(25, device=gpu)
    rows[-1] = torch.arange(count - 25, count, device=gpu)
    batch = gather((frames, actions, actions.float(), actions > 7), rows)
    assert torch.equal(batch.actions, rows)
    for place, modulus in enumerate((251, 241, 239)):
        assert torch.equal(batch.frames[:, :, 0, place].long(), rows % modulus)
    assert int(batch.frames[:, :, 0, 3:].max()) == int(batch.frames[:, :, 1:].max()) == 0


def reading_threads() -> list[str]:
    names = ("batch-loader", "segment-reader")
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(names)]
