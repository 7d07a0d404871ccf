"""What a checkpoint's `config.json` says: all that rebuilds the simulator, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from framedream.errors import UserError

CONFIG_FILE = "config.json"


@dataclass(frozen=True)
class Configuration:
    """The simulator's specification, the environment it simulates, the data it was trained on, and how."""

    simulator: dict[str, Any]
    """`SimulatorSpec.to_json()`."""
    environment: dict[str, Any]
    """`name`, `arguments`, `action_meanings`, `action_repeat`."""
    data: dict[str, Any]
    """`folder`, `identity`, `train_frames`, `policy`."""
    run: dict[str, Any]
    """The run specification: the preset's name and every field as it was trained."""
    scheme: dict[str, Any]
    """`Scheme.to_json()`, with the lengths this run uses."""
    code_version: str
    heads: dict[str, Any] | None = None
    """`HeadsSpec.to_json()`, where the checkpoint has heads beside its simulator."""

    @property
    def action_meanings(self) -> list[str]:
        return list(self.environment["action_meanings"])

    @property
    def data_folder(self) -> Path | None:
        """Where the data set was that the simulator was trained on; an exported checkpoint knows its name only."""
        folder = Path(str(self.data["folder"]))
        return folder if folder.is_absolute() else None

    @property
    def frame_size(self) -> tuple[int, int]:
        codec = self.simulator["codec"]
        return codec["height"], codec["width"]

    def write(self, folder: Path) -> None:
        (folder / CONFIG_FILE).write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Configuration:
        try:
            content = json.loads((folder / CONFIG_FILE).read_text())
            known = [field.name for field in fields(cls) if field.name in content or field.default is MISSING]
            return cls(**{name: content[name] for name in known})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{folder / CONFIG_FILE} cannot be read ({error!r}): name a run or a checkpoint of framedream."
            ) from error

    def refuse_other_data(
        self, checkpoint: Path, data: Path, *, frame_size: tuple[int, int], action_meanings: Sequence[str]
    ) -> None:
        """Refuse data that this simulator cannot be shown, naming both."""
        if frame_size != self.frame_size:
            ours, theirs = ("x".join(map(str, size)) for size in (self.frame_size, frame_size))
            raise UserError(f"The simulator in {checkpoint} sees frames of {ours}, the data set {data} holds {theirs}.")
        if list(action_meanings) != self.action_meanings:
            raise UserError(
                f"The simulator in {checkpoint} knows the actions {_listed(self.action_meanings)}, "
                f"the data set {data} has {_listed(action_meanings)}."
            )


def _listed(actions: Sequence[str]) -> str:
    return f"{len(actions)} ({', '.join(actions)})"
