"""The manifest: no byte of it can change unnoticed, and it is replaced whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from framedream.data.manifest import MANIFEST, Manifest, PartEntry, identity_of
from framedream.data.recording import Recording
from framedream.errors import UserError


def manifest() -> Manifest:
    recording = Recording(
        environment="counting",
        arguments={"size": (3, 4), "word": "Größe", "rate": 0.1},
        action_meanings=("left", "right"),
        action_repeat=4,
        frame_shape=(12, 16),
        indexed=True,
        policy={"name": "random"},
        provenance={"version": "1"},
        seed=3,
        state_shape=(128,),
        state_dtype="uint8",
    )
    parts = (PartEntry("train/part-00-0000.h5", "train", 0, 3, 90, 1234, "0" * 64),)
    return Manifest(recording, parts, {"train": "a" * 64, "test": identity_of([])}, {"train": {"frames": 80}})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    manifest().write(tmp_path)
    assert Manifest.read(tmp_path) == manifest()
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


def test_every_bit_counts(tmp_path: Path) -> None:
    manifest().write(tmp_path)
    path = tmp_path / MANIFEST
    original = path.read_bytes()
    for bit in range(8 * len(original)):
        flipped = bytearray(original)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(UserError, match=r"manifest\.json is damaged"):
            Manifest.read(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b'{"schema": 1}', b"\xff\xfe"])
def test_what_is_no_manifest_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(UserError, match="is damaged"):
        Manifest.read(tmp_path)


def test_an_edit_is_refused(tmp_path: Path) -> None:
    manifest().write(tmp_path)
    fields = json.loads((tmp_path / MANIFEST).read_text())
    fields["parts"][0]["frames"] = 91
    (tmp_path / MANIFEST).write_text(json.dumps(fields, indent=1) + "\n")
    with pytest.raises(UserError, match="was edited"):
        Manifest.read(tmp_path)


def test_a_folder_without_one_is_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not a data set: it has no manifest\.json"):
        Manifest.read(tmp_path)


def test_differences_between_recordings_are_named() -> None:
    one = manifest().recording
    other = Recording.from_json(one.as_json() | {"seed": 4, "arguments": {"size": [3, 4], "rate": 0.2}})
    clauses = one.differences(other)
    assert clauses == ["arguments rate is 0.2, not 0.1", "arguments word is absent, not 'Größe'", "seed is 4, not 3"]
    assert one.differences(Recording.from_json(json.loads(json.dumps(one.as_json())))) == []


def test_a_recording_refuses_what_it_cannot_repeat() -> None:
    fields = manifest().recording.as_json()
    with pytest.raises(UserError, match="0 actions"):
        Recording.from_json(fields | {"action_meanings": ()})
    with pytest.raises(UserError, match="must be JSON values"):
        Recording.from_json(fields | {"arguments": {"function": print}})
    with pytest.raises(UserError, match="seed"):
        Recording.from_json(fields | {"seed": -1})
