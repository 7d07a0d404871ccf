"""Training schemes as data: which frame every transition reads, and for how many updates.

The schemes are those of the paper's section 3.1 ("Short-Term versus Long-Term Accuracy") and of Oh et al. (2015),
with their lengths, truncated backpropagation and warm-up as parameters. `MODERN` is the start of the modern recipe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from framedream.errors import UserError, unknown_name

OBSERVATION, PREDICTION = "o", "p"


@dataclass(frozen=True)
class Phase:
    """A part of a scheme: `updates` parameter updates (None: for the rest of the run) of one kind.

    `feed` has a letter per predicted step: `o` where the transition reads the observed frame, `p` where it reads the
    model's prediction. The first transition of a sequence reads the last warm-up frame in either case: there is no
    prediction of it. With `segments` = n, BPTT(T, n): the prediction goes on over n stretches of T steps, each fed
    by the same letters and ending in an update of its own. No gradient reaches the warm-up, unless `warm_up_grad`
    names the time index from which on encodings receive it (1: the whole warm-up).
    """

    updates: int | None
    feed: str
    segments: int = 1
    warm_up: int = 10
    warm_up_grad: int | None = None

    def __post_init__(self) -> None:
        if not self.feed or set(self.feed) - {OBSERVATION, PREDICTION}:
            raise UserError(f"A phase is fed by letters o and p, one per predicted step, not by {self.feed!r}.")
        if self.updates is not None and self.updates < 1:
            raise UserError(f"A phase makes at least one update, not {self.updates}.")
        if self.segments < 1:
            raise UserError(f"Backpropagation goes through at least one segment, not {self.segments}.")
        if self.warm_up < 1:
            raise UserError(f"The warm-up has at least one frame, not {self.warm_up}.")
        if self.warm_up_grad is not None and not 1 <= self.warm_up_grad <= self.warm_up:
            raise UserError(
                f"Gradients enter a warm-up of {self.warm_up} frames from one of the frames 1 to {self.warm_up}, "
                f"not from frame {self.warm_up_grad}."
            )

    @property
    def prediction_length(self) -> int:
        """T: predicted steps per update."""
        return len(self.feed)

    @property
    def fraction(self) -> float:
        """The share of prediction-dependent transitions, as the schemes' names count it."""
        return self.feed.count(PREDICTION) / len(self.feed)

    @property
    def sequence_length(self) -> int:
        """Frames of one training sequence, warm-up included."""
        return self.warm_up + self.segments * self.prediction_length

    def rows_of(self, segment: int) -> slice:
        """The frames of a sequence that an update on this segment needs: what it predicts, and what goes before."""
        first = self.warm_up + segment * self.prediction_length
        return slice(0 if segment == 0 else first - 1, first + self.prediction_length)

    def frames_seen(self, batch_size: int, segment: int) -> tuple[int, int]:
        """Frames that one update on this segment of a batch sees: with the warm-up, and without it."""
        predicted = batch_size * self.prediction_length
        return predicted + (batch_size * self.warm_up if segment == 0 else 0), predicted

    def to_json(self) -> dict[str, Any]:
        return {
            "updates": self.updates,
            "feed": self.feed,
            "prediction_length": self.prediction_length,
            "segments": self.segments,
            "warm_up": self.warm_up,
            "warm_up_grad": self.warm_up_grad,
            "fraction": round(self.fraction, 4),
        }


@dataclass(frozen=True)
class Scheme:
    """Phases, one after the other; the last one lasts as long as the run does."""

    name: str
    phases: tuple[Phase, ...]
    words: str
    """What the paper says of it."""
    section: str
    """Where it says so."""

    def __post_init__(self) -> None:
        if any(phase.updates is None for phase in self.phases[:-1]):
            raise UserError(f"Only the last phase of the scheme {self.name!r} can last for the rest of the run.")

    @property
    def fraction(self) -> float:
        """The share of prediction-dependent transitions that training arrives at: that of the last phase."""
        return self.phases[-1].fraction

    @property
    def has_own_lengths(self) -> bool:
        """Whether its phases predict so differently far that no one prediction length can take their place."""
        return len({phase.prediction_length for phase in self.phases}) > 1

    def stretches(self, updates: int) -> Iterator[tuple[Phase, int, int]]:
        """The phases that a run of so many updates goes through, each with its first update and the one after."""
        first = 0
        for phase in self.phases:
            last_phase = phase is self.phases[-1]
            end = updates if last_phase or phase.updates is None else min(updates, first + phase.updates)
            if first < end:
                yield phase, first, end
            first = end

    def scaled(self, factor: float) -> Scheme:
        """The same scheme with phases of `factor` times as many updates (at least one each)."""
        if factor <= 0:
            raise UserError(f"Phases can be made longer or shorter by a factor above 0, not by {factor:g}.")
        phases = tuple(
            phase if phase.updates is None else replace(phase, updates=max(1, round(phase.updates * factor)))
            for phase in self.phases
        )
        return replace(self, phases=phases)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "phases": [phase.to_json() for phase in self.phases],
            "fraction": round(self.fraction, 4),
            "paper": self.words,
            "section": self.section,
        }


