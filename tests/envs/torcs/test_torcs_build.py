"""Building the host: once, however many ask for it at once; again when its source changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from framedream.envs.torcs import build


def test_two_at_once_build_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [sys.executable, "-m", "framedream", "torcs", "build"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=100) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sorted("is built" in out for out, _ in said) == [False, False, True]
    assert sum(build.BUILDING in err for _, err in said) == 1, "who waits for it is told so"
    (program,) = tmp_path.glob("framedream/torcs-*/torcs_host")
    assert sorted(file.name for file in program.parent.iterdir()) == [".lock", "torcs_host"]
    assert build.build_host() == (program, False)


def test_another_source_is_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installation = build.find_installation()
    before = build.host_hash(installation)
    source = tmp_path / "host"
    source.mkdir()
    for file in build.SOURCE.iterdir():
        (source / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(build, "SOURCE", source)
    assert build.host_hash(installation) == before
    with (source / "race.cpp").open("a") as file:
        file.write("// changed\n")
    assert build.host_hash(installation) != before
