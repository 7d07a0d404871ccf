"""A simulator for others: a run's folder with all that it takes to use it, and nothing that only its trainer needs.

    FOLDER/step-N/                  the checkpoint, without the state of the optimiser
    FOLDER/starts/                  a small data set: where dreams begin
    FOLDER/evaluation/step-N/       what was measured, if it was
    FOLDER/card.md                  what it is, for people

It is laid out as every run is, so whatever takes a run takes it too.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from framedream.checkpoint.checkpoint import Checkpoint
from framedream.checkpoint.exported import Precision, export_checkpoint
from framedream.checkpoint.run_folder import STARTS_FOLDER
from framedream.data.conversion.fresh_folder import fresh_folder
from framedream.data.dataset import DataSet
from framedream.data.excerpt import write_excerpt
from framedream.data.recording import Store
from framedream.errors import UserError
from framedream.evaluation.results import Evaluation, write_results
from framedream.evaluation.store import EVALUATION_FOLDER, results_folder, stored_evaluation
from framedream.use.card import CARD_FILE, Facts, known_failures, write_card
from framedream.use.opening import fitting_data, own_data


@dataclass(frozen=True)
class Contents:
    """What an exported folder is to hold."""

    precision: Precision = "float32"
    """What weights are kept in; float32 keeps them as they were trained."""
    shard_bytes: int | None = None
    """The largest size of one file of weights."""
    starts: int = 2_000
    """The frames of each split to begin in, at least: whole episodes. None with 0."""
    store: Store | None = None
    """How to keep them; as their data set does unless told."""


def export(
    checkpoint: Checkpoint,
    out: Path,
    contents: Contents,
    *,
    data: DataSet | None = None,
    differences: Mapping[str, Any] | None = None,
    failures: str | None = None,
) -> Facts:
    """Write the new folder `out`, whole or not at all.

    `data` is where the starts come from, where the data set it was trained on is not there. For the card:
    `differences` are those of its run from its preset, `failures` the words of somebody who looked at it (those of an
    earlier card where there are no new ones).
    """
    with fresh_folder(out) as place:
        starts = None
        if contents.starts:
            source = _source_of_starts(checkpoint, data)
            starts = write_excerpt(source, place / STARTS_FOLDER, contents.starts, contents.store)
        step = export_checkpoint(checkpoint, place, contents.precision, contents.shard_bytes)
        facts = Facts(
            name=out.resolve().name,
            configuration=checkpoint.configuration,
            training=checkpoint.training,
            precision=contents.precision,
            weight_bytes=sum(path.stat().st_size for path in step.glob("*.safetensors")),
            starts=None if starts is None else starts.manifest,
            evaluation=_export_evaluation(checkpoint, place),
            differences=differences,
            failures=failures or known_failures(checkpoint.folder.resolve().parent / CARD_FILE),
        )
        write_card(facts, place)
    return facts


def _source_of_starts(checkpoint: Checkpoint, data: DataSet | None) -> DataSet:
    source = data if data is not None else own_data(checkpoint)
    if source is None:
        raise UserError(
            f"The data set it was trained on, {checkpoint.configuration.data['folder']}, is not there: name it with "
            "--data, so that dreams have frames to begin with, or leave them out with --starts 0."
        )
    return fitting_data(checkpoint, checkpoint.simulator(), source)


def _export_evaluation(checkpoint: Checkpoint, place: Path) -> Evaluation | None:
    """Copy what was measured with the pictures that belong to it; folders of this machine become mere names."""
    evaluation = stored_evaluation(checkpoint.folder)
    if evaluation is None:
        return None
    measured = evaluation.checkpoint
    configuration = dict(measured["configuration"])
    configuration["data"] = {**configuration["data"], "folder": Path(configuration["data"]["folder"]).name}
    evaluation = replace(
        evaluation,
        checkpoint={**measured, "folder": f"{measured['run']}/{measured['name']}", "configuration": configuration},
        measurements=tuple(
            replace(one, source={**one.source, "folder": Path(one.source["folder"]).name})
            for one in evaluation.measurements
        ),
    )
    folder = place / EVALUATION_FOLDER / checkpoint.folder.name
    write_results(evaluation, folder)
    if evaluation.showcase is not None:
        for file in (evaluation.showcase["film"], *(sheet["file"] for sheet in evaluation.showcase["sheets"])):
            if (picture := results_folder(checkpoint.folder) / file).exists():
                shutil.copyfile(picture, folder / file)
    return evaluation
