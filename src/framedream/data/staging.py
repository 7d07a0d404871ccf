"""Finished episodes wait here, one file each, until enough of them make a part."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from framedream.data.assembly import STAGING, FinishedPart, finished_part
from framedream.data.disk import rename_durably
from framedream.data.episode import Frames, Rows
from framedream.data.part import FRAMES_PER_CHUNK, PartWriter
from framedream.data.part_file import PartFile
from framedream.data.recording import Recording
from framedream.errors import UserError

ROWS_AT_ONCE = 8 * FRAMES_PER_CHUNK
TEMPORARY = ".tmp"


@dataclass(frozen=True)
class Staging:
    """The staged episodes of the data set in `folder`. Each is a part with a single episode.

    An episode is written under a temporary name and renamed when it is whole and on disk, so that whatever has its
    final name is finished, and whatever has not can be thrown away.
    """

    folder: Path
    recording: Recording
    palette: Frames | None

    def path(self, split: str, number: int) -> Path:
        """Where a finished episode is."""
        return self.folder / STAGING / split / f"episode-{number:08d}.h5"

    def prepare(self) -> None:
        """Make the folders, and throw away what a recorder that died had not finished."""
        for split in ("train", "test"):
            (self.folder / STAGING / split).mkdir(parents=True, exist_ok=True)
        for path in (self.folder / STAGING).rglob(f"*{TEMPORARY}"):
            path.unlink()

    @contextmanager
    def new_episode(self, split: str, number: int, seed: int) -> Iterator[PartWriter]:
        """A writer for one episode, which is staged when the block ends and forgotten when it fails."""
        final = self.path(split, number)
        temporary = final.with_suffix(TEMPORARY)
        with PartWriter(temporary, split, self.recording, self.palette) as part:
            part.begin_episode(number, seed)
            yield part
            part.end_episode()
        rename_durably(temporary, final)

    def lengths(self, split: str, first: int) -> dict[int, int]:
        """The frames of every staged episode from number `first` on; earlier ones are packed already and dropped."""
        lengths = {}
        for path in sorted((self.folder / STAGING / split).glob("*.h5")):
            try:
                with PartFile(path) as file:
                    if file.recording != self.recording:
                        raise UserError(f"{path} is an episode of another recording; move it out of the folder.")
                    (entry,) = file.episodes()
            except (OSError, LookupError, ValueError):
                raise _damaged(path) from None
            if entry.number < first:
                path.unlink()
            else:
                lengths[entry.number] = entry.length
        return lengths

    def room_to_pack(self) -> bool:
        """Whether the disk could hold all of it a second time, which packing everything needs at most."""
        staged = sum(path.stat().st_size for path in (self.folder / STAGING).rglob("*.h5"))
        return staged < shutil.disk_usage(self.folder).free

    def pack(self, split: str, name: str, numbers: Sequence[int]) -> FinishedPart:
        """Write staged episodes as one part, under a temporary name. Their content is checked on the way.

        Where actions only are stored, this shows every frame again, and compares them with those that were played.
        """
        temporary = self.folder / STAGING / f"{split}-{name}{TEMPORARY}"
        with PartWriter(temporary, split, self.recording, self.palette) as part:
            for number in numbers:
                path = self.path(split, number)
                with PartFile(path) as file:
                    (staged,) = file.episodes()
                    part.begin_episode(number, staged.seed)
                    for rows in _read(file, staged.length):
                        part.append(rows)
                if part.end_episode().sha256 != staged.sha256:
                    raise _damaged(path) if self.recording.store == "frames" else _replayed_otherwise(path)
        return finished_part(part, split, name)

    def drop(self, split: str, numbers: Sequence[int]) -> None:
        """Forget staged episodes: they are in a part by now, or not needed."""
        for number in numbers:
            self.path(split, number).unlink(missing_ok=True)

    def remove(self) -> None:
        """Take the whole folder away, when the recording is complete."""
        shutil.rmtree(self.folder / STAGING)


def _read(file: PartFile, length: int) -> Iterator[Rows]:
    try:
        yield from file.rows(0, length, ROWS_AT_ONCE)
    except OSError:
        raise _damaged(file.path) from None


def _replayed_otherwise(path: Path) -> UserError:
    return UserError(
        f"{path} is damaged, or the environment shows other frames when it replays an episode than when it plays it: "
        "delete the folder and record with --store frames, if deleting the file does not help."
    )


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is damaged; delete it and run the same command again, which plays that episode again.")
