"""`bench data` runs, measures what it says, and compares ways of reading that give the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from counting_data import make_data_set

from framedream.benchmarks import data as bench
from framedream.cli.bench import main
from framedream.data.reader import SegmentReader
from framedream.data.sampler import SegmentSampler
from framedream.errors import UserError


def test_both_ways_of_reading_give_the_same_frames(tmp_path: Path) -> None:
    split = make_data_set(tmp_path / "data", frames_per_part=60).split("train")
    ids = SegmentSampler(split.episodes.length, 9, 20, seed=0).batch(0)
    place = np.zeros((20, 9, 12, 16), np.uint8)
    tables = [h5py.File(path, "r")["frames"] for path in split.paths]
    bench._read_with_h5py(split, tables, ids, place)
    with SegmentReader(split) as reader:
        assert np.array_equal(reader.read_batch(ids).frames, place)


def test_the_command_prints_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ale_py")
    monkeypatch.setattr(bench, "REPETITIONS", 2)
    monkeypatch.setattr(bench, "SECONDS_PER_REPETITION", 0.01)
    words = ["data", "--env", "counting", "--frames", "200", "--lengths", "5", "12", "--folder", str(tmp_path / "kept")]
    main([*words, "--json"])
    measured = json.loads(capsys.readouterr().out)
    assert measured["recording"]["environment"] == "atari/pong" and measured["recording"]["frames"] >= 200
    assert measured["recording"]["worker_megabytes"] > 10
    assert measured["storage"]["frames"] >= 200
    assert [reading["segment_frames"] for reading in measured["reading"]] == [5, 12]
    for reading in measured["reading"]:
        assert set(reading["frames_per_second"]) == {"h5py", "one_thread", "two_threads", "one_thread_with_states"}
        assert min(reading["frames_per_second"].values()) > 0
        assert reading["cores_busy_with_other_programs"] is None or reading["cores_busy_with_other_programs"] >= 0
    assert {"python", "h5py", "zstandard"} <= set(measured["machine"]["versions"])

    stored = (tmp_path / "kept" / "manifest.json").read_bytes()
    main(words)
    shown = capsys.readouterr().out
    assert "two threads against one" in shown and "bytes per frame" in shown
    assert (tmp_path / "kept" / "manifest.json").read_bytes() == stored, "a kept data set is read again, not recorded"


def test_unknown_benchmarks_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="'data'"):
        main(["dta"])
    with pytest.raises(UserError, match="at least 1 frame"):
        main(["data", "--frames", "0"])
    main([])
    assert "framedream bench WHAT" in capsys.readouterr().out
