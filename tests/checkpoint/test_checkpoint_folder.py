"""Folders appear whole or not at all, and a changed byte anywhere in them is noticed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from framedream.checkpoint.folder import FILE_LIST, check_folder, new_folder, remove_folder, remove_leftovers
from framedream.checkpoint.tensors import write_tensors
from framedream.errors import UserError


def write(target: Path) -> Path:
    with new_folder(target) as folder:
        (folder / "config.json").write_text('{"one": 1}\n')
        (folder / "weights.bin").write_bytes(bytes(range(256)) * 40)
    return target


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write(tmp_path / "step-1")


def test_a_whole_folder_is_accepted(whole: Path) -> None:
    check_folder(whole)
    assert {path.name for path in whole.iterdir()} == {"config.json", "weights.bin", FILE_LIST}
    assert [path.name for path in whole.parent.iterdir()] == ["step-1"]


def test_every_flipped_bit_is_noticed(whole: Path) -> None:
    generator = random.Random(0)
    for path in sorted(whole.iterdir()):
        content = path.read_bytes()
        bits = range(8 * len(content))
        # All bits of the list itself, where a change may still read as JSON; some of the others.
        for bit in bits if path.name == FILE_LIST else generator.sample(bits, 20):
            damaged = bytearray(content)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            with pytest.raises(UserError, match=r"damaged|not its own|version"):
                check_folder(whole)
        path.write_bytes(content)
    check_folder(whole)


def test_the_damaged_file_is_named(whole: Path) -> None:
    (whole / "weights.bin").write_bytes(b"short")
    with pytest.raises(UserError, match=r"weights\.bin has changed"):
        check_folder(whole)
    (whole / "weights.bin").unlink()
    with pytest.raises(UserError, match=r"weights\.bin is missing"):
        check_folder(whole)


def test_a_file_from_elsewhere_is_refused(whole: Path) -> None:
    (whole / "extra.pt").write_bytes(b"")
    with pytest.raises(UserError, match=r"extra\.pt"):
        check_folder(whole)


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(UserError, match="not a framedream checkpoint"):
        check_folder(tmp_path)


def test_another_version_is_refused_by_name(whole: Path) -> None:
    listed = json.loads((whole / FILE_LIST).read_text())
    listed["version"] = 99
    (whole / FILE_LIST).write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n")
    with pytest.raises(UserError, match="version 99"):
        check_folder(whole)


def test_nothing_is_left_of_a_folder_whose_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), new_folder(tmp_path / "step-1") as folder:
        (folder / "half").write_bytes(b"half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"), new_folder(tmp_path / "file" / "step-1"):
        pass


def test_a_full_disk_is_said_in_one_sentence(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk is not permitted here")
    try:
        write(disk / "step-1")
        with (
            pytest.raises(UserError, match=r"step-2 cannot be written: .*[Nn]o space"),
            new_folder(disk / "step-2") as new,
        ):
            write_tensors(new, "model", {"weights": torch.zeros(1_000_000)})
        check_folder(disk / "step-1")
        assert [path.name for path in disk.iterdir()] == ["step-1"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("number", range(4))
def test_a_kill_at_a_random_instant_leaves_no_half_folder(number: int, tmp_path: Path) -> None:
    # Folder after folder is written and removed again until SIGKILL; whatever carries a step's name must be whole.
    program = textwrap.dedent("""
        import sys
        from pathlib import Path
        from framedream.checkpoint.folder import new_folder, remove_folder
        run = Path(sys.argv[1])
        print("ready", flush=True)
        for step in range(100_000):
            with new_folder(run / f"step-{step}") as folder:
                for name in "abc":
                    (folder / name).write_bytes(name.encode() * 50_000)
            if step >= 2:
                remove_folder(run / f"step-{step - 2}")
    """)
    writer = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
    try:
        writer.wait(timeout=random.Random(number).uniform(0.02, 0.3))
    except subprocess.TimeoutExpired:
        os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    for step in tmp_path.glob("step-*"):
        check_folder(step)
    remove_leftovers(tmp_path)
    assert all(path.name.startswith("step-") for path in tmp_path.iterdir())


def test_removing_is_thorough(whole: Path) -> None:
    remove_folder(whole)
    assert list(whole.parent.iterdir()) == []
