"""`framedream explore` on real folders, and its part of the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from maze_runs import SMALL, write_maze_run
from PIL import Image

from framedream.cli import main
from framedream.envs.maze.vector import MazeVector
from framedream.evaluation.exploration import read_exploration
from framedream.use.exploration.area import cells_visited

SHORT = ("--mazes", "3", "--walks", "2", "--steps", "20", "--sequences", "6", "--length", "4")


def explore(*words: str | Path) -> None:
    main(["explore", *map(str, words)])


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """The one sentence that a command is refused with."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        explore(*words)
    assert end.value.code == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("framedream: ") and len(said.splitlines()) == 1, said
    return said


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was recorded, trained and evaluated by the commands themselves."""
    folder = tmp_path_factory.mktemp("small")
    options = [f"{key}={value}" for key, value in SMALL.items()]
    data, run = str(folder / "mazes"), folder / "run"
    main(["collect", "maze", "--episodes", "3", "--test-episodes", "2", "--policy", "walk-and-spin", "--workers", "1",
          "--out", data, "--set", *options, "episode_frames=40"])  # fmt: skip
    main(["train", data, "--out", str(run), "--preset", "tiny", "--updates", "4", "--device", "cpu"])
    main(["evaluate", str(run), "--horizon", "8", "--sequences", "4", "--device", "cpu"])
    return run


@pytest.fixture(scope="module")
def explored(run: Path) -> Path:
    explore(run, *SHORT, "--memory", "3", "--sweep", "length=2,5", "memory=1", "--device", "cpu")
    return run / "exploration" / "step-4"


def test_everything_is_written(explored: Path) -> None:
    exploration = read_exploration(explored)
    assert exploration is not None
    assert [explorer.name for explorer in exploration.explorers] == ["random", "simulator", "environment"]
    assert [(point.option, point.value) for point in exploration.sweep] == [
        ("length", 2), ("length", 5), ("memory", 1),
    ]  # fmt: skip
    assert sorted(path.name for path in explored.iterdir()) == ["area.png", "paths.png", "results.json", "walks.npz"]
    assert exploration.settings["environment"]["maze_size"] == SMALL["maze_size"]
    random, simulator, environment = exploration.explorers
    assert random.planning is None and simulator.planning is not None and environment.planning is not None
    assert exploration.method == {"sequences": 6, "length": 4, "memory": 3, "dithering": 1.0}
    assert environment.planning.surprise == 0 < simulator.planning.surprise
    assert [outlook.depth for outlook in simulator.planning.outlooks] == [6, 30]


def test_the_numbers_are_those_of_the_walks(explored: Path) -> None:
    exploration = read_exploration(explored)
    assert exploration is not None
    walks = np.load(explored / "walks.npz")
    cells = {}
    for explorer in exploration.explorers:
        assert walks[f"{explorer.name}_actions"].shape == (6, 20)
        cells[explorer.name] = cells_visited(walks[f"{explorer.name}_places"])[:, 1:]
        np.testing.assert_allclose(explorer.area.mean, cells[explorer.name].mean(0), rtol=1e-6)
        assert list(explorer.cells) == cells[explorer.name][:, -1].tolist()
        np.testing.assert_array_equal(walks[f"{explorer.name}_places"][:, 0], walks["random_places"][:, 0])
    ratio = cells["simulator"].sum(0) / cells["random"].sum(0)
    shown = exploration.explorers[1].ratio
    np.testing.assert_allclose(shown.mean, ratio, rtol=1e-6)
    assert all(low <= mean <= high for low, mean, high in zip(shown.low, shown.mean, shown.high, strict=True))  # type: ignore[operator]


def test_explorers_are_drawn_side_by_side(explored: Path) -> None:
    with Image.open(explored / "paths.png") as picture:
        cells = SMALL["maze_size"] * 16
        assert picture.size[0] == 3 * cells + 4 * 8
        assert picture.size[1] > 3 * cells
    with Image.open(explored / "area.png") as picture:
        assert picture.size[0] > 1000


def test_the_same_question_has_the_same_answer(run: Path, explored: Path, tmp_path: Path) -> None:
    explore(run, *SHORT, "--memory", "3", "--skip-environment", "--device", "cpu", "--out", tmp_path / "again")
    first, again = (np.load(folder / "walks.npz") for folder in (explored, tmp_path / "again"))
    assert sorted(again) == ["maze", "random_actions", "random_places", "simulator_actions", "simulator_places"]
    for name in again:
        np.testing.assert_array_equal(again[name], first[name])


def test_the_report_has_a_part_on_it(run: Path, explored: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    main(["report", str(run), "--out", str(page)])
    text = page.read_text()
    assert "<h2>Exploring with it</h2>" in text
    assert "3 mazes, 2 walks in each, 6 sequences of 4 actions, 3 frames of memory" in text
    assert text.count('class="paths" src="data:image/png;base64,') == 1
    for words in ("random explorer", "with the simulator", "with the real environment, 30 steps ahead", "length 5"):
        assert words in text
    exploration = read_exploration(explored)
    assert exploration is not None and f"{exploration.explorers[2].free_share:.1%}" in text


def test_the_report_does_without_it(run: Path, explored: Path, tmp_path: Path) -> None:
    hidden = explored.with_name("hidden")
    explored.rename(hidden)
    main(["report", str(run), "--out", str(tmp_path / "page.html")])
    hidden.rename(explored)
    assert "Exploring with it" not in (tmp_path / "page.html").read_text()


def test_the_real_environment_needs_no_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = [f"{key}={value}" for key, value in SMALL.items()]
    words = ("--simulator", "environment", *SHORT, "--set", *options)
    explore(*words)
    shown = capsys.readouterr().out
    assert "environment" in shown and "simulator" not in shown.replace("simulators", "")
    explore(*words, "--json", "--out", tmp_path / "bound")
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert content == json.loads((tmp_path / "bound" / "results.json").read_text())
    assert content["checkpoint"] is None and content["settings"]["environment"]["height"] == 16


def test_one_maze_has_no_interval(tmp_path: Path) -> None:
    run = write_maze_run(tmp_path / "run")
    explore(run, "--mazes", "1", "--walks", "1", "--steps", "6", "--sequences", "2", "--skip-environment")
    exploration = read_exploration(run / "exploration" / "step-1")
    assert exploration is not None and exploration.explorers[1].ratio.low[-1] is None


def test_nothing_is_overwritten_without_a_word(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = write_maze_run(tmp_path / "run", "pi-h")
    words = (run, "--mazes", "1", "--steps", "6", "--sequences", "2", "--skip-environment")
    explore(*words)
    results = run / "exploration" / "step-1" / "results.json"
    before = results.read_bytes()
    assert "--overwrite" in refused(capsys, *words)
    assert results.read_bytes() == before
    explore(*words, "--overwrite", "--seed", "3")
    assert json.loads(results.read_text())["settings"]["seed"] == 3
    other = tmp_path / "photographs"
    other.mkdir()
    (other / "one.jpg").write_bytes(b"")
    assert "something else" in refused(capsys, *words, "--out", other, "--overwrite")
    assert "is a file" in refused(capsys, *words, "--out", other / "one.jpg")
    assert [path.name for path in (run / "exploration").iterdir()] == ["step-1"]


def test_stopped_halfway_it_leaves_what_was_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = write_maze_run(tmp_path / "run")
    explore(run, "--mazes", "1", "--steps", "6", "--sequences", "2", "--skip-environment")
    results = run / "exploration" / "step-1" / "results.json"
    before, drawn, real = results.read_bytes(), [], MazeVector.frames

    def frames(self: MazeVector, *arguments: Any) -> Any:
        drawn.append(1)
        if len(drawn) == 5:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(MazeVector, "frames", frames)
    for words in (["--overwrite"], ["--out", str(tmp_path / "elsewhere")]):
        drawn.clear()
        with pytest.raises(SystemExit) as end:
            explore(run, *SHORT, *words)
        assert end.value.code == 130 and len(drawn) == 5
    assert results.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    assert [path.name for path in (run / "exploration").iterdir()] == ["step-1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "no run or checkpoint"),
        ([], "--simulator environment"),
        (["--sequences", "0"], "--sequences must be at least 1"),
        (["--length", "0"], "--length must be at least 1"),
        (["--memory", "-1"], "--memory must be at least 1"),
        (["--mazes", "0"], "--mazes must be at least 1"),
        (["--walks", "0"], "--walks must be at least 1"),
        (["--seed", "-1"], "--seed must be 0 or more"),
        (["--dithering", "2"], "probability"),
        (["--random-dithering", "-1"], "probability"),
        (["--steps", "5"], "6 actions do not fit into 5 steps"),
        (["--steps", "8", "--simulator", "environment", "--sweep", "length=3,9"], "9 actions do not fit into 8 steps"),
        (["--sweep", "lenght=3"], "'length'"),
        (["--sweep", "length=3,x"], "whole numbers"),
        (["--sweep", "memory=0"], "below 1"),
        (["--simulator", "environment", "--set", "maze_size=8"], "odd maze_size"),
        (["--simulator", "environment", "--set", "hight=8"], "height"),
    ],
)
def test_bad_input_is_one_sentence(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, *words)
    assert not list(tmp_path.iterdir())


def test_runs_that_cannot_explore_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pong = write_maze_run(tmp_path / "pong", environment="atari/pong")
    assert "atari/pong" in refused(capsys, pong)
    larger = write_maze_run(tmp_path / "larger", size=(20, 24))
    assert "20x24" in (said := refused(capsys, larger)) and "16x16" in said
    maze = write_maze_run(tmp_path / "maze")
    assert "--set" in refused(capsys, maze, "--set", "height=24")
    if not __import__("torch").cuda.is_available():
        assert "CUDA" in refused(capsys, maze, "--device", "cuda", *SHORT)
