"""The program: every command answers --help without heavy imports; errors are one sentence and exit code 2."""

from __future__ import annotations

import subprocess
import sys

import pytest

from framedream.cli import COMMANDS, main

HEAVY = ("torch", "ale_py", "matplotlib", "av", "h5py", "minari", "numba")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_imports_nothing_heavy(command: str) -> None:
    # Counting modules instead of seconds: an import of torch is what makes a help text take two seconds.
    program = f"""
import sys
from framedream.cli import main
try:
    main({command.split()!r} + ["--help"])
except SystemExit as end:
    assert not end.code, end.code
print("HEAVY:", [name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "HEAVY: []" in done.stdout
    assert f"framedream {command}" in done.stdout


def test_overview_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown and command.summary in shown for name, command in COMMANDS.items())


@pytest.mark.parametrize(("words", "nearest"), [(["tran"], "'train'"), (["data", "verfy"], "'data verify'")])
def test_unknown_command_names_the_nearest(words: list[str], nearest: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert nearest in said
    assert len(said.strip().splitlines()) == 1


def test_output_cut_off_by_head_is_no_error() -> None:
    line = f"{sys.executable} -m framedream variants --json | head -c 10"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
