"""Do the files of a data set match its manifest? Asked at every opening, so it must be quick."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from framedream.data.manifest import SPLITS, Manifest, PartEntry
from framedream.data.part_file import PartFile


@dataclass(frozen=True)
class Finding:
    """A file that is not right, and what is wrong with it."""

    file: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file} {self.problem}"


def unlisted_parts(folder: Path, manifest: Manifest) -> Iterator[Path]:
    """Files among the parts that the manifest does not list."""
    listed = {part.path for part in manifest.parts}
    for split in SPLITS:
        for path in sorted((folder / split).glob("*.h5")):
            if f"{split}/{path.name}" not in listed:
                yield path


def check_files(folder: Path, manifest: Manifest, hashes: bool) -> Iterator[Finding]:
    """Every file that is not listed, missing or changed. Without `hashes` only sizes are compared."""
    for path in unlisted_parts(folder, manifest):
        yield Finding(f"{path.parent.name}/{path.name}", "is not listed in the manifest: move it out of the data set")
    yield from damaged_parts(folder, manifest, hashes)


def damaged_parts(folder: Path, manifest: Manifest, hashes: bool) -> Iterator[Finding]:
    """Every listed part that is missing or changed."""
    with ThreadPoolExecutor() as threads:
        # SHA-256 releases Python's lock, so that the parts of a large data set are read on all cores.
        for finding in threads.map(lambda part: _damage(folder, part, manifest, hashes), manifest.parts):
            if finding is not None:
                yield finding


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damage(folder: Path, part: PartEntry, manifest: Manifest, hashes: bool) -> Finding | None:
    path = folder / part.path
    try:
        size = path.stat().st_size
        same = size == part.bytes and (not hashes or sha256_of(path) == part.sha256)
    except FileNotFoundError:
        return Finding(part.path, "is missing: restore it from a copy")
    except OSError as error:
        return Finding(part.path, f"cannot be read ({error.strerror}): restore it from a copy")
    if same:
        return None
    if (stranger := _other_recording(path, manifest)) is not None:
        return Finding(part.path, f"belongs to another data set ({stranger}): restore the right one from a copy")
    if size < part.bytes:
        return Finding(part.path, f"is truncated to {size:,} of {part.bytes:,} bytes: restore it from a copy")
    return Finding(part.path, "is damaged, its SHA-256 is not the manifest's: restore it from a copy")


def _other_recording(path: Path, manifest: Manifest) -> str | None:
    """How a part's own account of its source differs from the data set's, if the part can be read at all."""
    try:
        with PartFile(path) as part:
            differences = manifest.recording.differences(part.recording)
    except (OSError, RuntimeError, LookupError, TypeError, ValueError):
        return None
    return ", ".join(differences) or None
