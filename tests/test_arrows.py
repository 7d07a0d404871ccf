"""Imports follow the data: no room of the package knows a room that comes after it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "framedream"
MAY_IMPORT = {
    "errors": set(),
    "envs": {"errors"},
    "agents": {"errors", "envs"},
    "pictures": {"errors"},
    "data": {"errors", "envs", "agents", "pictures"},
    "model": {"errors"},
    "fast": {"errors", "model"},
    "checkpoint": {"errors", "model"},
    "training": {"errors", "data", "model", "fast", "checkpoint"},
    "evaluation": {"errors", "envs", "data", "model", "fast", "checkpoint", "pictures"},
    "use": {"errors", "envs", "agents", "data", "model", "fast", "checkpoint", "evaluation", "pictures"},
    "experiments": {"errors", "training", "evaluation"},
    "benchmarks": {"errors", "envs", "agents", "data", "model", "fast", "checkpoint", "training", "evaluation", "use"},
    "cli": None,  # the command line may know everything
    "__init__": set(),
    "__main__": {"cli"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the arrow"
            assert node.module is not None
            yield node.module
            if node.module == "framedream":
                yield from (f"framedream.{alias.name}" for alias in node.names)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_backward_arrow(path: Path) -> None:
    assert room(path) in MAY_IMPORT, f"a new room {room(path)!r}: say here what it may know"
    allowed = MAY_IMPORT[room(path)]
    if allowed is None:
        return
    rooms = {name.split(".")[1] for name in imported(path) if name.startswith("framedream.")}
    rooms.discard("__version__")
    backward = rooms - allowed - {room(path)}
    assert not backward, f"{path.relative_to(PACKAGE)} must not know {sorted(backward)}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "model").glob("*.py")), ids=lambda path: path.name)
def test_the_model_needs_only_torch_and_numpy(path: Path) -> None:
    outside = {name.split(".")[0] for name in imported(path)} - set(sys.stdlib_module_names)
    assert outside <= {"torch", "numpy", "framedream"}
