"""A data set as a folder of files that other programs read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from framedream.data.conversion.film import write_film
from framedream.data.conversion.fresh_folder import fresh_folder
from framedream.data.conversion.npz import write_npz
from framedream.data.conversion.origin import Origin
from framedream.data.dataset import DataSet, Split
from framedream.data.episode import Rows
from framedream.data.part_file import PartFile

Format = Literal["npz", "mp4", "minari"]
ROWS_PER_BLOCK = 256
OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class OutgoingEpisode:
    """One episode of a data set, read block by block."""

    split: Split
    number: int

    @property
    def seed(self) -> int:
        return int(self.split.episodes.seed[self.number])

    def __len__(self) -> int:
        return int(self.split.episodes.length[self.number])

    def blocks(self, on_progress: OnProgress) -> Iterator[Rows]:
        """Its rows, as the data set stores them."""
        table = self.split.episodes
        start = int(table.start[self.number])
        with PartFile(self.split.paths[table.part[self.number]]) as part:
            for rows in part.rows(start, start + len(self), ROWS_PER_BLOCK):
                yield rows
                on_progress(len(rows.frames))


def outgoing(split: Split) -> list[OutgoingEpisode]:
    """All episodes of a split."""
    return [OutgoingEpisode(split, number) for number in range(len(split.episodes))]


def export_folder(
    data_set: DataSet, folder: Path, to: Literal["npz", "mp4"], on_progress: OnProgress = lambda frames: None
) -> None:
    """Write `train/episode-000000.npz` (or .mp4 and .csv) and so on, and what the data set is a recording of."""
    with fresh_folder(folder) as place:
        Origin.of(data_set).write(place)
        for name, split in data_set.splits.items():
            (place / name).mkdir()
            for episode in outgoing(split):
                path = place / name / f"episode-{episode.number:06d}.{to}"
                if to == "npz":
                    write_npz(path, episode.blocks(on_progress), episode.seed)
                else:
                    write_film(path, episode.blocks(on_progress), data_set.palette)
