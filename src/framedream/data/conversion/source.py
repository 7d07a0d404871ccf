"""A collection of episodes from elsewhere, and the data set that is made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from framedream.data.assembly import assemble
from framedream.data.conversion.colours import GREY, PaletteIndex
from framedream.data.conversion.fresh_folder import fresh_folder
from framedream.data.conversion.incoming import IncomingEpisode, naming
from framedream.data.conversion.origin import Origin
from framedream.data.episode import Frames
from framedream.data.manifest import Manifest
from framedream.data.part import PartWriter
from framedream.data.recording import IMPORTED, Recording
from framedream.errors import UserError

FEWEST_ACTIONS = 2


@dataclass(frozen=True)
class Source:
    """Episodes by split; all of them under `train` where the source does not tell."""

    kind: str
    splits: dict[str, list[IncomingEpisode]]
    origin: Origin | None = None
    action_names: tuple[str, ...] | None = None

    @property
    def episodes(self) -> list[IncomingEpisode]:
        return [episode for episodes in self.splits.values() for episode in episodes]

    @property
    def frames(self) -> int:
        return sum(len(episode) for episode in self.episodes)

    def divided(self, test_fraction: float, seed: int) -> Source:
        """The same with whole episodes drawn for `test`, unless it has test episodes already."""
        if not 0 <= test_fraction < 1:
            raise UserError(f"The fraction of test episodes must be at least 0 and below 1, not {test_fraction}.")
        if seed < 0:
            raise UserError(f"The seed must be 0 or more, not {seed}.")
        episodes = self.splits.get("train", [])
        if self.splits.get("test") or test_fraction == 0 or len(episodes) < 2:
            return self
        count = min(max(1, round(test_fraction * len(episodes))), len(episodes) - 1)
        test = set(np.random.default_rng(seed).permutation(len(episodes))[:count].tolist())
        return dataclasses.replace(
            self,
            splits={
                "train": [episode for number, episode in enumerate(episodes) if number not in test],
                "test": [episode for number, episode in enumerate(episodes) if number in test],
            },
        )

    def describe(self, name: str) -> Origin:
        """What the data set will say that it is a recording of."""
        height, width, *colours = self.episodes[0].image_shape
        state_shape, state_dtype = self._states()
        if self.origin is not None:
            recording = dataclasses.replace(
                self.origin.recording,
                frame_shape=(height, width),
                state_shape=state_shape,
                state_dtype=state_dtype,
                store="frames",
            )
            return Origin(recording, self.origin.palette)
        recording = Recording(
            environment=IMPORTED,
            arguments={},
            action_meanings=self._action_meanings(),
            action_repeat=1,
            frame_shape=(height, width),
            indexed=not colours,
            policy={"name": IMPORTED},
            provenance={"source": name, "kind": self.kind},
            seed=0,
            state_shape=state_shape,
            state_dtype=state_dtype,
        )
        return Origin(recording, GREY if recording.indexed else None)

    def _states(self) -> tuple[tuple[int, ...] | None, str | None]:
        """Shape and type of one state, which must be the same everywhere."""
        kinds = [
            (None, None) if episode.states is None else (episode.states.shape[1:], str(episode.states.dtype))
            for episode in self.episodes
        ]
        for episode, kind in zip(self.episodes, kinds, strict=True):
            if kind != kinds[0]:
                raise UserError(
                    f"{episode.source} has other states than {self.episodes[0].source}: {kind}, {kinds[0]}."
                )
        return kinds[0]

    def _action_meanings(self) -> tuple[str, ...]:
        used = 1 + max(int(episode.actions.max()) for episode in self.episodes)
        names = self.action_names or tuple(f"action {number}" for number in range(used))
        if len(names) < FEWEST_ACTIONS:
            raise UserError(
                f"There is only {len(names)} action in these episodes, so that nothing can be controlled; name all "
                "actions of the game in actions.json if others exist."
            )
        if used > len(names):
            raise UserError(f"Action {used - 1} is used, but actions.json names only {len(names)}, counted from 0.")
        return names


def write_source(
    source: Source, name: str, folder: Path, on_progress: Callable[[int], None] = lambda frames: None
) -> Manifest:
    """Make a data set of all episodes. `on_progress` is told of every few frames written."""
    origin = source.describe(name)
    # Films and Minari hold colours; only what was exported from indices knows the way back.
    to_indices = None if source.origin is None or origin.palette is None else PaletteIndex(origin.palette)

    def convert(frames: Frames) -> Frames:
        return to_indices(frames) if to_indices is not None and frames.ndim == 4 else frames

    def write(part: PartWriter, number: int, episode: IncomingEpisode) -> None:
        with naming(episode.source):
            part.begin_episode(number, episode.seed)
            for rows in episode.rows(convert):
                part.append(rows)
                on_progress(len(rows.frames))
            part.end_episode()

    with fresh_folder(folder) as place:
        return assemble(place, origin.recording, origin.palette, source.splits, write)