_SECTION = "3.1, Short-Term versus Long-Term Accuracy"
_OD, _PD = "observation-dependent", "prediction-dependent"


def _paper(name: str, words: str, *phases: Phase) -> Scheme:
    return Scheme(name, phases, words, _SECTION)


MODERN = "modern"
SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        _paper("pdt-0", f"0% PDT: only {_OD} transitions", Phase(None, "o" * 15)),
        _paper(
            "pdt-33",
            f"33% PDT: {_OD} transitions for the first 10 time-steps, {_PD} for the last 5",
            Phase(None, "o" * 10 + "p" * 5),
        ),
        _paper(
            "pdt-46",
            f"46% PDT: {_OD} transitions for the first 8 time-steps, {_PD} for the last 7",
            Phase(None, "o" * 8 + "p" * 7),
        ),
        _paper(
            "pdt-46-alt",
            f"46% PDT Alt.: alternate between {_OD} and {_PD} transitions",
            Phase(None, "op" * 7 + "o"),
        ),
        _paper(
            "pdt-67",
            f"67% PDT: {_OD} transitions for the first 5 time-steps, {_PD} for the last 10",
            Phase(None, "o" * 5 + "p" * 10),
        ),
        _paper("pdt-100", f"100% PDT: only {_PD} transitions", Phase(None, "p" * 15)),
        _paper(
            "pdt-0-100",
            f"0%-100% PDT: only {_OD} transitions in the first 1,000 updates, only {_PD} ones after",
            Phase(1_000, "o" * 15),
            Phase(None, "p" * 15),
        ),
        _paper(
            "pdt-0-20-33",
            "0%-20%-33% PDT: 0% in the first 10,000 updates, 20% in the next 100,000, then 33% "
            "(Oh et al.'s scheme adapted to T = 15)",
            Phase(10_000, "o" * 15),
            Phase(100_000, "o" * 12 + "p" * 3),
            Phase(None, "o" * 10 + "p" * 5),
        ),
        _paper(
            "oh2015",
            f"Oh et al. (2015): T = 10 {_OD}, then T = 3 and T = 5 {_PD}; 500,000, 250,000 and 750,000 updates",
            Phase(500_000, "o" * 10),
            Phase(250_000, "p" * 3),
            Phase(750_000, "p" * 5),
        ),
        Scheme(
            MODERN,
            (Phase(2_500, "o" * 15, warm_up=2, warm_up_grad=1), Phase(None, "p" * 15)),
            f"0%-100% PDT whose {_OD} start predicts every frame from the third on",
            "not in the paper: docs/training.md",
        ),
    )
}


def named_scheme(
    name: str,
    *,
    prediction_length: int | None = None,
    segments: int = 1,
    warm_up: int = 10,
    warm_up_grad: int | None = None,
) -> Scheme:
    """The scheme of that name, at another prediction length T, as BPTT(T, segments), or after another warm-up."""
    if name not in SCHEMES:
        raise unknown_name("scheme", name, SCHEMES, "framedream schemes")
    scheme = SCHEMES[name]
    if prediction_length is not None and prediction_length < 1:
        raise UserError(f"The prediction length is at least 1, not {prediction_length}.")
    if prediction_length is not None and scheme.has_own_lengths:
        own = ", ".join(str(phase.prediction_length) for phase in scheme.phases)
        raise UserError(
            f"The scheme {name!r} has prediction lengths of its own ({own}): leave --prediction-length out."
        )

    def adapted(phase: Phase) -> Phase:
        feed = feed_at_length(phase.feed, prediction_length or phase.prediction_length)
        if phase.warm_up_grad is not None:
            # A phase that trains its own warm-up (the modern start) keeps it.
            return replace(phase, feed=feed)
        return replace(phase, feed=feed, segments=segments, warm_up=warm_up, warm_up_grad=warm_up_grad)

    return replace(scheme, phases=tuple(adapted(phase) for phase in scheme.phases))


def feed_at_length(feed: str, length: int) -> str:
    """The same pattern of letters at another prediction length T: round(T(1-f)) leading `o`, or alternation."""
    if PREDICTION + OBSERVATION in feed:
        return (feed[:2] * length)[:length]
    # An exact fraction: 15 * (1 - 1/3) in floating point may round to either side.
    leading = round(Fraction(length * feed.count(OBSERVATION), len(feed)))
    return OBSERVATION * leading + PREDICTION * (length - leading)
