"""The manifest: the one file that says what belongs to a data set, with a checksum over everything it says."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from framedream.data.disk import write_durably
from framedream.data.recording import Recording
from framedream.errors import UserError

MANIFEST = "manifest.json"
SCHEMA = 1
SPLITS = ("train", "test")


@dataclass(frozen=True)
class PartEntry:
    """A part file and what it must be."""

    path: str
    split: str
    first_episode: int
    episodes: int
    frames: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a data set is and which files hold it. The parts of a split are in the order of their episodes."""

    recording: Recording
    parts: tuple[PartEntry, ...] = ()
    identity: dict[str, str] = field(default_factory=lambda: {split: identity_of([]) for split in SPLITS})
    """Per split, the hash over its episodes' content hashes in their order."""
    asked: dict[str, dict[str, int]] = field(default_factory=dict)
    """Per split, the frames or episodes it was asked to have."""

    @property
    def overall_identity(self) -> str:
        """The data set's identity: equal for equal episodes, however they were recorded or cut into parts."""
        return identity_of(self.identity[split] for split in SPLITS)

    def parts_of(self, split: str) -> list[PartEntry]:
        """The parts of one split."""
        return [part for part in self.parts if part.split == split]

    def frames_of(self, split: str) -> int:
        """How many frames a split has."""
        return sum(part.frames for part in self.parts_of(split))

    def episodes_of(self, split: str) -> int:
        """How many episodes a split has."""
        return sum(part.episodes for part in self.parts_of(split))

    def write(self, folder: Path) -> None:
        """Replace the folder's manifest in one step."""
        fields = {
            "schema": SCHEMA,
            "overall_identity": self.overall_identity,
            "identity": self.identity,
            "asked": self.asked,
            "recording": self.recording.as_json(),
            "parts": [dataclasses.asdict(part) for part in self.parts],
        }
        write_durably(folder / MANIFEST, _render(fields))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a data set; refused if a single byte differs from what was written."""
        path = folder / MANIFEST
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            raise UserError(f"{folder} is not a data set: it has no {MANIFEST}.") from None
        except OSError as error:
            raise UserError(f"Cannot read {path}: {error.strerror}.") from None
        try:
            fields = json.loads(text)
            intact = _render({name: value for name, value in fields.items() if name != "checksum"}).encode() == text
        except (ValueError, AttributeError):
            intact = False
        if not intact:
            raise UserError(f"{path} is damaged or was edited: its checksum does not match; restore it from a copy.")
        if fields["schema"] != SCHEMA:
            raise UserError(
                f"{path} has schema {fields['schema']}, and this version reads {SCHEMA}; update framedream."
            )
        return cls(
            recording=Recording.from_json(fields["recording"]),
            parts=tuple(PartEntry(**part) for part in fields["parts"]),
            identity=fields["identity"],
            asked=fields["asked"],
        )


def _render(fields: dict[str, Any]) -> str:
    checksum = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    return json.dumps({**fields, "checksum": checksum}, indent=1) + "\n"


def identity_of(hashes: Iterable[str]) -> str:
    """The hash over hashes in their order."""
    total = hashlib.sha256()
    for one in hashes:
        total.update(one.encode())
    return total.hexdigest()
