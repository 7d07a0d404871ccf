"""Growing a data set part by part, in an order of steps that a crash at any instant cannot spoil."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from framedream.data.disk import rename_durably
from framedream.data.episode import Episode, Frames
from framedream.data.integrity import sha256_of, unlisted_parts
from framedream.data.manifest import SPLITS, Manifest, PartEntry
from framedream.data.part import EpisodeEntry, PartWriter
from framedream.data.part_file import PartFile
from framedream.data.recording import Recording
from framedream.errors import UserError

FRAMES_PER_PART = 50_000
STAGING = "staging"
AnyEpisode = TypeVar("AnyEpisode")


@dataclasses.dataclass(frozen=True)
class FinishedPart:
    """A part that is complete on disk under a temporary name, and what the manifest will say about it."""

    temporary: Path
    entry: PartEntry
    episodes: tuple[EpisodeEntry, ...]


def part_name(index: int) -> str:
    """The name of a split's part. 00 stands for this recorder: others may own 01, 02, …"""
    return f"part-00-{index:04d}.h5"


def finished_part(part: PartWriter, split: str, name: str) -> FinishedPart:
    """The measures of a part that was written under a temporary name and closed."""
    entry = PartEntry(
        path=f"{split}/{name}",
        split=split,
        first_episode=part.episodes[0].number,
        episodes=len(part.episodes),
        frames=part.frames,
        bytes=part.path.stat().st_size,
        sha256=sha256_of(part.path),
    )
    return FinishedPart(part.path, entry, tuple(part.episodes))


class Assembly:
    """A data set that is being written.

    A part is added by giving it its name and then replacing the manifest. Between the two steps it is a file that the
    manifest does not list, which readers refuse and `remove_unlisted_parts` takes away again.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        for name in (*SPLITS, STAGING):
            (folder / name).mkdir(exist_ok=True)
        self.episodes: dict[str, list[EpisodeEntry]] = {split: [] for split in SPLITS}
        self._hashes = {split: hashlib.sha256() for split in SPLITS}
        for part in manifest.parts:
            with PartFile(folder / part.path) as file:
                self._remember(part.split, file.episodes())

    @classmethod
    def create(cls, folder: Path, recording: Recording) -> Assembly:
        """A new data set without episodes. The folder must be new or empty."""
        folder.mkdir(parents=True, exist_ok=True)
        if any(not path.name.startswith(".") for path in folder.iterdir()):
            raise UserError(f"{folder} has files in it already; choose a new folder with --out.")
        manifest = Manifest(recording)
        manifest.write(folder)
        return cls(folder, manifest)

    def ask(self, asked: dict[str, dict[str, int]]) -> None:
        """Note down what the data set is meant to have."""
        self.manifest = dataclasses.replace(self.manifest, asked=asked)
        self.manifest.write(self.folder)

    def add(self, part: FinishedPart) -> None:
        """Make a finished part a part of the data set."""
        if part.entry.first_episode != len(self.episodes[part.entry.split]):
            raise ValueError(f"{part.entry.path} does not begin where the {part.entry.split} split ends")
        rename_durably(part.temporary, self.folder / part.entry.path)
        self._remember(part.entry.split, part.episodes)
        self.manifest = dataclasses.replace(
            self.manifest,
            parts=tuple(sorted((*self.manifest.parts, part.entry), key=_place)),
            identity={split: self._hashes[split].hexdigest() for split in SPLITS},
        )
        self.manifest.write(self.folder)

    def remove_unlisted_parts(self) -> None:
        """Take away parts that a crash left between their name and the manifest; refuse files of others."""
        for path in unlisted_parts(self.folder, self.manifest):
            if not self._is_ours(path):
                raise UserError(f"{path} is not part of the data set; move it out of the folder.")
            path.unlink()

    def _is_ours(self, path: Path) -> bool:
        try:
            with PartFile(path) as file:
                return file.recording == self.manifest.recording
        except (OSError, LookupError, TypeError, ValueError):
            return False

    def _remember(self, split: str, episodes: Iterable[EpisodeEntry]) -> None:
        for episode in episodes:
            self.episodes[split].append(episode)
            self._hashes[split].update(episode.sha256.encode())


def _place(part: PartEntry) -> tuple[int, int]:
    return SPLITS.index(part.split), part.first_episode


def write_data_set(
    folder: Path, recording: Recording, palette: Frames | None, splits: dict[str, Iterable[Episode]]
) -> Manifest:
    """Write episodes that come from elsewhere as a new data set, one episode in memory at a time."""

    def write(part: PartWriter, number: int, episode: Episode) -> None:
        part.begin_episode(number, episode.seed)
        part.append(episode.rows())
        part.end_episode()

    return assemble(folder, recording, palette, splits, write)


def assemble(
    folder: Path,
    recording: Recording,
    palette: Frames | None,
    splits: Mapping[str, Iterable[AnyEpisode]],
    write: Callable[[PartWriter, int, AnyEpisode], None],
) -> Manifest:
    """A new data set of episodes of any kind; `write` puts the one with a number into a part."""
    assembly = Assembly.create(folder, recording)
    for split, episodes in splits.items():
        numbered = enumerate(episodes)
        for first in numbered:
            name = part_name(len(assembly.manifest.parts_of(split)))
            with PartWriter(folder / STAGING / f"{split}-{name}.tmp", split, recording, palette) as part:
                for number, episode in itertools.chain([first], numbered):
                    write(part, number, episode)
                    if part.frames >= FRAMES_PER_PART:
                        break
            assembly.add(finished_part(part, split, name))
    (folder / STAGING).rmdir()
    return assembly.manifest
