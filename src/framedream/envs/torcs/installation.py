"""The TORCS that is installed: where it lies, whether it is the right one, its tracks and cars."""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from framedream.errors import UserError, unknown_name

VERSION = "1.3.7"
PREFIX = "FRAMEDREAM_TORCS"
"""Environment variable: where TORCS is installed, unless in /usr."""
PACKAGES = ("torcs", "g++", "libegl-dev", "libgl-dev", "libegl1", "libgl1-mesa-dri")


def install_line(packages: tuple[str, ...] = PACKAGES) -> str:
    """What installs the Debian packages."""
    return f"apt-get install -y --no-install-recommends {' '.join(packages)}"


@dataclass(frozen=True)
class Installation:
    """TORCS' folders."""

    libraries: Path
    data: Path

    @cached_property
    def tracks(self) -> dict[str, str]:
        """The kind (road, oval, dirt) of every track."""
        found = self.data.glob("tracks/*/*/*.xml")
        return {file.stem: file.parts[-3] for file in sorted(found) if file.stem == file.parent.name}

    @cached_property
    def cars(self) -> tuple[str, ...]:
        """The names of all cars."""
        found = self.data.glob("cars/*/*.xml")
        return tuple(sorted(file.stem for file in found if file.stem == file.parent.name))

    def track_file(self, track: str) -> Path:
        """The description of a track, or a UserError that names the nearest ones."""
        if track not in self.tracks:
            raise unknown_name("track of TORCS", track, self.tracks, f"ls -d {self.data}/tracks/*/*")
        return self.data / "tracks" / self.tracks[track] / track / f"{track}.xml"

    def car_file(self, car: str) -> Path:
        """The description of a car, or a UserError that names the nearest ones."""
        if car not in self.cars:
            raise unknown_name("car of TORCS", car, self.cars, f"ls {self.data}/cars")
        return self.data / "cars" / car / f"{car}.xml"


def find_installation() -> Installation:
    """The installed TORCS; a UserError says what to do if there is none, or another version."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise UserError(f"TORCS can be driven on Linux on amd64 only, not on {sys.platform} on {platform.machine()}.")
    prefix = Path(os.environ.get(PREFIX) or "/usr")
    libraries, data = prefix / "lib/x86_64-linux-gnu/torcs", prefix / "share/games/torcs"
    told_by = libraries / "lib/libclient.so"
    if not (told_by.is_file() and (data / "tracks").is_dir()):
        raise UserError(f"TORCS is not installed in {prefix}; install it: {install_line()}")
    # Not asked of dpkg: it knows nothing of other prefixes, and is not on every system.
    versions = [text.decode() for text in re.findall(rb"\0(\d+\.\d+\.\d+[\w.+-]*)\0", told_by.read_bytes())]
    if VERSION not in versions:
        found = f"version {versions[0]}" if versions else "another version"
        raise UserError(
            f"TORCS in {prefix} is {found}, and the host reads the memory of {VERSION} only; install that one "
            f"(Debian's package), and say where it is with {PREFIX}=/prefix unless it is in /usr."
        )
    return Installation(libraries, data)


def is_installed() -> bool:
    """Whether there is a TORCS to drive."""
    try:
        find_installation()
    except UserError:
        return False
    return True
