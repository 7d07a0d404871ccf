"""TORCS that is missing, of another version, or without the tools to build its host: none of it needs TORCS."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from framedream.envs import list_environments, make_environment
from framedream.envs.torcs import build
from framedream.envs.torcs.installation import install_line
from framedream.errors import UserError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="TORCS can be driven on Linux on amd64 only"
)


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What looks like TORCS 1.3.7 with one track and two cars."""
    prefix = tmp_path / "prefix"
    library = prefix / "lib/x86_64-linux-gnu/torcs/lib/libclient.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\x7fELF\x02\0copyright\0001.3.7\0the end\0")
    for name in ("tracks/road/g-track-1/g-track-1.xml", "cars/car1-trb1/car1-trb1.xml", "cars/p406/p406.xml"):
        file = prefix / "share/games/torcs" / name
        file.parent.mkdir(parents=True)
        file.write_text("<params/>")
    monkeypatch.setenv("FRAMEDREAM_TORCS", str(prefix))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return prefix


def refusal(**options: object) -> str:
    with pytest.raises(UserError) as error:
        make_environment("torcs", **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_missing(prefix: Path) -> None:
    shutil.rmtree(prefix)
    assert refusal() == f"TORCS is not installed in {prefix}; install it: {install_line()}"
    entry = next(entry for entry in list_environments() if entry.name == "torcs")
    assert not entry.available and entry.install == install_line()
    command = [sys.executable, "-m", "framedream", "torcs", "build"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"framedream: {refusal()}\n"


def test_another_version(prefix: Path) -> None:
    library = prefix / "lib/x86_64-linux-gnu/torcs/lib/libclient.so"
    library.write_bytes(b"\x7fELF\0001.3.8\0")
    assert "is version 1.3.8, and the host reads the memory of 1.3.7 only" in refusal()
    library.write_bytes(b"\x7fELF\0no number\0")
    assert "is another version" in refusal()


def test_unknown_names_bring_the_nearest(prefix: Path) -> None:
    assert refusal(track="g-trak-1") == "There is no track of TORCS named 'g-trak-1'; did you mean 'g-track-1'?"
    assert refusal(car="p407") == "There is no car of TORCS named 'p407'; did you mean 'p406'?"
    assert "camera of torcs named 'rode'; did you mean 'road'" in refusal(camera="rode")
    assert "ls" in refusal(track="zzz") and str(prefix) in refusal(track="zzz")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (dict(height=31), "height and width of 32 to 1,024"),
        (dict(width=2000), "height and width of 32 to 1,024"),
        (dict(supersample=3), "supersample of 1 or 2"),
        (dict(steer=0), "steer and accelerate above 0 and up to 1"),
        (dict(accelerate=1.5), "steer and accelerate above 0 and up to 1"),
        (dict(action_repeat=0), "action_repeat of 1 to 200 ticks"),
        (dict(action_repeat=201), "action_repeat of 1 to 200 ticks"),
        (dict(action_repeat=2.5), "must be a whole number"),
        (dict(start=float("nan")), "a start within a million metres"),
        (dict(start="line"), "must be a number, not 'line'"),
        (dict(time_limit=0), "limits above 0 seconds"),
        (dict(stuck_limit=float("nan")), "limits above 0 seconds"),
        (dict(wreck_damage=0), "wreck_damage of 1 or more"),
        (dict(tracks="g-track-1"), "did you mean 'track'"),
    ],
)
def test_senseless_options_are_refused(prefix: Path, options: dict[str, object], expected: str) -> None:
    assert expected in refusal(**options)


def test_the_tools_to_build_with(prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    assert "apt-get install -y --no-install-recommends g++" in refusal()
    # A compiler that finds no header at all.
    (tools / "g++").write_text("#!/bin/sh\nexit 1\n")
    (tools / "g++").chmod(0o700)
    assert refusal().endswith("apt-get install -y --no-install-recommends libegl-dev libgl-dev")


def test_a_build_that_fails_says_why(prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "g++").write_text(
        "#!/bin/sh\n[ $1 = -fsyntax-only ] && exit 0\necho '/usr/bin/ld: cannot find -lraceengine' >&2\nexit 1\n"
    )
    (tools / "g++").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    assert "could not be built (/usr/bin/ld: cannot find -lraceengine)" in refusal()
    assert list((tmp_path / "cache").glob("framedream/*/*torcs_host*")) == []


def test_a_cache_that_cannot_be_written(prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file")
    assert "set XDG_CACHE_HOME to a folder that can be written." in refusal()


def test_a_user_without_a_home_gets_a_folder_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/proc/no-home")
    monkeypatch.setattr(build.os, "access", lambda path, mode: False)  # root may write anywhere
    monkeypatch.setattr(build.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = build.cache_folder()
    assert folder.parent == tmp_path and folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(UserError, match="set XDG_CACHE_HOME"):
        build.cache_folder()
