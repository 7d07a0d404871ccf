"""Balls and paddles over a whole evaluation: where they are in the real frames and in the predicted ones."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from framedream.evaluation.bootstrap import EpisodeBootstrap
from framedream.evaluation.objects import NEAR, GameObject, Places, locate, ram_places
from framedream.evaluation.results import Band, ObjectCurve


@dataclass
class _Track:
    """What was found of one object in one curve, (sequences, steps)."""

    seen: NDArray[np.bool_]
    distance: NDArray[np.float32]


@dataclass
class Tracking:
    """Fills up batch by batch and step by step."""

    things: tuple[GameObject, ...]
    curves: tuple[str, ...]
    sequences: int
    horizon: int
    _real: dict[str, NDArray[np.bool_]] = field(init=False)
    _tracks: dict[tuple[str, str], _Track] = field(init=False)
    _agreeing: dict[str, list[bool]] = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.sequences, self.horizon)
        self._real = {thing.name: np.zeros(shape, np.bool_) for thing in self.things}
        self._tracks = {
            (thing.name, curve): _Track(np.zeros(shape, np.bool_), np.zeros(shape, np.float32))
            for thing in self.things
            for curve in self.curves
        }
        self._agreeing = {thing.name: [] for thing in self.things}

    def add(
        self, rows: slice, step: int, real: Tensor, predicted: dict[str, Tensor], states: NDArray[np.uint8] | None
    ) -> None:
        """Look for every object in frames (B, 3, H, W) of numbers 0…1; `states` is the memory behind `real`."""
        for thing in self.things:
            place = locate(real, thing)
            self._real[thing.name][rows, step] = place.seen.cpu().numpy()
            if states is not None:
                self._agreeing[thing.name] += _agreement(place, states, thing)
            for curve in self.curves:
                found = locate(predicted[curve], thing)
                track = self._tracks[thing.name, curve]
                track.seen[rows, step] = found.seen.cpu().numpy()
                track.distance[rows, step] = found.distance(place).cpu().numpy()

    def results(self, bootstrap: EpisodeBootstrap) -> tuple[ObjectCurve, ...]:
        """Shares and distances per step."""
        return tuple(self._result(thing.name, curve, bootstrap) for thing in self.things for curve in self.curves)

    def _result(self, thing: str, curve: str, bootstrap: EpisodeBootstrap) -> ObjectCurve:
        real, track, agreeing = self._real[thing], self._tracks[thing, curve], self._agreeing[thing]
        both = real & track.seen
        return ObjectCurve(
            object=thing,
            curve=curve,
            near=Band.of(bootstrap.ratio(both & (track.distance <= NEAR), real)),
            distance=Band.of(bootstrap.ratio(np.where(both, track.distance, 0), both)),
            imagined=Band.of(bootstrap.ratio(track.seen & ~real, ~real)),
            ram_agreement=float(np.mean(agreeing)) if agreeing else None,
        )


def _agreement(place: Places, states: NDArray[np.uint8], thing: GameObject) -> list[bool]:
    """For every real frame that shows the object: does the console's memory put it within a few pixels?"""
    row, column = (
        None if known is None else torch.from_numpy(known).to(place.row) for known in ram_places(states, thing)
    )
    remembered = Places(place.seen, place.row if row is None else row, place.column if column is None else column)
    near = place.distance(remembered) <= NEAR
    agreeing: list[bool] = near[place.seen].tolist()
    return agreeing
