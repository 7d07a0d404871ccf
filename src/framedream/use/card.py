"""The card of an exported simulator: what it is, out of what, how good, where it fails. Facts only, none made up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framedream.checkpoint.configuration import Configuration
from framedream.data.manifest import SPLITS, Manifest
from framedream.evaluation.measure import MODEL, SHUFFLED
from framedream.evaluation.report.tables import data_words, moving_words, short
from framedream.evaluation.results import Band, Evaluation, Measurement
from framedream.evaluation.verdict import sentence
from framedream.model.simulator import parameter_count
from framedream.model.simulator_spec import SimulatorSpec

CARD_FILE = "card.md"
STEPS = (1, 5, 10, 30, 100, 200)
FAILURES = "## Known failures"
NO_FAILURES = "Nobody has written any down yet."
COUNTS = {
    "updates": "updates",
    "frames_with_warm_up": "frames seen, with warm-up",
    "frames": "frames seen, without",
}
NAMES = {MODEL: "this simulator", SHUFFLED: "this simulator, told another sequence's actions"}


@dataclass(frozen=True)
class Facts:
    """What a card says."""

    name: str
    configuration: Configuration
    training: Mapping[str, Any]
    """How far training was."""
    precision: str
    weight_bytes: int
    starts: Manifest | None
    evaluation: Evaluation | None
    differences: Mapping[str, Any] | None
    """Fields of the run that are not its preset's; None where this version has no such preset."""
    failures: str | None


def write_card(facts: Facts, folder: Path) -> None:
    """Write `card.md` into a folder."""
    configuration = facts.configuration
    parts = [
        f"# {facts.name}: a simulator of `{configuration.environment['name']}`",
        _table(["", ""], _rows(facts)),
        *_measured(facts.evaluation),
        FAILURES,
        facts.failures or NO_FAILURES,
    ]
    (folder / CARD_FILE).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def known_failures(card: Path) -> str | None:
    """What an earlier card says of them, where it says anything."""
    text = card.read_text(encoding="utf-8").partition(FAILURES)[2].strip() if card.exists() else ""
    return None if text in ("", NO_FAILURES) else text


def _rows(facts: Facts) -> Iterable[tuple[str, str]]:
    configuration = facts.configuration
    spec = SimulatorSpec.from_json(configuration.simulator)
    run, environment, data = configuration.run, configuration.environment, configuration.data
    height, width = configuration.frame_size
    meanings = configuration.action_meanings
    yield "frames", f"{height}×{width}"
    yield "actions", f"{len(meanings)}: {', '.join(meanings)}"
    yield "variant", f"`{spec.variant}`"
    yield "parameters", f"{parameter_count(spec):,}; {facts.weight_bytes / 1e6:,.1f} MB, kept in {facts.precision}"
    if configuration.heads is not None:
        yield "beside it", f"heads for {' and '.join(configuration.heads['names'])}"
    yield "environment", f"`{environment['name']}` with {_code(environment.get('arguments', {}))}"
    frames = f"{data['train_frames']:,} training frames, " if "train_frames" in data else ""
    yield "data", f"{frames}identity `{data['identity']}`"
    yield "policy", _code(data["policy"])
    yield "recipe", f"preset `{run.get('preset')}`{_changes(facts.differences)}"
    yield "scheme", f"`{configuration.scheme.get('name')}`"
    for name, words in COUNTS.items():
        if name in facts.training:
            yield words, f"{facts.training[name]:,}"
    if "seconds" in facts.training:
        yield "training took", f"{facts.training['seconds'] / 60:,.1f} minutes"
    if facts.starts is not None:
        amounts = (f"{facts.starts.frames_of(split):,} {split} frames" for split in reversed(SPLITS))
        yield "dreams begin in", f"{' and '.join(amounts)} of whole episodes, stored as {facts.starts.recording.store}"
    yield "trained with", f"framedream {configuration.code_version}"


def _changes(differences: Mapping[str, Any] | None) -> str:
    if differences is None:
        return ", which this version does not have"
    words = (f"`--{name.replace('_', '-')} {_plain(value)}`" for name, value in differences.items())
    return f" with {' '.join(words)}" if differences else ""


def _measured(evaluation: Evaluation | None) -> Iterable[str]:
    yield "## Error"
    if evaluation is None:
        yield "It was not evaluated."
        return
    measurement = evaluation.measurement("test") or evaluation.measurements[0]
    yield (
        f"On {measurement.sequences:,} sequences of {measurement.episodes:,} {data_words(measurement)}, predicted from "
        f"actions alone after {measurement.warm_up} frames; measured before this export, by framedream "
        f"{evaluation.code_version}. In brackets: 95% intervals. Lower is better."
    )
    steps = [step for step in STEPS if step <= measurement.horizon]
    yield _errors("prediction error at step", measurement, "error", steps)
    yield f"The same on moving pixels, those where {moving_words(measurement)}:"
    yield _errors("moving-pixel error at step", measurement, "moving", steps)
    yield f"The simulator {sentence(measurement)}."


def _errors(title: str, measurement: Measurement, what: str, steps: Sequence[int]) -> str:
    rows = []
    for curve in measurement.curves:
        band: Band = getattr(curve, what)
        cells = (_with_interval(band, step) if curve.name == MODEL else short(band.at(step)) for step in steps)
        rows.append((NAMES.get(curve.name, curve.name), *cells))
    return _table([title, *map(str, steps)], rows)


def _with_interval(band: Band, step: int) -> str:
    low, high = band.low[step - 1], band.high[step - 1]
    interval = "" if low is None or high is None else f" ({short(low)} to {short(high)})"
    return short(band.at(step)) + interval


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    # A bar inside a cell would end it.
    lines = [columns, ["---"] * len(columns), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
