"""Damage of every kind is found, by name."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framedream.cli import data_verify
from framedream.data.dataset import open_data_set
from framedream.data.integrity import sha256_of
from framedream.data.manifest import MANIFEST, Manifest
from framedream.data.plan import Amount
from framedream.data.recorder import record
from framedream.data.verify import verify
from framedream.errors import UserError

PART = "train/part-00-0001.h5"


def findings(folder: Path) -> dict[str, str]:
    return {finding.file: finding.problem for finding in verify(folder).findings}


def test_a_sound_data_set_is_clean(reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[int, int]] = []
    assert verify(reference, lambda done, total: seen.append((done, total))).findings == ()
    frames = sum(part.frames for part in Manifest.read(reference).parts)
    assert seen[-1] == (frames, frames)
    data_verify.main([str(reference)])
    assert "is clean" in capsys.readouterr().out
    data_verify.main([str(reference), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["clean"] and facts["identity"] == open_data_set(reference).identity


def flip_bit(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed >= 6 else []) for seed in range(60)]
)
def test_a_flipped_bit_is_found(copy: Path, seed: int) -> None:
    """A random bit of a random file: frames, tables, indices and HDF5's own bookkeeping, or the manifest."""
    random = np.random.default_rng(seed)
    files = sorted(path for path in copy.rglob("*") if path.is_file() and path.stat().st_size)
    victim = files[seed % len(files)]
    flip_bit(victim, int(random.integers(8 * victim.stat().st_size)))
    assert list(findings(copy)) == [str(victim.relative_to(copy))]
    with pytest.raises(UserError, match=victim.name):
        open_data_set(copy)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed >= 5 else []) for seed in range(60)]
)
def test_flipped_frames_do_not_even_decode(copy: Path, seed: int) -> None:
    """Fletcher32 alone, for whoever reads a part with plain h5py and has no manifest."""
    random = np.random.default_rng(seed)
    with h5py.File(copy / PART) as file:
        frames = file["frames"]
        chunk = frames.id.get_chunk_info(int(random.integers(frames.id.get_num_chunks())))
    flip_bit(copy / PART, 8 * chunk.byte_offset + int(random.integers(8 * chunk.size)))
    with h5py.File(copy / PART) as file, pytest.raises(OSError):
        file["frames"][:]


def truncate(folder: Path) -> None:
    with (folder / PART).open("rb+") as file:
        file.truncate(4000)


def remove(folder: Path) -> None:
    (folder / PART).unlink()


def add_unlisted(folder: Path) -> None:
    shutil.copy(folder / PART, folder / "train" / "part-00-0077.h5")


def swap_two_parts(folder: Path) -> None:
    other = folder / "train" / "part-00-0000.h5"
    first, second = other.read_bytes(), (folder / PART).read_bytes()
    other.write_bytes(second)
    (folder / PART).write_bytes(first)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (truncate, {PART: "is truncated to 4,000 of"}),
        (remove, {PART: "is missing"}),
        (add_unlisted, {"train/part-00-0077.h5": "is not listed in the manifest"}),
        (swap_two_parts, {"train/part-00-0000.h5": "is truncated", PART: "its SHA-256"}),
    ],
)
def test_damage_is_named(
    copy: Path, damage: Callable[[Path], None], expected: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    damage(copy)
    found = findings(copy)
    assert list(found) == list(expected)
    for file, problem in expected.items():
        assert problem in found[file]
    with pytest.raises(UserError, match=next(iter(expected))):
        open_data_set(copy)
    with pytest.raises(SystemExit) as exit_:
        data_verify.main([str(copy)])
    assert exit_.value.code == 1
    assert len(capsys.readouterr().out.splitlines()) == len(expected), "one sentence for each bad file"


def test_a_part_of_another_data_set_is_named(copy: Path, tmp_path: Path) -> None:
    record("counting", tmp_path / "other", Amount(frames=300), workers=1, seed=9)
    shutil.copy(tmp_path / "other" / "train" / "part-00-0000.h5", copy / PART)
    assert "belongs to another data set (seed is 9, not 0)" in findings(copy)[PART]
    with pytest.raises(UserError, match="belongs to another data set"):
        open_data_set(copy)


def test_sizes_alone_are_checked_when_told_so(copy: Path) -> None:
    flip_bit(copy / PART, 100_000)
    open_data_set(copy, check=False)
    truncate(copy)
    with pytest.raises(UserError, match="truncated"):
        open_data_set(copy, check=False)


def sign_again(folder: Path) -> None:
    """Make the manifest agree with the files as they are, as a program with a bug in it would."""
    manifest = Manifest.read(folder)
    parts = tuple(
        dataclasses.replace(part, bytes=(folder / part.path).stat().st_size, sha256=sha256_of(folder / part.path))
        for part in manifest.parts
    )
    dataclasses.replace(manifest, parts=parts).write(folder)


def change(name: str, index: Any, value: Any) -> Callable[[h5py.File], None]:
    def apply(file: h5py.File) -> None:
        file[name][index] = value

    return apply


def last_row(file: h5py.File) -> int:
    return int(file["episode/length"][0]) - 1


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (change("frames", (3, 5, 5), 9), "episode 7 that is not what its content hash says"),
        (change("state", (3, 0), 9), "is not what its content hash says"),
        (change("palette", (7, 1), 9), "is not what its content hash says"),
        (change("episode/seed", 0, 9), "is not what its content hash says"),
        (change("action", 3, 7), "an action that does not exist"),
        (change("action", 3, -1), "an action that does not exist"),
        (change("truncation", 3, True), "an ending that is not on its last transition"),
        (change("episode/return", 0, -1.0), "do not add up to its return"),
        (change("episode/number", 0, 99), "does not hold episodes 7 to"),
        (change("episode/start", 1, 3), "a table of episodes that does not fit its frames"),
        (change("episode/length", 0, 3), "a table of episodes that does not fit its frames"),
        (lambda file: change("reward", last_row(file), 1.0)(file), "a reward on its last row"),
        (lambda file: file.attrs.__setitem__("split", "test"), "holds test episodes in the train split"),
        (lambda file: file.attrs.__setitem__("schema", 2), "has schema 2, not 1"),
        (lambda file: file.__delitem__("reward"), "cannot be decoded"),
    ],
)
def test_content_is_checked_beyond_checksums(copy: Path, edit: Callable[[h5py.File], None], problem: str) -> None:
    with h5py.File(copy / PART, "r+") as file:
        edit(file)
    sign_again(copy)
    found = findings(copy)
    assert list(found) == [PART]
    assert problem in found[PART]


def test_an_identity_that_is_not_that_of_the_episodes_is_found(copy: Path) -> None:
    manifest = Manifest.read(copy)
    dataclasses.replace(manifest, identity=manifest.identity | {"test": "0" * 64}).write(copy)
    assert findings(copy) == {MANIFEST: "has another identity than its test episodes"}


def test_what_is_no_data_set_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a data set"):
        verify(tmp_path)


def test_what_cannot_be_read_is_one_sentence(copy: Path) -> None:
    with pytest.raises(UserError, match=r"Cannot read .*File name too long"):
        verify(copy / ("a" * 300))
    part = copy / "train" / "part-00-0000.h5"
    part.write_bytes(bytes(part.stat().st_size))
    with pytest.raises(UserError, match=r"part-00-0000\.h5 cannot be read; `framedream data verify"):
        open_data_set(copy, check=False)
