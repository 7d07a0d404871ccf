"""Minari data sets, without loss: their own JPEG encoding stays off.

Episodes are written into Minari's HDF5 layout directly, because its writer needs whole episodes in memory and does not
compress them (100,800 bytes for an Atari frame); reading goes through Minari itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from gymnasium import spaces

from framedream.data.conversion.export import OnProgress, OutgoingEpisode, outgoing
from framedream.data.conversion.fresh_folder import fresh_folder
from framedream.data.conversion.incoming import IncomingEpisode
from framedream.data.conversion.origin import Origin
from framedream.data.conversion.source import Source
from framedream.data.dataset import DataSet, Split
from framedream.data.episode import Frames
from framedream.data.manifest import SPLITS
from framedream.errors import UserError

if TYPE_CHECKING:
    from minari import EpisodeData, MinariDataset

FRAMES_PER_CHUNK = 16
ORIGIN = "framedream"
"""The entry of Minari's metadata that says what the data set was a recording of."""
STATE = "state"
"""Where states go among Minari's infos."""
NAME = re.compile(r"[-_\w]{2,}")


def dataset_id(folder: Path, split: str) -> str:
    """The name Minari loads a split by when the folder's parent is its MINARI_DATASETS_PATH."""
    return f"{folder.name}/{split}-v0"


def export_minari(data_set: DataSet, folder: Path, on_progress: OnProgress = lambda frames: None) -> None:
    """Write each split as a Minari data set `train-v0`, `test-v0` in `folder`."""
    _import_minari()
    if not NAME.fullmatch(folder.name):
        raise UserError(f"Minari names hold letters, digits, - and _ only: choose another --out than {folder.name!r}.")
    with fresh_folder(folder) as place:
        for split in data_set.splits.values():
            if len(split.episodes):
                path = place / f"{split.name}-v0" / "data"
                path.mkdir(parents=True)
                _write_split(path, dataset_id(folder, split.name), split, Origin.of(data_set), on_progress)


def _write_split(path: Path, name: str, split: Split, origin: Origin, on_progress: OnProgress) -> None:
    from minari import __version__
    from minari.dataset.minari_storage import MinariStorage

    storage = MinariStorage.new(
        path,
        observation_space=spaces.Box(0, 255, (*origin.recording.frame_shape, 3), np.uint8),
        action_space=spaces.Discrete(len(origin.recording.action_meanings)),
        data_format="hdf5",
        jpeg_encoding=False,
    )
    episodes = outgoing(split)
    with h5py.File(path / "main_data.hdf5", "a", track_order=True) as file:
        for episode in episodes:
            group = file.create_group(f"episode_{episode.number}")
            group.attrs.update(id=episode.number, seed=episode.seed, total_steps=len(episode) - 1)
            _write_episode(group, episode, origin.palette, on_progress)
    storage.update_metadata(
        {
            "dataset_id": name,
            "minari_version": __version__,
            "total_episodes": len(episodes),
            "total_steps": split.frames - len(episodes),
            "dataset_size": float(storage.get_size()),
            "description": f"{origin.recording.environment}, recorded with framedream.",
            ORIGIN: json.dumps(origin.as_json()),
        }
    )


def _write_episode(
    group: h5py.Group, episode: OutgoingEpisode, palette: Frames | None, on_progress: OnProgress
) -> None:
    steps = len(episode) - 1
    kinds = dict(actions=np.int64, rewards=np.float64, terminations=np.bool_, truncations=np.bool_)
    columns = {name: group.create_dataset(name, (steps,), kind) for name, kind in kinds.items()}
    observations: Any = None
    states: Any = None
    done = 0
    for rows in episode.blocks(on_progress):
        frames = rows.frames if palette is None else palette[rows.frames]
        if observations is None:
            chunk = (min(FRAMES_PER_CHUNK, len(episode)), *frames.shape[1:])
            shape = (len(episode), *frames.shape[1:])
            observations = group.create_dataset("observations", shape, np.uint8, chunks=chunk, compression="gzip")
        observations[done : done + len(frames)] = frames
        if rows.states is not None:
            if states is None:
                states = group.create_dataset(
                    f"infos/{STATE}", (len(episode), *rows.states.shape[1:]), rows.states.dtype
                )
            states[done : done + len(frames)] = rows.states
        for name, column in columns.items():
            # One row per transition: the last frame's row, which has none, is left out.
            column[done : done + len(frames)] = getattr(rows, name)[: steps - done]
        done += len(frames)


