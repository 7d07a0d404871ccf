"""Putting the page together: runs on the same sequences share figures and tables."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from framedream import __version__
from framedream.errors import UserError
from framedream.evaluation import heads
from framedream.evaluation.exploration import Exploration
from framedream.evaluation.measure import OVER_BLEND
from framedream.evaluation.report import exploration, figures, tables
from framedream.evaluation.report.drawing import RUN_COLOURS, short_count
from framedream.evaluation.report.runs import Run
from framedream.evaluation.results import Measurement
from framedream.evaluation.verdict import about_actions, against_the_blend, steps_below

TEMPLATES = Path(__file__).parent


@dataclass(frozen=True)
class Group:
    """Runs that were measured on the same sequences, and so can be compared."""

    title: str
    runs: tuple[Run, ...]
    name: str

    @property
    def measurement(self) -> Measurement:
        return self.runs[0].measurement


def write_report(runs: Sequence[Run], path: Path) -> None:
    """Write the page. It needs no other file and no network."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": short_count}
    environment.globals |= {"colour": lambda number: number % RUN_COLOURS}
    groups = group(runs)
    page = environment.get_template("page.html.j2").render(
        title=_title(runs),
        style=(TEMPLATES / "style.css").read_text(),
        groups=[_describe_group(one) for one in groups],
        worlds=list(dict.fromkeys(one.title for one in groups)),
        version=__version__,
        written=datetime.now().astimezone().strftime("%-d %B %Y"),
    )
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(page)
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise UserError(f"The page {path} cannot be written ({error.strerror}): choose another --out.") from error


def group(runs: Sequence[Run]) -> list[Group]:
    """Runs on the same sequences, in the order of the first of each."""
    found: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        measured = run.measurement
        key = (measured.source["identity"], measured.data, measured.sequences, measured.horizon, measured.warm_up)
        found.setdefault(key, []).append(run)
    return [Group(_group_title(alike), tuple(alike), f"group-{n}") for n, alike in enumerate(found.values())]


def _title(runs: Sequence[Run]) -> str:
    return f"How far can {runs[0].name if len(runs) == 1 else f'these {len(runs)} simulators'} be trusted?"


def _group_title(runs: Sequence[Run]) -> str:
    return str(runs[0].measurement.source["environment"])


def _describe_group(one: Group) -> dict[str, Any]:
    runs = one.runs
    return {
        "title": one.title,
        "name": one.name,
        "measurement": one.measurement,
        "data_words": tables.data_words(one.measurement),
        "moving_words": tables.moving_words(one.measurement),
        "runs": [_describe_run(run) for run in runs],
        "errors": figures.errors_over_steps(f"{one.name}-errors", runs),
        "tables": tables.error_tables(runs),
        "memory_words": tables.memory_words(one.measurement),
        "actions": figures.action_evidence(f"{one.name}-actions", runs),
        "action_table": tables.action_table(runs),
        "objects": figures.objects_over_steps(f"{one.name}-objects", runs),
        "over_training": figures.errors_over_training(f"{one.name}-frames", runs),
        "training": figures.training_curves(f"{one.name}-training", runs),
        "head_tables": tables.head_tables(runs),
        "head_notes": list(dict.fromkeys(note for run in runs for note in _head_notes(run))),
        "sheets": _sheets(runs),
        "explorations": [
            _describe_exploration(run, run.exploration, f"{one.name}-exploration-{run.number}")
            for run in runs
            if run.exploration is not None
        ],
        "other_tables": [table for run in runs if (table := tables.other_data_table(run))],
    }


def _head_notes(run: Run) -> tuple[str, ...]:
    return () if run.measurement.heads is None else heads.notes(run.measurement.heads)


def _describe_run(run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "number": run.number,
        "verdict": against_the_blend(run.measurement),
        "reaches": _reaches(run.measurement),
        "about_actions": about_actions(run.measurement),
        "checkpoint": run.checkpoint,
        "variant": run.checkpoint["configuration"]["simulator"]["variant"],
        "scheme": run.checkpoint["configuration"]["scheme"]["name"],
        "film": _film(run),
        "facts": _facts(run),
        "configuration": json.dumps(run.checkpoint["configuration"], indent=1, ensure_ascii=False),
        "notes": list(dict.fromkeys(note for one in run.evaluation.measurements for note in one.notes)),
    }


