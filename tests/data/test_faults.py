"""Kills, Ctrl-C, full disks: whatever happens to a recorder, the data set stays valid and can be finished.

Every recorder here is a real process in a process group of its own, so that it can be killed with its workers.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import FRAMES_PER_PART, TEST, TRAIN

from framedream.data.dataset import open_data_set
from framedream.data.manifest import MANIFEST, Manifest
from framedream.data.part_file import PartFile
from framedream.data.verify import verify

HERE = Path(__file__).parent
CHANGES = 46
"""More changes of names than a recording of the reference makes, so that the last kills come too late."""


def start(
    folder: Path,
    environment: str = "counting",
    train: int = TRAIN,
    workers: int = 2,
    kill_at: str = "",
    store: str = "frames",
) -> subprocess.Popen[str]:
    words = [environment, folder, train, TEST, workers, FRAMES_PER_PART, store, *kill_at.split()]
    return subprocess.Popen(
        [sys.executable, HERE / "record_counting.py", *map(str, words)],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(folder: Path) -> dict[str, dict[int, str]]:
    """Per split, the content hashes of all finished episodes, packed or staged."""
    episodes: dict[str, dict[int, str]] = {"train": {}, "test": {}}
    for split in episodes:
        paths = list((folder / "staging" / split).glob("*.h5"))
        if (folder / MANIFEST).exists():
            paths += [folder / part.path for part in Manifest.read(folder).parts_of(split)]
        for path in paths:
            with PartFile(path) as file:
                episodes[split] |= {episode.number: episode.sha256 for episode in file.episodes()}
    return episodes


def check_resume(folder: Path, reference: Path, survived: dict[str, dict[int, str]], store: str = "frames") -> None:
    """The same command again finishes the data set, and plays nothing that had been finished before."""
    resumed = start(folder, workers=1, store=store)
    out, error = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, error
    assert verify(folder).findings == ()
    data, expected = open_data_set(folder), open_data_set(reference)
    assert data.identity == expected.identity
    lengths = {split: data.split(split).episodes.length for split in survived}
    missing = sum(
        int(length)
        for split in survived
        for number, length in enumerate(lengths[split])
        if number not in survived[split]
    )
    # One worker plays in the order of the episodes and never ahead, so that this is exact.
    assert int(out.splitlines()[-1]) == missing
    complete = finished(folder)
    for split, episodes in survived.items():
        assert {number: sha for number, sha in episodes.items() if number < len(lengths[split])}.items() <= complete[
            split
        ].items()


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def members(group: int) -> list[int]:
    """The running processes of a process group."""
    listed = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in listed.splitlines()]
    return [int(pid) for pid, pgid, state in lines if int(pgid) == group and not state.startswith("Z")]


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed >= 3 else []) for seed in range(30)]
)
def test_killed_at_a_random_instant(tmp_path: Path, reference: Path, seed: int) -> None:
    folder = tmp_path / "killed"
    recorder = start(folder, workers=1 + seed % 3)
    wait_for(lambda: list(folder.glob("staging/train/*")))
    time.sleep(random.Random(seed).uniform(0, 0.6))
    os.killpg(recorder.pid, signal.SIGKILL)
    recorder.communicate()
    check_resume(folder, reference, finished(folder))


@pytest.mark.parametrize(
    "change",
    [pytest.param(n, marks=[] if n in (2, 13, 14) else [pytest.mark.slow]) for n in range(1, CHANGES)],
)
def test_killed_before_each_change_of_a_name(tmp_path: Path, reference: Path, change: int) -> None:
    """Between any two renames or removals of the recorder: parts named but not listed, listed but still staged, …"""
    folder = tmp_path / "killed"
    recorder = start(folder, workers=1, kill_at=str(change))
    recorder.communicate(timeout=60)
    assert recorder.returncode in (-signal.SIGKILL, 0)
    check_resume(folder, reference, finished(folder))


@pytest.mark.parametrize(
    "change",
    [pytest.param(n, marks=[] if n in (3, 14) else [pytest.mark.slow]) for n in range(1, CHANGES)],
)
def test_killed_while_only_actions_are_stored(tmp_path: Path, reference: Path, change: int) -> None:
    """As above; what comes out is the same data set as with frames."""
    folder = tmp_path / "killed"
    recorder = start(folder, workers=1, kill_at=str(change), store="actions")
    recorder.communicate(timeout=60)
    assert recorder.returncode in (-signal.SIGKILL, 0)
    check_resume(folder, reference, finished(folder), store="actions")


def test_workers_do_not_outlive_a_killed_recorder(tmp_path: Path, reference: Path) -> None:
    folder = tmp_path / "killed"
    recorder = start(folder, "strange_environments:Long")
    wait_for(lambda: list(folder.glob("staging/train/*.tmp")))
    recorder.kill()
    recorder.wait()
    try:
        wait_for(lambda: not members(recorder.pid), seconds=10)
    finally:
        for member in members(recorder.pid):
            os.kill(member, signal.SIGKILL)
        recorder.communicate()


def test_ctrl_c_saves_what_is_finished_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    words = f"collect strange_environments:Slow --out {folder} --frames 5000 --workers 2"
    recorder = subprocess.Popen(
        [sys.executable, "-m", "framedream", *words.split()],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(list(folder.glob("staging/train/*.h5"))) >= 2)
    # It is for the recorder alone to react: its workers take no notice of the signal that the whole group gets.
    for member in members(recorder.pid):
        if member != recorder.pid:
            os.kill(member, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        recorder.wait(0.5)
    os.killpg(recorder.pid, signal.SIGINT)
    out, error = recorder.communicate(timeout=20)
    assert recorder.returncode == 130
    assert f"To go on: framedream {words}" in error
    assert "Traceback" not in error + out
    assert verify(folder).findings == ()
    assert len(open_data_set(folder).split("train").episodes) >= 2
    wait_for(lambda: not members(recorder.pid), seconds=10)  # Python's own resource tracker ends a moment later
    assert not list(folder.glob("staging/**/*.tmp"))


def test_a_worker_that_dies_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "dying"
    recorder = start(folder, "strange_environments:Dying", workers=1)
    _, error = recorder.communicate(timeout=30)
    assert error == (
        "UserError: A worker was killed by SIGKILL while playing train episode 2; finished episodes are kept, "
        "run the same command again to go on (with fewer --workers if memory ran out).\n"
    )
    assert verify(folder).findings == ()
    assert len(open_data_set(folder).split("train").episodes) == 2


def test_two_recorders_on_one_data_set(tmp_path: Path, reference: Path) -> None:
    folder = tmp_path / "shared"
    first = start(folder, "strange_environments:Slow", train=60)
    wait_for(lambda: list(folder.glob("staging/train/*")))
    second = start(folder, "strange_environments:Slow", train=60)
    _, error = second.communicate(timeout=30)
    assert second.returncode == 1
    assert error == (
        f"UserError: Another recorder is writing into {folder}; wait for it, or choose another folder with --out.\n"
    )
    _, error = first.communicate(timeout=60)
    assert first.returncode == 0, error
    assert verify(folder).findings == ()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of its own in `folder`, where this user may have one."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no permission to mount a small disk: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


@pytest.mark.parametrize("size", ["4k", "40k", "150k"])
def test_a_full_disk(tmp_path: Path, reference: Path, size: str) -> None:
    """Full while the manifest, an early or a later episode is written. With room again, nothing has to be redone."""
    disk = tmp_path / "disk"
    with small_disk(disk, size):
        folder = disk / "data"
        recorder = start(folder, workers=1)
        _, error = recorder.communicate(timeout=60)
        assert error == (
            f"UserError: The disk that holds {folder} is full; make room and run the same command again: "
            "the data set is valid and finished episodes are kept.\n"
        )
        assert size == "4k" or verify(folder).findings == ()
        assert not list(folder.glob("staging/**/*.tmp")), "what was not finished takes up no room"
        remount(disk, "size=8m")
        check_resume(folder, reference, finished(folder))


def test_a_read_only_folder(tmp_path: Path, reference: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "8m"):
        folder = disk / "data"
        assert start(folder, train=100, workers=1).wait(timeout=60) == 0
        remount(disk, "ro")
        for out in (folder, disk / "new"):
            recorder = start(out, workers=1)
            _, error = recorder.communicate(timeout=60)
            assert error == (
                f"UserError: Cannot write in {out} (Read-only file system); choose another folder with --out.\n"
            )
        assert verify(folder).findings == ()
        frames = open_data_set(folder).split("train").frames
        assert frames >= 100
        complete = start(folder, train=frames, workers=1)
        out, error = complete.communicate(timeout=60)
        assert (complete.returncode, out.splitlines()[-1]) == (0, "0"), error


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    recorder = start(tmp_path / "file" / "data", workers=1)
    _, error = recorder.communicate(timeout=60)
    assert "UserError: Cannot write in" in error and "Not a directory" in error