def is_minari(source: str) -> bool:
    """Whether this looks like a Minari data set: a folder that is laid out as one, or the name of one."""
    folder = Path(source)
    places = (folder, folder / "data", *(folder / f"{split}-v0" / "data" for split in SPLITS))
    return not folder.is_dir() or any(any(place.glob("metadata.json")) for place in places)


def read_minari(source: Path | str) -> Source:
    """A Minari data set by its folder or its name, or a folder with `train-v0` and `test-v0` in it."""
    _import_minari()
    folder = Path(source)
    divided = {split: folder / f"{split}-v0" for split in SPLITS if (folder / f"{split}-v0" / "data").is_dir()}
    data_sets = {split: _open(place) for split, place in divided.items()} or {"train": _open(source)}
    stored = next(iter(data_sets.values())).storage.metadata.get(ORIGIN)
    return Source(
        kind="minari",
        splits={split: list(_episodes(data_set)) for split, data_set in data_sets.items()},
        origin=None if stored is None else Origin.from_json(json.loads(stored)),
    )


def _open(source: Path | str) -> MinariDataset:
    import minari

    folder = Path(source)
    if not folder.is_dir():
        try:
            return minari.load_dataset(str(source))
        except (OSError, ValueError):
            raise UserError(
                f"{source} is neither a folder nor a Minari data set of this machine; `minari list local` lists those, "
                "and `minari download` fetches others."
            ) from None
    try:
        return minari.MinariDataset(folder / "data" if (folder / "data").is_dir() else folder)
    except (OSError, ValueError, KeyError, AssertionError) as error:
        raise UserError(f"{source} cannot be read as a Minari data set ({error}).") from error


def _episodes(data_set: MinariDataset) -> Iterator[IncomingEpisode]:
    actions = data_set.action_space
    if not isinstance(actions, spaces.Discrete):
        raise UserError(f"{data_set.id} has actions {actions}; only numbered ones (Discrete) can be imported.")
    if not isinstance(data_set.observation_space, spaces.Box):
        raise UserError(f"{data_set.id} has observations {data_set.observation_space}; only images can be imported.")
    for number, metadata in enumerate(data_set.storage.get_episode_metadata(data_set.episode_indices)):
        yield _episode(data_set, number, int(metadata.get("seed") or 0))


def _episode(data_set: MinariDataset, number: int, seed: int) -> IncomingEpisode:
    def blocks() -> Iterator[Frames]:
        frames = np.asarray(data_set[number].observations)
        yield frames[..., 0] if frames.ndim == 4 and frames.shape[3] == 1 else frames

    episode: EpisodeData = data_set[number]
    terminated = bool(np.any(episode.terminations))
    states = (episode.infos or {}).get(STATE)
    return IncomingEpisode(
        f"{data_set.id}, episode {number}",
        blocks,
        actions=np.asarray(episode.actions) - int(data_set.action_space.start),
        rewards=np.asarray(episode.rewards),
        states=None if states is None else np.asarray(states),
        terminated=terminated,
        truncated=bool(np.any(episode.truncations)) or not terminated,
        seed=seed,
    )


def _import_minari() -> None:
    try:
        import minari  # noqa: F401
    except ImportError:
        raise UserError("Minari is not installed: run `pip install 'framedream[minari]'`.") from None
