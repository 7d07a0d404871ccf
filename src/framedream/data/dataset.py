"""A data set that is open for reading: its splits, their part files and one table of all episodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framedream.data.episode import Frames
from framedream.data.integrity import check_files
from framedream.data.manifest import SPLITS, Manifest
from framedream.data.part import EpisodeEntry
from framedream.data.part_file import PartFile
from framedream.data.recording import Recording
from framedream.errors import UserError


@dataclass(frozen=True)
class EpisodeTable:
    """The episodes of a split in their order: index i is episode number i."""

    part: NDArray[np.int64]
    """Which of the split's paths holds it."""
    start: NDArray[np.int64]
    """Its first row there."""
    length: NDArray[np.int64]
    """Its frames."""
    seed: NDArray[np.uint64]
    total_reward: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.length)


@dataclass(frozen=True)
class Split:
    """The training or the test half of a data set."""

    name: str
    folder: Path
    paths: tuple[Path, ...]
    episodes: EpisodeTable

    @property
    def frames(self) -> int:
        """All frames of the split."""
        return int(self.episodes.length.sum())


@dataclass(frozen=True)
class DataSet:
    """What `open_data_set` gives."""

    folder: Path
    manifest: Manifest
    palette: Frames | None
    splits: dict[str, Split]

    @property
    def recording(self) -> Recording:
        """What the data set is a recording of."""
        return self.manifest.recording

    @property
    def identity(self) -> str:
        """The hash over all episodes' contents."""
        return self.manifest.overall_identity

    def split(self, name: str) -> Split:
        """The split `train` or `test`; refused if it has no episodes."""
        if name not in SPLITS:
            raise UserError(f"There is no split named {name!r}; a data set has {' and '.join(SPLITS)}.")
        if not len(self.splits[name].episodes):
            raise UserError(f"{self.folder} has no {name} episodes; record some with `framedream collect`.")
        return self.splits[name]


def open_data_set(folder: Path | str, check: bool = True) -> DataSet:
    """Open a data set, refusing what its manifest does not list and what does not match it.

    `check=True` compares the SHA-256 of every part; `check=False` only their sizes.
    """
    folder = Path(folder)
    manifest = Manifest.read(folder)
    for finding in check_files(folder, manifest, check):
        raise UserError(f"{finding}; `framedream data verify {folder}` lists everything that is wrong.")
    palette: Frames | None = None
    splits = {}
    for name in SPLITS:
        tables: list[list[EpisodeEntry]] = []
        for part in manifest.parts_of(name):
            try:
                with PartFile(folder / part.path) as file:
                    tables.append(file.episodes())
                    palette = file.palette
            except (OSError, RuntimeError, LookupError, TypeError, ValueError):
                raise UserError(
                    f"{folder / part.path} cannot be read; `framedream data verify {folder}` says what is wrong."
                ) from None
        paths = tuple(folder / part.path for part in manifest.parts_of(name))
        splits[name] = Split(name, folder, paths, _table(tables))
    return DataSet(folder, manifest, palette, splits)


def _table(parts: list[list[EpisodeEntry]]) -> EpisodeTable:
    def column(name: str, kind: Any) -> NDArray[Any]:
        return np.array([getattr(entry, name) for entries in parts for entry in entries], kind)

    return EpisodeTable(
        part=np.repeat(np.arange(len(parts)), [len(entries) for entries in parts]),
        start=column("start", np.int64),
        length=column("length", np.int64),
        seed=column("seed", np.uint64),
        total_reward=column("total_reward", np.float64),
    )
