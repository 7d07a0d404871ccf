"""Hosts that die, hang and are orphaned; full disks; users without rights or a home. Nothing is left behind."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from framedream.envs.torcs import process
from framedream.envs.torcs.build import build_host
from framedream.envs.torcs.configuration import Scene
from framedream.envs.torcs.environment import TorcsEnvironment
from framedream.envs.torcs.installation import find_installation
from framedream.envs.torcs.lasting_host import LastingHost
from framedream.envs.torcs.scratch import PREFIX, ScratchFolder
from framedream.errors import UserError

Make = Callable[..., TorcsEnvironment]
ACTIONS = np.random.default_rng(0).integers(3, size=500).tolist()
SCENE = Scene(48, 64, 1, "road", "g-track-1", "road", "car1-trb1", 5000)


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Scratch folders of this test alone, none of which may be left at its end."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


def scratch_folders(place: Path) -> list[Path]:
    return sorted(place.glob(f"{PREFIX}*"))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


@pytest.mark.parametrize("disturb", [signal.SIGKILL, signal.SIGSTOP])
def test_a_host_that_dies_or_hangs_is_replaced_unnoticed(
    make: Make,
    disturb: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Killed in the middle of an episode, the next step goes on as if nothing had been."""
    environment = make()
    undisturbed = digests(environment, 30, None)
    first = environment.host_pid
    monkeypatch.setattr(process, "SECONDS_TO_ANSWER", 3.0)
    assert digests(environment, 30, disturb) == undisturbed
    assert environment.host_pid != first and not alive(first)
    assert "TORCS was started again" in capfd.readouterr().err
    environment.close()
    assert scratch_folders(tmp_path) == []


def digests(environment: TorcsEnvironment, steps: int, disturb: signal.Signals | None) -> list[str]:
    frame, info = environment.reset(seed=5)
    seen = [hashlib.sha256(frame.tobytes() + info["state"].tobytes()).hexdigest()]
    for step, action in enumerate(ACTIONS[:steps]):
        if disturb is not None and step == steps // 2:
            os.kill(environment.host_pid, disturb)
        frame, *_, info = environment.step(action)
        seen.append(hashlib.sha256(frame.tobytes() + info["state"].tobytes()).hexdigest())
    return seen


def test_a_host_that_dies_again_is_given_up(tmp_path: Path) -> None:
    """After the same number of requests, every time."""
    short_lived = tmp_path / "short-lived"
    short_lived.write_text(f'#!/bin/sh\ndd bs=13 count=8 2>/dev/null | {build_host()[0]} "$@"\n')
    short_lived.chmod(0o700)
    host = LastingHost(short_lived, find_installation(), SCENE)
    host.reset(0, 0.0)
    for _ in range(6):
        host.step(0.0, 0.5, 5)
    with pytest.raises(UserError, match=r"TORCS failed twice in a row \(it ended with .*\), \d steps into the") as end:
        for _ in range(2):
            host.step(0.0, 0.5, 5)
    assert "\n" not in str(end.value)
    assert scratch_folders(tmp_path) == []


def test_a_host_that_cannot_start_says_why(tmp_path: Path) -> None:
    """In the host's own words, passed on from its stderr."""
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho 'torcs_host: EGL cannot draw without a display (error 0x3001)' >&2\nexit 3\n")
    failing.chmod(0o700)
    with pytest.raises(UserError, match=r"TORCS did not start: EGL cannot draw .*apt-get install"):
        LastingHost(failing, find_installation(), SCENE).reset(0, 0.0)
    assert scratch_folders(tmp_path) == []


PARENT = """
import sys
from framedream.envs.torcs.environment import TorcsEnvironment
environment = TorcsEnvironment(height=48, width=64)
environment.reset(seed=0)
print(environment.host_pid, flush=True)
if "resetting" in sys.argv:
    environment._host._pictures = 10**6
    environment.reset(seed=0)
while "driving" in sys.argv:
    environment.step(0)
sys.stdin.read()
"""


@pytest.mark.parametrize("doing", ["nothing", "driving", "resetting"])
def test_nothing_outlives_a_killed_parent(tmp_path: Path, doing: str) -> None:
    """Not even a host that is in the middle of something, and its folder goes with it."""
    words = [sys.executable, "-c", PARENT, doing]
    parent = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    host = int(parent.stdout.readline())
    time.sleep(0.0 if doing == "nothing" else 0.5)
    assert alive(host) and len(scratch_folders(tmp_path)) == 1
    parent.kill()
    parent.wait()
    wait_for(lambda: not alive(host))
    assert scratch_folders(tmp_path) == []


def test_forgotten_folders_are_removed_by_the_next_start(tmp_path: Path) -> None:
    """As when parent and host are killed together; folders whose owners live are left alone."""
    words = [sys.executable, "-c", PARENT]
    parent = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    host = int(parent.stdout.readline())
    (theirs,) = scratch_folders(tmp_path)
    ours = ScratchFolder()
    assert scratch_folders(tmp_path) == sorted([theirs, ours.path])
    os.kill(host, signal.SIGKILL)
    parent.kill()
    parent.wait()
    assert theirs.exists()
    next_one = ScratchFolder()
    assert scratch_folders(tmp_path) == sorted([ours.path, next_one.path])
    for folder in (ours, next_one):
        folder.remove()


def test_many_starts_at_once_do_not_take_each_others_folders() -> None:
    """Every start looks for forgotten folders, and a new one is not locked before it exists."""

    def start_and_stop(_: int) -> bool:
        folder = ScratchFolder()
        folder.write({"config/file.txt": "here"})
        whole = (folder.path / "config/file.txt").read_text() == "here"
        folder.remove()
        return whole

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(start_and_stop, range(400)))


def test_ctrl_c_in_a_terminal_does_not_reach_the_host(make: Make) -> None:
    environment = make()
    environment.reset(seed=0)
    assert os.getsid(environment.host_pid) != os.getsid(0)


def test_a_forgotten_environment_ends_its_host(make: Make, tmp_path: Path) -> None:
    environment = TorcsEnvironment(height=48, width=64)
    environment.reset(seed=0)
    host = environment.host_pid
    del environment
    wait_for(lambda: not alive(host))
    assert scratch_folders(tmp_path) == []


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("no permission to mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_program_that_vanished(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"TORCS did not start: No such file or directory: .*gone"):
        LastingHost(tmp_path / "gone", find_installation(), SCENE).reset(0, 0.0)
    assert scratch_folders(tmp_path) == []


def test_steps_need_a_reset(make: Make) -> None:
    environment = make()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="reset the environment"):
            environment.step(0)
        environment.reset(seed=0)
        environment.step(0)
        environment.close()


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "disk", "8k") as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with pytest.raises(UserError, match=r"is full; make room, or set TMPDIR to another folder\.$"):
            TorcsEnvironment().reset(seed=0)
        assert scratch_folders(disk) == []
    with small_disk(tmp_path / "cache", "16k") as disk:
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
        with pytest.raises(UserError, match="full"):
            build_host()
        assert list(disk.glob("framedream/*/*torcs_host*")) == []


def test_a_disk_that_fills_up_later_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        environment = TorcsEnvironment(height=48, width=64)
        expected = digests(environment, 5, None)
        with pytest.raises(OSError, match="No space"), (disk / "rubbish").open("wb") as rubbish:
            while True:
                rubbish.write(bytes(4096))
        assert digests(environment, 5, None) == expected
        environment.close()
