"""Whether a folder can be recorded into: it is new, or holds the beginning of the same recording, or all of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from framedream.data.assembly import STAGING, Assembly
from framedream.data.integrity import damaged_parts, unlisted_parts
from framedream.data.manifest import MANIFEST, SPLITS, Manifest
from framedream.data.plan import Amount
from framedream.data.recording import Recording
from framedream.envs import make_environment
from framedream.errors import UserError


def open_assembly(folder: Path, recording: Recording) -> Assembly:
    """The data set in `folder` to go on with, or a new one."""
    if not (folder / MANIFEST).exists():
        return Assembly.create(folder, recording)
    manifest = Manifest.read(folder)
    if manifest.recording != recording and not manifest.parts and not any(folder.glob(f"{STAGING}/*/*.h5")):
        # Left by a recording that failed before its first episode was finished: it holds nothing.
        manifest = Manifest(recording)
        manifest.write(folder)
    _check_same(folder, manifest, recording)
    assembly = Assembly(folder, manifest)
    assembly.remove_unlisted_parts()
    return assembly


def _check_same(folder: Path, manifest: Manifest, recording: Recording) -> None:
    """Refuse to go on with a data set of another recording, or with a damaged one."""
    if manifest.recording != recording and (
        differences := _with_defaults(manifest.recording, recording).differences(recording)
    ):
        raise UserError(
            f"{folder} holds another recording ({'; '.join(differences)}); choose another folder with --out."
        )
    for finding in damaged_parts(folder, manifest, hashes=True):
        raise UserError(f"{folder} cannot be extended: {finding}.")


def _with_defaults(recorded: Recording, now: Recording) -> Recording:
    """The same recording as its environment describes it today: options it has gained since have their defaults."""
    if recorded.environment != now.environment:
        return recorded
    try:
        environment = make_environment(recorded.environment, **recorded.arguments)
    except UserError:
        return recorded  # an option is gone, and the data cannot be recorded again
    try:
        return dataclasses.replace(recorded, arguments=environment.arguments)
    finally:
        environment.close()


def complete_manifest(folder: Path, recording: Recording, asked: Mapping[str, Amount]) -> Manifest | None:
    """The manifest of a data set that has all it is asked for and nothing left to tidy up, if it is one.

    Then nothing is written, so that a read-only copy can be asked too.
    """
    if not (folder / MANIFEST).exists() or (folder / STAGING).exists():
        return None
    manifest = Manifest.read(folder)
    if not has_reached(manifest, asked) or any(unlisted_parts(folder, manifest)):
        return None
    _check_same(folder, manifest, recording)
    return manifest


def has_reached(manifest: Manifest, asked: Mapping[str, Amount]) -> bool:
    """Whether every split has what is asked for."""
    return all(asked[split].reached(manifest.frames_of(split), manifest.episodes_of(split)) for split in SPLITS)
