"""The evaluation itself: every sequence is predicted once, step by step, and compared with what really happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from framedream.data.dataset import DataSet
from framedream.data.reader import SegmentReader
from framedream.data.segment import Batch
from framedream.evaluation.baselines import BLEND, LAST, NAMES, Prediction, baselines
from framedream.evaluation.bootstrap import EpisodeBootstrap, Floats
from framedream.evaluation.frames import Colours, as_floats
from framedream.evaluation.heads import ExaminedHeads, HeadTracking
from framedream.evaluation.measures import moving_error, peak_signal_to_noise, prediction_error, structural_similarity
from framedream.evaluation.moving import moving_pixels
from framedream.evaluation.objects import objects_of
from framedream.evaluation.reference import Reference
from framedream.evaluation.results import SHOWN_STEPS, Band, Curve, Difference, Measurement, numbers
from framedream.evaluation.rollout import evaluating, open_loop
from framedream.evaluation.sequences import Sequences
from framedream.evaluation.tracking import Tracking
from framedream.fast.doubles import faster
from framedream.model.simulator import Simulator, State

MODEL, SHUFFLED = "model", "shuffled actions"
OVER_BLEND, OVER_OWN_ACTIONS = "model − blend", "shuffled actions − model"

Progress = Callable[[int], None]
"""Called after every step with the number of frames predicted so far, of `len(sequences) * horizon` altogether."""


@dataclass(frozen=True)
class Extent:
    """How much is measured beside the errors; a look during training leaves the costly parts out."""

    shuffled: bool = True
    similarity: bool = True
    objects: bool = True


@dataclass
class _Errors:
    """One curve's errors, (sequences, steps), and its SSIM at the shown steps."""

    whole: Floats
    moving: Floats
    similarity: dict[int, list[float]]


def measure(
    simulator: Simulator,
    data_set: DataSet,
    sequences: Sequences,
    reference: Reference,
    data: str = "test",
    extent: Extent | None = None,
    progress: Progress | None = None,
    heads: ExaminedHeads | None = None,
) -> Measurement:
    """Predict `sequences` open-loop and score the model and the baselines on the same frames."""
    simulator = faster(simulator)
    measuring = _Measuring(
        simulator, data_set, sequences, reference, extent or Extent(), progress or (lambda _: None), heads
    )
    with (
        evaluating(simulator),
        SegmentReader(sequences.split, threads=2, states=bool(measuring.tracking.things)) as reader,
    ):
        for rows, batch in sequences.batches(reader):
            measuring.add(rows, batch)
    return measuring.result(data)


