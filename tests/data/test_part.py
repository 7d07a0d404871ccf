"""Episodes and part files: what is refused, and that what is stored is what was given."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from counting_data import play, recording_of

from framedream.data.episode import ContentHash, Episode, Rows
from framedream.data.part import PartWriter, write_part
from framedream.data.part_file import PartFile
from framedream.data.recording import Recording
from framedream.envs.counting import CountingEnvironment
from framedream.errors import UserError


def plain_episode(**changes: Any) -> Episode:
    values = dict(
        frames=np.zeros((4, 5, 6), np.uint8),
        actions=np.array([0, 1, 2]),
        rewards=np.zeros(3),
        terminated=True,
        truncated=False,
    )
    return Episode(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (dict(frames=np.zeros((4, 5, 6), np.float32)), "not float32; scale 0..1 to 0..255"),
        (dict(frames=np.zeros((4, 5, 6), np.int64)), "not int64"),
        (dict(frames=[np.zeros((5, 6)), np.zeros((5, 7))]), "change their shape"),
        (dict(frames=np.zeros((4, 5, 6, 2), np.uint8)), "(4, 5, 6, 2)"),
        (dict(frames=np.zeros((4, 0, 6), np.uint8)), "(4, 0, 6)"),
        (dict(frames=np.zeros((0, 5, 6), np.uint8)), "at least 2 frames"),
        (
            dict(frames=np.zeros((1, 5, 6), np.uint8), actions=np.zeros(0, int), rewards=np.zeros(0)),
            "at least 2 frames",
        ),
        (dict(actions=np.array([0, 1, 2, 0])), "3 transitions, but its actions have shape (4,)"),
        (dict(rewards=np.zeros(2)), "3 transitions, but its rewards have shape (2,)"),
        (dict(actions=np.array([0.0, 1.0, 2.0])), "not float64"),
        (dict(actions=np.array([0, -1, 2])), "from -1 to 2"),
        (dict(actions=np.array([0, 40000, 2])), "from 0 to 40000"),
        (dict(terminated=False), "mark one that just stops as truncated"),
        (dict(states=np.zeros((3, 2))), "as many states, not 3"),
    ],
)
def test_an_episode_says_why_it_is_refused(changes: dict[str, Any], reason: str) -> None:
    plain_episode()
    with pytest.raises(UserError) as refusal:
        plain_episode(**changes)
    assert reason in str(refusal.value)


@pytest.mark.parametrize("rgb", [False, True])
def test_a_part_opens_with_plain_h5py(tmp_path: Path, rgb: bool) -> None:
    environment = CountingEnvironment(rgb=rgb)
    episodes = [play(seed, rgb=rgb) for seed in (3, 5, 8)]
    path = tmp_path / "part.h5"
    write_part(path, "train", recording_of(environment), environment.palette, episodes, first_number=40)
    # In a process that knows nothing of this package.
    program = (
        "import sys, h5py, hdf5plugin, numpy as np\n"
        "with h5py.File(sys.argv[1]) as file:\n"
        "    tables = {name: file[name][:] for name in file if name != 'episode'}\n"
        "    tables |= {'episode/' + name: file['episode'][name][:] for name in file['episode']}\n"
        "    assert not [name for name in sys.modules if name.startswith('framedream')]\n"
        "    np.savez(sys.argv[2], **tables)\n"
    )
    subprocess.run([sys.executable, "-c", program, path, tmp_path / "out.npz"], check=True, timeout=60)
    with np.load(tmp_path / "out.npz") as out:
        assert out["frames"].dtype == np.uint8 and out["action"].dtype == np.int16
        assert out["reward"].dtype == np.float32 and out["termination"].dtype == out["truncation"].dtype == bool
        assert out["episode/number"].tolist() == [40, 41, 42] and out["episode/seed"].tolist() == [3, 5, 8]
        assert ("palette" in out) == (not rgb)
        for number, episode in enumerate(episodes):
            start, length = out["episode/start"][number], out["episode/length"][number]
            rows = slice(start, start + length)
            np.testing.assert_array_equal(out["frames"][rows], episode.frames)
            np.testing.assert_array_equal(out["state"][rows], episode.states)
            assert out["action"][rows].tolist() == [*episode.actions, -1]
            assert out["reward"][rows].tolist() == [*episode.rewards, 0]
            ends = np.arange(length) == length - 2
            assert (out["termination"][rows] == (ends & episode.terminated)).all()
            assert (out["truncation"][rows] == (ends & episode.truncated)).all()
            assert out["episode/return"][number] == episode.rewards.sum()


def test_the_storage_is_what_the_format_promises(tmp_path: Path) -> None:
    environment = CountingEnvironment()
    write_part(tmp_path / "part.h5", "test", recording_of(environment), environment.palette, [play(1)])
    with h5py.File(tmp_path / "part.h5") as file:
        assert file.attrs["schema"] == 1 and file.attrs["split"] == "test"
        assert Recording.from_json(json.loads(file.attrs["recording"])) == recording_of(environment)
        frames = file["frames"]
        assert frames.chunks == (16, 12, 16) and frames.fletcher32
        zstandard = "32015"
        assert zstandard in frames._filters
        for chunk in range(frames.id.get_num_chunks()):
            assert frames.id.get_chunk_info(chunk).filter_mask == 0
        assert file["episode/sha256"].dtype == "S64"


def test_content_does_not_depend_on_how_rows_are_cut(tmp_path: Path) -> None:
    environment = CountingEnvironment(shortest=300, longest=300)
    episode = play(7, shortest=300, longest=300)
    rows = episode.rows()
    whole = ContentHash(7, environment.palette)
    whole.update(rows)
    for sizes in ([1] * 300, [16] * 19, [100, 3, 250], [299, 1]):
        pieces = ContentHash(7, environment.palette)
        path = tmp_path / f"{sizes[0]}.h5"
        with PartWriter(path, "train", recording_of(environment), environment.palette) as part:
            part.begin_episode(0, 7)
            start = 0
            for size in sizes:
                piece = rows.slice(start, start + size)
                pieces.update(piece)
                part.append(piece)
                start += size
            entry = part.end_episode()
        assert pieces.hexdigest() == whole.hexdigest() == entry.sha256
        with PartFile(path) as file:
            for column, stored in zip(rows, next(file.rows(0, 300, 1000)), strict=True):
                np.testing.assert_array_equal(column, stored)


def test_content_changes_with_every_value() -> None:
    def digest(rows: Rows, seed: int = 1, palette: Any = None) -> str:
        content = ContentHash(seed, palette)
        content.update(rows)
        return content.hexdigest()

    rows = play(1).rows()
    digests = {digest(rows), digest(rows, seed=2), digest(rows, palette=np.zeros((256, 3), np.uint8))}
    for name, column in rows._asdict().items():
        changed = column.copy()
        changed.flat[17] = changed.flat[17] ^ 1 if changed.dtype.kind in "ui" else 1 - changed.flat[17]
        digests.add(digest(rows._replace(**{name: changed})))
    digests.add(digest(rows._replace(frames=rows.frames.transpose(0, 2, 1).reshape(rows.frames.shape[0], 16, 12))))
    digests.add(digest(rows._replace(frames=rows.frames.reshape(len(rows.frames), 16, 12))))
    assert len(digests) == 3 + 6 + 2


def test_writing_holds_no_more_than_a_chunk_of_frames(tmp_path: Path) -> None:
    height, width, chunks = 210, 160, 60
    recording = Recording("x", {}, ("a",), 1, (height, width), False, {}, {}, 0)
    frames = np.zeros((16, height, width, 3), np.uint8)
    rows = Rows(frames, *(np.zeros(16, kind) for kind in (np.int16, np.float32, bool, bool)), None)
    tracemalloc.start()
    try:
        with PartWriter(tmp_path / "long.h5", "train", recording, None) as part:
            part.begin_episode(0, 0)
            for _ in range(chunks):
                part.append(rows)
            part.end_episode()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert frames.nbytes <= most < 2 * frames.nbytes


def test_a_part_is_the_same_file_every_time(tmp_path: Path) -> None:
    environment = CountingEnvironment()
    digests = set()
    for name in ("one.h5", "two.h5"):
        write_part(tmp_path / name, "train", recording_of(environment), environment.palette, [play(1), play(2)])
        digests.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(digests) == 1


def test_a_part_refuses_what_its_recording_does_not_say(tmp_path: Path) -> None:
    environment = CountingEnvironment()
    recording = recording_of(environment)
    with pytest.raises(UserError, match=r"keep one shape: \(12, 16\) so far, now \(12, 20\)"):
        write_part(tmp_path / "a.h5", "train", recording, environment.palette, [play(1), play(1, width=20)])
    with pytest.raises(UserError, match="Action 4 does not exist"):
        write_part(tmp_path / "b.h5", "train", recording, environment.palette, [play(1, actions=5)])
    with pytest.raises(UserError, match="palette"):
        write_part(tmp_path / "c.h5", "train", recording, None, [play(1)])
    with pytest.raises(ValueError, match="at least one episode"):
        write_part(tmp_path / "d.h5", "train", recording, environment.palette, [])
    assert not list(tmp_path.iterdir())
