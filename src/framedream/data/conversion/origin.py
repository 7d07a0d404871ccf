"""What an exported data set was a recording of, kept beside it so that importing it again loses nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from framedream.data.dataset import DataSet
from framedream.data.episode import Frames
from framedream.data.recording import Recording
from framedream.errors import UserError

FILE = "recording.json"


@dataclass(frozen=True)
class Origin:
    """The recording and, where its frames are indices, their colours."""

    recording: Recording
    palette: Frames | None

    @classmethod
    def of(cls, data_set: DataSet) -> Self:
        return cls(data_set.recording, data_set.palette)

    def as_json(self) -> dict[str, Any]:
        palette = None if self.palette is None else self.palette.tolist()
        return {"recording": self.recording.as_json(), "palette": palette}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        palette = None if fields["palette"] is None else np.array(fields["palette"], np.uint8)
        return cls(Recording.from_json(fields["recording"]), palette)

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(self.as_json()) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The origin that lies in a folder, if one does."""
        path = folder / FILE
        if not path.exists():
            return None
        try:
            return cls.from_json(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is not what an export wrote ({error}): delete it to import without it.") from None