class _Measuring:
    """The errors of one set of sequences as they come in."""

    def __init__(
        self,
        simulator: Simulator,
        data_set: DataSet,
        sequences: Sequences,
        reference: Reference,
        extent: Extent,
        progress: Progress,
        heads: ExaminedHeads | None,
    ) -> None:
        self.simulator, self.data_set, self.sequences = simulator, data_set, sequences
        self.extent, self.progress = extent, progress
        self.device = simulator.background.device
        self.reference = reference.to(self.device)
        self.colours = Colours.of(data_set.palette, self.device)
        self.mean = self.reference.mean - simulator.background
        shape = (len(sequences), sequences.horizon)
        predicted = (MODEL, SHUFFLED) if extent.shuffled and len(sequences) > 1 else (MODEL,)
        self.errors = {
            name: _Errors(np.zeros(shape), np.zeros(shape), {step: [] for step in SHOWN_STEPS if step <= shape[1]})
            for name in (*predicted, *NAMES)
        }
        self.moving_share = 0.0
        recording = data_set.recording
        things = objects_of(recording.environment, recording.frame_shape) if extent.objects else ()
        self.tracking = Tracking(things, (MODEL, LAST), *shape)
        self.head_tracking = None if heads is None else HeadTracking(heads, *shape, sequences.warm_up)

    def add(self, rows: slice, batch: Batch) -> None:
        warm_up, horizon = self.sequences.warm_up, self.sequences.horizon
        frames = torch.from_numpy(batch.frames).to(self.device)
        actions = torch.from_numpy(batch.actions).to(self.device)
        observed = self.colours(frames[:, :warm_up])
        state = self.simulator.warm_up(self.simulator.normalise(observed), actions[:, : warm_up - 1])
        ahead = actions[:, warm_up - 1 : warm_up - 1 + horizon]
        rollouts = {MODEL: open_loop(self.simulator, state, ahead)}
        if SHUFFLED in self.errors:
            # Neighbours are of different episodes wherever there are several: each gets the other's actions.
            rollouts[SHUFFLED] = open_loop(self.simulator, state, ahead.roll(1, 0))
        last_colours = observed[:, -1]
        last = self._as_seen(last_colours)
        columns = []
        for step in range(horizon):
            colours = self.colours(frames[:, warm_up + step])
            real = self._as_seen(colours)
            moving = moving_pixels(self.reference.rule, colours, last_colours, self.reference.median)
            rolled = {name: next(rollout) for name, rollout in rollouts.items()}
            predictions = {name: self._predicted(state) for name, state in rolled.items()}
            predictions |= baselines(last, self.mean, self.reference.blend, step)
            columns.append(self._scores(predictions, real, moving))
            self.moving_share += float(moving.float().mean((1, 2)).sum()) / (len(self.sequences) * horizon)
            self._compare_pictures(rows, step, real, predictions, batch)
            if self.head_tracking is not None:
                self.head_tracking.add(rows, step, rolled[MODEL].hidden, batch)
            self.progress(rows.start * horizon + (step + 1) * len(batch))
        scores = torch.stack(columns, dim=-1).cpu().numpy()
        for errors, (whole, moving_part) in zip(self.errors.values(), scores, strict=True):
            errors.whole[rows], errors.moving[rows] = whole, moving_part

    def _as_seen(self, colours: Tensor) -> Tensor:
        """Everything is compared as the simulator sees it: background subtracted, which no difference notices."""
        return as_floats(colours) - self.simulator.background

    def _predicted(self, state: State) -> Prediction:
        assert state.frame is not None
        picture = self.simulator.picture(state.frame)
        return Prediction(picture, picture)

    def _scores(self, predictions: dict[str, Prediction], real: Tensor, moving: Tensor) -> Tensor:
        """(curves, 2, B): the error on the whole frame and on moving pixels, left on the device until the end."""
        pairs = [
            torch.stack([prediction_error(p.whole, real), moving_error(p.moving, real, moving)])
            for p in (predictions[name] for name in self.errors)
        ]
        return torch.stack(pairs)

    def _compare_pictures(
        self, rows: slice, step: int, real: Tensor, predictions: dict[str, Prediction], batch: Batch
    ) -> None:
        """What looks at frames as pictures, with the background added again."""
        background = self.simulator.background
        if self.extent.similarity and step + 1 in SHOWN_STEPS:
            for name, errors in self.errors.items():
                similarity = structural_similarity(predictions[name].whole + background, real + background)
                errors.similarity[step + 1] += similarity.tolist()
        if self.tracking.things:
            shown = {name: predictions[name].whole + background for name in self.tracking.curves}
            states = None if batch.states is None else batch.states[:, self.sequences.warm_up + step]
            self.tracking.add(rows, step, real + background, shown, states)

    def result(self, data: str) -> Measurement:
        bootstrap = EpisodeBootstrap(self.sequences.episodes)
        notes = self.sequences.notes
        if bootstrap.episodes < 2:
            notes += ("All sequences are of one episode: there is nothing to estimate intervals from.",)
        if SHUFFLED not in self.errors and self.extent.shuffled:
            notes += ("With a single sequence there are no actions to swap.",)
        return Measurement(
            data=data,
            source=source_of(self.data_set, self.sequences.split.name),
            sequences=len(self.sequences),
            episodes=bootstrap.episodes,
            warm_up=self.sequences.warm_up,
            horizon=self.sequences.horizon,
            moving_rule=self.reference.rule,
            moving_share=self.moving_share,
            curves=tuple(self._curve(name, bootstrap) for name in self.errors),
            differences=tuple(self._differences(bootstrap)),
            objects=self.tracking.results(bootstrap),
            notes=notes,
            heads=None if self.head_tracking is None else self.head_tracking.result(),
        )

    def _curve(self, name: str, bootstrap: EpisodeBootstrap) -> Curve:
        errors = self.errors[name]
        pixel_error = errors.whole.mean(0) / self._pixels
        return Curve(
            name=name,
            error=Band.of(bootstrap.mean(errors.whole)),
            moving=Band.of(bootstrap.mean(errors.moving)),
            pixel_error=numbers(pixel_error),
            psnr=numbers(peak_signal_to_noise(pixel_error)),
            ssim={str(step): float(np.mean(values)) for step, values in errors.similarity.items() if values},
        )

    def _differences(self, bootstrap: EpisodeBootstrap) -> list[Difference]:
        pairs = {OVER_BLEND: (MODEL, BLEND), OVER_OWN_ACTIONS: (SHUFFLED, MODEL)}
        return [
            Difference(
                name,
                Band.of(bootstrap.mean(self.errors[above].whole - self.errors[below].whole)),
                Band.of(bootstrap.mean(self.errors[above].moving - self.errors[below].moving)),
            )
            for name, (above, below) in pairs.items()
            if above in self.errors
        ]

    @property
    def _pixels(self) -> int:
        height, width = self.data_set.recording.frame_shape
        return height * width


def source_of(data_set: DataSet, split: str) -> dict[str, Any]:
    """Where sequences come from."""
    recording = data_set.recording
    return {
        "folder": str(data_set.folder),
        "identity": data_set.identity,
        "split": split,
        "environment": recording.environment,
        "arguments": recording.arguments,
        "policy": recording.policy,
    }
