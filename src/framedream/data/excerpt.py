"""The beginning of a data set as a small one of its own: whole episodes, which keep their numbers and seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from framedream.data.assembly import assemble
from framedream.data.conversion.export import OutgoingEpisode, outgoing
from framedream.data.dataset import DataSet, Split, open_data_set
from framedream.data.part import PartWriter
from framedream.data.recording import Store
from framedream.data.verify import verify
from framedream.errors import UserError


def write_excerpt(data: DataSet, folder: Path, frames: int, store: Store | None = None) -> DataSet:
    """The first episodes of each split until they have so many frames, or all there are, as a data set in `folder`.

    With `store="actions"` only what frames can be drawn again from is kept, if they come out the same.
    """
    recording = data.recording if store is None else replace(data.recording, store=store)
    splits = {split.name: _first_episodes(split, frames) for split in data.splits.values()}
    assemble(folder, recording, data.palette, splits, _write)
    if recording.store == "actions":
        for finding in verify(folder).findings:
            raise UserError(f"The episodes are not drawn again as they were ({finding.problem}): store frames instead.")
    return open_data_set(folder)


def _first_episodes(split: Split, frames: int) -> Iterator[OutgoingEpisode]:
    taken = 0
    for episode in outgoing(split):
        if taken >= frames:
            return
        taken += len(episode)
        yield episode


def _write(part: PartWriter, number: int, episode: OutgoingEpisode) -> None:
    part.begin_episode(number, episode.seed)
    for rows in episode.blocks(lambda frames: None):
        part.append(rows)
    part.end_episode()
