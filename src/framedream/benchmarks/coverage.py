"""Which variants, schemes and sizes of frames the fast path computes, and how much faster: a few updates each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import torch

from framedream.benchmarks.device import precisions_of
from framedream.benchmarks.timing import Row, in_one_line
from framedream.benchmarks.updates import ACTIONS, SYNTHETIC, Kind, measure_updates
from framedream.model.simulator_spec import SimulatorSpec
from framedream.training.scheme import SCHEMES, Phase
from framedream.training.specification import RunSpec

SECONDS_AT_MOST = 1.0
"""For a figure: there are many."""
FRAME_SIZES = ((210, 160), (180, 180), (48, 48), (64, 64), (84, 84), (97, 73))
"""The paper's three, two that others use, and one that no layer halves evenly."""

Say = Callable[[str], None]


class Coverage:
    """Small measurements that differ in one respect each from one run on frames of one size."""

    def __init__(
        self, run: RunSpec, frame_size: tuple[int, int], seconds: float, device: torch.device, say: Say
    ) -> None:
        self._run, self._frame_size = run, frame_size
        self._seconds, self._device, self._say = min(seconds, SECONDS_AT_MOST), device, say

    def variants(self, names: Iterable[str]) -> list[Row]:
        """On the run's own scheme."""
        return [self._row(name, replace(self._run, variant=name)) for name in names]

    def frame_sizes(self, sizes: Iterable[tuple[int, int]]) -> list[Row]:
        return [self._row(f"{height}x{width}", self._run, frame_size=(height, width)) for height, width in sizes]

    def schemes(self) -> list[Row]:
        """Every phase of every scheme, at the scheme's own prediction length."""
        rows: list[Row] = []
        measured: dict[Phase, Row] = {}
        for name in SCHEMES:
            run = replace(self._run, scheme=name, prediction_length=None)
            phases = run.phases(prediction_independent=False).phases
            for number, phase in enumerate(phases, start=1):
                words = name if len(phases) == 1 else f"{name}, phase {number}"
                same = replace(phase, updates=None)
                if same not in measured:
                    measured[same] = self._row(words, run, phase=phase)
                rows.append(measured[same] | {"name": words, "scheme": name})
        return rows

    def _row(
        self, name: str, run: RunSpec, phase: Phase | None = None, frame_size: tuple[int, int] | None = None
    ) -> Row:
        """The fast path's row; what becomes of the straightforward way is in its `faster`."""
        self._say(f"{name}: a few updates")
        try:
            kind = Kind.for_any_frames(run, *(frame_size or self._frame_size), ACTIONS, phase)
            supplies, quickest = {SYNTHETIC: kind.noise(self._device)}, precisions_of(self._device)[-1:]
            straightforward, fast = measure_updates(kind, supplies, quickest, self._seconds, self._device)
        except Exception as error:
            return {"name": name, "failure": in_one_line(error)}
        if "failure" in straightforward and "failure" not in fast:
            fast["straightforward_failure"] = straightforward["failure"]
        return {"name": name, "note": special_case(kind.spec)} | fast


def special_case(spec: SimulatorSpec) -> str:
    """What the fast path must do for this simulator beyond the usual; empty where there is nothing.

    Odd sizes leave a row or a column of the larger picture that no place of the smaller one reaches.
    """
    notes = []
    if spec.transition.action_enters == "encoder":
        notes.append(f"{spec.actions} action planes")
    if spec.transition.action_enters == "decoder":
        notes.append("the decoder reads the action")
    if spec.transition.prediction_independent:
        notes.append("no frames after the warm-up")
    if any(missing != (0, 0) for missing in spec.codec.output_paddings):
        notes.append("odd sizes")
    return "; ".join(notes)
