"""The same frames everywhere: without an environment, rights or a home, in many processes at once, for long."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import framedream
from framedream.benchmarks.torcs import resident_megabytes
from framedream.envs.torcs.environment import TorcsEnvironment

Make = Callable[..., TorcsEnvironment]
ACTIONS = np.random.default_rng(0).integers(3, size=20).tolist()

EPISODE = """
import hashlib, numpy as np
from framedream.envs.torcs.environment import TorcsEnvironment
environment = TorcsEnvironment(height=48, width=64)
seen = hashlib.sha256(environment.reset(seed=7)[0])
for action in np.random.default_rng(0).integers(3, size=20).tolist():
    seen.update(environment.step(action)[0])
environment.close()
print(seen.hexdigest())
"""


def play_episode(_: int = 0) -> str:
    environment = TorcsEnvironment(height=48, width=64)
    seen = hashlib.sha256(environment.reset(seed=7)[0])
    for action in ACTIONS:
        seen.update(environment.step(action)[0])
    environment.close()
    return seen.hexdigest()


def test_an_empty_environment_shows_the_same_frames() -> None:
    done = subprocess.run([sys.executable, "-c", EPISODE], env={}, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == play_episode(), done.stderr


@contextmanager
def shown_to_everyone(folder: Path) -> Iterator[Path]:
    """The folder at a place that every user can reach, whatever folders it lies in."""
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    place.chmod(0o755)
    if subprocess.run(["mount", "--bind", folder, place], capture_output=True).returncode:
        place.rmdir()
        pytest.skip("no permission to mount a folder")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
        place.rmdir()


@pytest.mark.slow
def test_a_user_without_rights_or_a_home() -> None:
    """Who builds the host anew, in a folder in /tmp for want of any other."""
    if os.getuid() != 0:
        pytest.skip("only root can become nobody")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "-i", "HOME=/nonexistent"]
    packages, source = Path(np.__file__).parents[1], Path(framedream.__file__).parents[1]
    executable = Path(sys.executable).resolve().relative_to(sys.base_prefix)
    built = Path("/tmp/framedream-65534")
    shutil.rmtree(built, ignore_errors=True)
    with ExitStack() as shown:
        shown.callback(shutil.rmtree, built, ignore_errors=True)
        python, *path = (
            shown.enter_context(shown_to_everyone(folder)) for folder in (Path(sys.base_prefix), source, packages)
        )
        words = [*nobody, f"PYTHONHOME={python}", f"PYTHONPATH={':'.join(map(str, path))}", python / executable]
        done = subprocess.run([*words, "-c", EPISODE], cwd="/", capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == play_episode(), done.stderr


@pytest.mark.slow
def test_many_at_once_show_the_same_frames() -> None:
    with ProcessPoolExecutor(6, mp_context=get_context("spawn")) as workers:
        seen = set(workers.map(play_episode, range(12)))
    assert seen == {play_episode()}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_processes_agree_on_500_steps(make: Make) -> None:
    """At full size, through crashes and further episodes."""
    differing = 0
    one, other = make(height=180, width=180), make(height=180, width=180)
    np.testing.assert_array_equal(one.reset(seed=0)[0], other.reset(seed=0)[0])
    for step, action in enumerate(np.random.default_rng(1).integers(4, size=500).tolist()):
        (frame, *outcome, info), (frame2, *outcome2, info2) = one.step(action), other.step(action)
        differing += not np.array_equal(frame, frame2)
        assert outcome == outcome2 and np.array_equal(info["state"], info2["state"])
        if outcome[1] or outcome[2]:
            differing += not np.array_equal(one.reset(seed=step)[0], other.reset(seed=step)[0])
    assert differing == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_soak(make: Make) -> None:
    """60 resets and 9,000 random steps, wrecks included; after the first third the memory no longer grows."""
    environment = make(off_track_limit=30.0, accelerate=1.0, wreck_damage=500, height=180, width=180)
    random, steps, episodes, ends = np.random.default_rng(0), 0, 0, []
    megabytes = []
    while episodes < 60 or steps < 9_000:
        environment.reset(seed=episodes)
        episodes += 1
        for _ in range(150 if episodes <= 60 else 1_000):
            *_, terminated, truncated, info = environment.step(int(random.integers(4)))
            steps += 1
            if terminated or truncated:
                ends.append(info["end"])
                break
        megabytes.append(resident_megabytes(environment.host_pid))
    print(f"{steps} steps, {episodes} resets, {Counter(ends)}; MB: {[round(value) for value in megabytes[::5]]}")
    assert "wreck" in ends
    settled = megabytes[len(megabytes) // 3]
    assert max(megabytes) < settled + 25
    assert megabytes[-1] < megabytes[2 * len(megabytes) // 3] + 10
