"""Simulators that ship with the package: `sim:NAME` stands for a run everywhere, and the package stays as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from maze_runs import write_maze_run

from framedream.checkpoint import shipped
from framedream.checkpoint.checkpoint import load_simulator, open_checkpoint
from framedream.checkpoint.shipped import shipped_name, shipped_simulators
from framedream.cli import main
from framedream.errors import UserError
from framedream.use.opening import own_data
from framedream.use.play.stage import set_stage
from framedream.use.simulated_env import SimulatedEnv

NAME = "sim:counted"
ROOT = Path(__file__).parents[2]
LARGEST_MEGABYTES = 64
SHIPPED = shipped_simulators()  # before anything is put in their place


@pytest.fixture
def simulators(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one simulator; the commands run elsewhere."""
    folder = tmp_path / "package" / "simulators"
    shutil.copytree(exported, folder / "counted")
    monkeypatch.setattr(shipped, "SIMULATORS", folder)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_that_is_dropped_in_is_listed(simulators: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (simulators / ".maze.unfinished").mkdir()
    (simulators / "README.md").touch()
    main(["simulators", "--json"])
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["name"], entry["environment"], entry["frame_size"]) == (NAME, "counting", [16, 16])
    assert entry["folder"] == str(simulators / "counted") and entry["updates"] == 6
    assert entry["heads"] == ["reward", "end"] and len(entry["actions"]) == 3
    assert entry["bytes"] == sum(map(len, contents(simulators / "counted").values()))
    main(["simulators"])
    shown = capsys.readouterr().out
    assert NAME in shown and "16×16" in shown and "framedream play sim:counted" in shown


def test_none_are_listed_where_none_ship(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shipped, "SIMULATORS", tmp_path / "nowhere")
    main(["simulators"])
    assert "No simulators ship" in capsys.readouterr().out
    with pytest.raises(UserError, match="`framedream simulators` lists what exists"):
        open_checkpoint(Path(NAME))


@pytest.mark.usefixtures("simulators")
@pytest.mark.parametrize("command", ["play", "evaluate", "explore", "report", "export", "bench simulated"])
def test_unknown_names_are_answered_with_the_nearest(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = {"report": ["--out", "page.html"], "export": ["--out", "copy"]}.get(command, [])
    named = ["--run", "sim:conuted"] if command == "bench simulated" else ["sim:conuted"]
    with pytest.raises(SystemExit) as end:
        main([*command.split(), *named, *words])
    assert end.value.code == 2
    assert capsys.readouterr().err.strip().endswith("'sim:conuted'; did you mean 'sim:counted'?")
    assert not list(Path().iterdir())


def test_environments_take_the_name(simulators: Path) -> None:
    actions = np.random.default_rng(1).integers(3, size=8)
    by_folder = SimulatedEnv(simulators / "counted")
    made = gymnasium.make("framedream.use:framedream/Simulated-v0", simulator=NAME)
    copies = gymnasium.make_vec("framedream.use:framedream/Simulated-v0", num_envs=2, simulator=NAME)
    assert SimulatedEnv(NAME).arguments["simulator"] == NAME  # which is what a recording of it says
    with closing(by_folder), closing(made), closing(copies):
        first, _ = by_folder.reset(seed=5)
        np.testing.assert_array_equal(made.reset(seed=5)[0], first)
        np.testing.assert_array_equal(copies.reset(seed=5)[0][0], first)
        for action in actions.tolist():
            frame = by_folder.step(action)[0]
            np.testing.assert_array_equal(made.step(action)[0], frame)
            seen = copies.step(np.array([action, action]))[0][0]
            np.testing.assert_allclose(seen.astype(int), frame.astype(int), atol=1)
    assert load_simulator(NAME).spec == load_simulator(simulators / "counted").spec


@pytest.mark.usefixtures("simulators")
def test_it_is_played_under_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = open_checkpoint(Path(NAME))
    assert shipped_name(checkpoint.folder) == NAME
    stage = set_stage(checkpoint, own_data(checkpoint), split="test", warm_up=4, device="cpu", real=True)
    stage.starts.close()
    assert stage.title == NAME and stage.twin is not None and stage.usual
    Path("actions.json").write_text("[0, 1, 2, 1]")
    main(["play", NAME, "--script", "actions.json", "--record", "film.mp4"])
    assert "Played 4 steps" in capsys.readouterr().out and Path("film.mp4").exists()


def test_it_is_measured_without_a_trace_in_the_package(simulators: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(simulators)
    words = ["evaluate", NAME, "--horizon", "12", "--sequences", "5", "--device", "cpu"]
    main([*words, "--json"])
    said = capsys.readouterr()
    assert f"Measuring on {simulators / 'counted' / 'starts'}" in said.err
    measured = json.loads(said.out)["measurements"]
    assert not list(Path().iterdir())
    main([*words, "--out", "mine"])
    assert json.loads(Path("mine/results.json").read_text())["measurements"] == measured
    assert Path("mine/film.mp4").exists()
    main(["report", NAME, "--out", "page.html"])
    assert "data:video/mp4" in Path("page.html").read_text()
    main(["bench", "simulated", "--run", NAME, "--batches", "1", "--seconds", "0.05", "--json"])
    assert contents(simulators) == before


def test_it_explores_without_a_trace_in_the_package(simulators: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_maze_run(simulators / "maze")
    before = contents(simulators)
    words = ["explore", "sim:maze", "--mazes", "1", "--walks", "1", "--steps", "8", "--sequences", "3", "--length", "2"]
    main([*words, "--skip-environment", "--device", "cpu", "--json"])
    assert json.loads(capsys.readouterr().out)["explorers"]
    assert contents(simulators) == before and not list(Path().iterdir())
    main([*words, "--skip-environment", "--device", "cpu", "--out", "mine"])
    assert Path("mine/results.json").exists()


@pytest.mark.usefixtures("simulators")
def test_a_copy_is_everybodys_own() -> None:
    main(["export", NAME, "--out", "own"])
    words = ["evaluate", "own", "--horizon", "12", "--sequences", "5", "--device", "cpu", "--overwrite"]
    main(words)
    assert json.loads(Path("own/evaluation/step-6/results.json").read_text())["measurements"][0]["sequences"] == 5


@pytest.mark.parametrize("name", SHIPPED)
def test_what_really_ships_is_whole(name: str) -> None:
    folder = SHIPPED[name]
    assert {"starts", "evaluation", "card.md"} <= {path.name for path in folder.iterdir()}
    files = contents(folder)
    assert sum(map(len, files.values())) < LARGEST_MEGABYTES * 1e6
    texts = [text.decode() for file, text in files.items() if file.endswith((".json", ".md", ".csv"))]
    assert not [place for text in texts for place in re.findall(r'[ "`]/\w[^\s"`]*', text)]
    assert "Nobody has written any down" not in (folder / "card.md").read_text()
    with closing(SimulatedEnv(name, time_limit=0)) as dream:
        frames = [dream.reset(seed=0)[0]] + [dream.step(action % 3)[0] for action in range(20)]
    assert frames[0].std() > 0 and frames[-1].std() > 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_wheel_takes_them_along(exported: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(exported, source / "src" / "framedream" / "simulators" / "counted")
    words = ["wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(source)]
    built = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True)
    if "No matching distribution found for hatchling" in built.stderr:
        pytest.skip("hatchling, which builds wheels, cannot be had here")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {f"framedream/simulators/counted/{file}" for file in contents(exported)} <= packed