def _describe_exploration(run: Run, explored: Exploration, name: str) -> dict[str, Any]:
    return {
        "name": run.name,
        "number": run.number,
        "settings": explored.settings,
        "method": explored.method,
        "explorers": [(explorer.name, exploration.TITLES[explorer.name]) for explorer in explored.explorers],
        "figure": exploration.exploration_figure(name, explored, run.number),
        "paths": embedded(run.paths.read_bytes(), "image/png") if run.paths.exists() else None,
        "tables": exploration.exploration_tables(explored, run.number),
    }


def _reaches(measurement: Measurement) -> list[tuple[str, int, int]]:
    """Up to which of how many steps it beats the blend."""
    difference = measurement.difference(OVER_BLEND)
    assert difference is not None
    bands = (("moving pixels", difference.moving), ("whole frame", difference.error))
    return [(words, steps_below(band), measurement.horizon) for words, band in bands]


def _facts(run: Run) -> list[tuple[str, str]]:
    """Where the simulator and the numbers come from."""
    checkpoint, measured = run.checkpoint, run.measurement
    configuration, source = checkpoint["configuration"], measured.source
    training = configuration["run"]
    arguments = ", ".join(f"{name} {value}" for name, value in source["arguments"].items())
    check = run.evaluation.environment_check
    facts = {
        "Checkpoint": checkpoint["folder"],
        "Transition": f"{configuration['simulator']['variant']}, {checkpoint['parameters']:,} parameters",
        "Scheme": configuration["scheme"]["name"],
        "Preset": training.get("preset", ""),
        "Trained": f"{checkpoint['updates']:,} updates, {short_count(checkpoint['frames'])} frames predicted "
        f"({short_count(checkpoint['frames_with_warm_up'])} seen with warm-up), {_duration(checkpoint['seconds'])}",
        "Environment": f"{source['environment']}{f' ({arguments})' if arguments else ''}",
        "Played by": tables.policy_words(source["policy"]),
        "Data": source["folder"],
        "Identity": source["identity"],
        "Trained on": "these data" if checkpoint["trained_on_this_data"] else "other data",
        "Measured": f"{measured.sequences:,} sequences of {measured.episodes:,} episodes, "
        f"{measured.warm_up} frames of warm-up, {measured.horizon} predicted",
        "Moving pixels": f"where {tables.moving_words(measured)}; {measured.moving_share:.1%} of the frame",
        "Replayed": "" if check is None else f"{check['frames']:,} frames, largest error {check['largest_error']:g}",
        "Written by": f"framedream {run.evaluation.code_version}, {run.evaluation.finished[:10]}",
    }
    return [(name, value) for name, value in facts.items() if value]


def _film(run: Run) -> str | None:
    showcase = run.evaluation.showcase
    if showcase is None or not (run.results / showcase["film"]).exists():
        return None
    return embedded((run.results / showcase["film"]).read_bytes(), "video/mp4")


def _sheets(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The sheets, cut into their frames: the same sequence of several runs is set as one table, real frames on top."""
    from PIL import Image

    sheets: dict[tuple[Any, ...], dict[str, Any]] = {}
    for run in runs:
        for sheet in (run.evaluation.showcase or {}).get("sheets", []):
            path = run.results / sheet["file"]
            if not path.exists():
                continue
            columns = len(sheet["steps"])
            with Image.open(path) as picture:
                width, height = picture.width // columns, picture.height // 2
                real, predicted = (
                    [_cut(picture, n * width, y, width, height) for n in range(columns)] for y in (0, height)
                )
            key = (sheet["episode"], sheet["start"], *sheet["steps"])
            empty = {**sheet, "width": width, "height": height, "rows": [("real", None, real)]}
            sheets.setdefault(key, empty)["rows"].append((run.name, run.number, predicted))
    return list(sheets.values())


def _cut(picture: Any, left: int, top: int, width: int, height: int) -> str:
    file = io.BytesIO()
    picture.crop((left, top, left + width, top + height)).save(file, format="PNG", optimize=True)
    return embedded(file.getvalue(), "image/png")


def embedded(content: bytes, kind: str) -> str:
    """Bytes as an address that holds them."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, hours = seconds / 60, seconds / 3600
    return (
        f"{hours:.1f} hours" if hours >= 2 else f"{minutes:.1f} minutes" if minutes >= 2 else f"{seconds:.0f} seconds"
    )
