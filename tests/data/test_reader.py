"""A segment says itself where it comes from: every frame its episode's seed, its step and the action before it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest
from counting_data import assert_counts, make_data_set
from hypothesis import given
from hypothesis import strategies as st

from framedream.data.dataset import DataSet, Split
from framedream.data.reader import SegmentReader
from framedream.data.segment import SegmentId
from framedream.envs.counting import read_count
from framedream.errors import UserError


@pytest.fixture(scope="module", params=[False, True], ids=["indices", "rgb"])
def data_set(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    # Parts of two episodes or so: segments come from several files and from chunks shared by two episodes.
    return make_data_set(tmp_path_factory.mktemp("counting") / "data", frames_per_part=50, rgb=request.param)


@pytest.fixture(scope="module")
def split(data_set: DataSet) -> Split:
    split = data_set.split("train")
    assert len(split.paths) >= 3
    return split


@pytest.fixture(scope="module", params=[1, 3], ids=["1-thread", "3-threads"])
def reader(split: Split, request: pytest.FixtureRequest) -> Iterator[SegmentReader]:
    with SegmentReader(split, threads=request.param) as reader:
        yield reader


@given(choice=st.data())
def test_every_frame_of_a_segment_is_the_right_one(split: Split, reader: SegmentReader, choice: st.DataObject) -> None:
    episode = choice.draw(st.integers(0, len(split.episodes) - 1))
    frames = int(split.episodes.length[episode])
    start = choice.draw(st.integers(0, frames - 1))
    length = choice.draw(st.integers(1, frames - start))
    segment = reader.read(SegmentId(episode, start, length))

    assert len(segment) == length
    seed = int(split.episodes.seed[episode])
    assert_counts(segment.frames, segment.actions, seed, start)
    assert segment.states is not None
    steps = np.arange(start, start + length)
    assert np.array_equal(segment.states[:, 0], np.full(length, seed & 0xFFFF))
    assert np.array_equal(segment.states[:, 1], steps)
    # The reward of the counting environment is the step it leads to; an episode's last row has none.
    assert np.array_equal(segment.rewards, np.where(steps == frames - 1, 0, steps + 1))
    assert np.array_equal(segment.terminations | segment.truncations, steps == frames - 2)
    assert np.array_equal(segment.actions < 0, steps == frames - 1)


def test_a_batch_is_its_segments_stacked(split: Split, reader: SegmentReader) -> None:
    ids = [SegmentId(episode, start, 9) for episode in range(len(split.episodes)) for start in (0, 3, 11)]
    place = np.full((len(ids), 9, *reader.frame_shape), 250, np.uint8)
    batch = reader.read_batch(ids, frames_out=place)
    assert batch.frames is place
    assert batch.ids == tuple(ids) and len(batch) == len(ids)
    assert batch.actions.dtype == np.int64
    for number, segment_id in enumerate(ids):
        segment = reader.read(segment_id)
        for field in ("frames", "actions", "rewards", "terminations", "truncations", "states"):
            assert np.array_equal(getattr(batch, field)[number], getattr(segment, field)), field


def test_segments_past_the_end_of_an_episode_are_refused(split: Split, reader: SegmentReader) -> None:
    frames = int(split.episodes.length[2])
    for start, length in ((frames - 3, 4), (0, frames + 1), (frames, 1), (-1, 2)):
        with pytest.raises(IndexError):
            reader.read(SegmentId(2, start, length))
    with pytest.raises(IndexError):
        reader.read(SegmentId(len(split.episodes), 0, 1))


def test_a_segment_may_run_over_episodes_when_told(split: Split) -> None:
    table = split.episodes
    with SegmentReader(split, cross_episodes=True) as reader:
        for episode in range(len(table) - 1):
            start = int(table.length[episode]) - 4
            segment = reader.read(SegmentId(episode, start, 9))
            assert_counts(segment.frames[:4], segment.actions, int(table.seed[episode]), start)
            assert_counts(segment.frames[4:], segment.actions[4:], int(table.seed[episode + 1]), 0)
            # Frame 3 is the last of its episode: the step to the reset frame was nobody's action.
            assert segment.actions[3] == 0 and (segment.actions[:-1] >= 0).all()
            assert (segment.terminations | segment.truncations)[:5].tolist() == [False, False, True, False, False]
        whole = reader.read(SegmentId(0, 0, split.frames))
        assert [read_count(frame).step for frame in whole.frames] == [
            step for length in table.length for step in range(length)
        ]
        assert whole.actions[-1] == -1 and (whole.actions[:-1] >= 0).all()
        with pytest.raises(IndexError, match="last episode"):
            reader.read(SegmentId(len(table) - 1, 0, int(table.length[-1]) + 1))


def test_many_threads_may_use_one_reader(split: Split) -> None:
    with SegmentReader(split) as reader, ThreadPoolExecutor(8) as pool:
        together = threading.Barrier(8)

        def read_all(worker: int) -> None:
            together.wait()
            for episode in np.random.default_rng(worker).permutation(len(split.episodes)).tolist():
                length = int(split.episodes.length[episode])
                segment = reader.read(SegmentId(episode, 0, length))
                assert_counts(segment.frames, segment.actions, int(split.episodes.seed[episode]), 0)

        list(pool.map(read_all, range(8)))


def test_states_can_be_left_out(split: Split) -> None:
    with SegmentReader(split, states=False) as reader:
        assert reader.read(SegmentId(0, 0, 5)).states is None


def test_wrong_batches_are_refused(reader: SegmentReader) -> None:
    with pytest.raises(ValueError, match="one length"):
        reader.read_batch([SegmentId(0, 0, 5), SegmentId(1, 0, 6)])
    with pytest.raises(ValueError, match="one length"):
        reader.read_batch([])
    with pytest.raises(ValueError, match="frames_out"):
        reader.read_batch([SegmentId(0, 0, 5)], np.empty((1, 4, *reader.frame_shape), np.uint8))


def test_a_file_that_is_no_part_is_one_sentence(tmp_path: Path) -> None:
    split = make_data_set(tmp_path / "data", train=1, test=0).split("train")
    with h5py.File(split.paths[0], "w"):
        pass
    with pytest.raises(UserError, match=r"part-00-0000\.h5 cannot be read"):
        SegmentReader(split)
    split.paths[0].write_bytes(b"")
    with pytest.raises(UserError, match=r"part-00-0000\.h5 cannot be read"):
        SegmentReader(split)
