"""The host program, compiled on the user's machine when it is first needed and kept in a cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from framedream.envs.torcs.disk import cannot_write
from framedream.envs.torcs.installation import VERSION, Installation, find_installation, install_line
from framedream.errors import UserError

SOURCE = Path(__file__).parent / "host"
COMPILED = ("main.cpp", "race.cpp", "driver.cpp", "modules.cpp", "window.cpp")
FLAGS = ("-std=c++17", "-O2", "-pthread", "-rdynamic")
TORCS_LIBRARIES = (
    *("raceengine", "racescreens", "robottools", "confscreens", "client", "tgfclient", "tgf", "txml", "musicplayer"),
)
# Those of them that TORCS' libraries call without naming: they count on the program for these.
OTHER_LIBRARIES = (
    *(":libplibssg.so.1", ":libplibjs.so.1", ":libGLU.so.1", "GL", "EGL", ":libpng16.so.16", ":libXrandr.so.2"),
    *(":libX11.so.6", ":libopenal.so.1", ":libvorbisfile.so.3", "dl", "m"),
)
HEADERS = {"EGL/egl.h": "libegl-dev", "GL/gl.h": "libgl-dev"}
BUILDING = "framedream: building the host of TORCS, once, about 10 s"


def build_host() -> tuple[Path, bool]:
    """The host program, and whether it had to be built."""
    installation = find_installation()
    program = cache_folder() / f"torcs-{host_hash(installation)[:16]}" / "torcs_host"
    if program.exists():
        return program, False
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        with only_builder(program.parent):
            # Whoever waited here finds it done.
            if program.exists():
                return program, False
            refuse_missing_tools()
            print(BUILDING, file=sys.stderr, flush=True)
            compile_host(installation, program)
    except OSError as error:
        raise cannot_write(program.parent, error, "XDG_CACHE_HOME") from error
    return program, True


def host_hash(installation: Installation) -> str:
    """What the program is made of: the source, and the TORCS that it is for."""
    content = hashlib.sha256(f"{VERSION} {installation.libraries} {FLAGS}".encode())
    for file in sorted(SOURCE.glob("*.cpp")) + sorted(SOURCE.glob("*.h")):
        content.update(file.read_bytes())
    return content.hexdigest()


def cache_folder() -> Path:
    """Where built programs are kept: the user's cache, or for users without a home a folder of their own in /tmp."""
    if wanted := os.environ.get("XDG_CACHE_HOME"):
        return Path(wanted) / "framedream"
    with suppress(RuntimeError):  # Python's word for "this user has no home"
        home = Path("~/.cache").expanduser()
        if os.access(next(folder for folder in (home, *home.parents) if folder.exists()), os.W_OK):
            return home / "framedream"
    folder = Path(tempfile.gettempdir()) / f"framedream-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    # A program from a folder that anyone may make must not be run unless it is ours.
    if folder.is_symlink() or folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o022:
        raise UserError(f"{folder} is not yours; set XDG_CACHE_HOME to a folder that can be written.")
    return folder


@contextmanager
def only_builder(folder: Path) -> Iterator[None]:
    """One process at a time; the lock goes with its holder, however that ends."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def refuse_missing_tools() -> None:
    """A UserError with the line that installs what building needs and is not there."""
    if shutil.which("g++") is None:
        missing = ["g++", *(package for package in HEADERS.values() if not has_header_file(package))]
    else:
        missing = [package for header, package in HEADERS.items() if not compiles(f"#include <{header}>")]
    if missing:
        raise UserError(f"Building the host of TORCS needs more: {install_line(tuple(missing))}")


def has_header_file(package: str) -> bool:
    """Whether the header of a package lies where Debian puts it."""
    return any((Path("/usr/include") / header).exists() for header, owner in HEADERS.items() if owner == package)


def compiles(text: str) -> bool:
    """Whether the compiler accepts this."""
    command = ["g++", "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, env=surroundings()).returncode == 0


def surroundings() -> dict[str, str]:
    """The compiler's environment. Without a PATH it would not find its own linker."""
    return {"PATH": os.defpath} | os.environ | {"LC_ALL": "C"}


def compile_host(installation: Installation, program: Path) -> None:
    """Compile beside the program's place and rename: whoever looks sees no program, or a whole one."""
    libraries = installation.libraries / "lib"
    temporary = program.with_name(f".{program.name}.{os.getpid()}")
    links = [f"-l{name}" for name in (*TORCS_LIBRARIES, *OTHER_LIBRARIES)]
    command = ["g++", *FLAGS, *(str(SOURCE / name) for name in COMPILED), "-o", str(temporary)]
    command += [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed", *links]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=surroundings())
        if done.returncode == 0:
            temporary.replace(program)
    finally:
        temporary.unlink(missing_ok=True)
    if done.returncode:
        if "No space left" in done.stderr:
            raise UserError(f"The disk that holds {program.parent} or {tempfile.gettempdir()} is full; make room.")
        reason = next((line for line in done.stderr.splitlines() if "error" in line or "cannot" in line), "no reason")
        raise UserError(
            f"The host of TORCS could not be built ({reason.strip()}); is all of it there? {install_line()}"
        )
