"""`framedream bench all`: one JSON object, with the reason in the place of what fails."""

from __future__ import annotations

import pytest

from framedream.benchmarks.everything import bench_all
from framedream.cli.bench import BENCHES, main
from framedream.cli.bench_all import ALL, usual_words
from framedream.errors import UserError

QUICK = [
    "rollout",
    "--device",
    "cpu",
    "--filters",
    "0.05",
    "--batches",
    "1",
    "--variants",
    "pi-zero",
    "--seconds",
    "0.01",
]


def test_a_failure_is_in_its_place_and_the_rest_go_on() -> None:
    told: list[str] = []
    measured = bench_all([["data", "--frames", "0"], ["nonsense"], QUICK], told.append)
    assert list(measured) == ["data", "nonsense", "rollout"]
    assert "at least 1 frame" in measured["data"]["failure"]
    assert "no benchmark named 'nonsense'" in measured["nonsense"]["failure"]
    assert measured["rollout"]["rollouts"][0]["steps_per_second"] > 0
    assert [words.split()[1] for words in told] == ["data", "nonsense", "rollout"]


def test_all_means_all() -> None:
    assert set(ALL) == set(BENCHES) - {"all"}
    assert usual_words("train", "cuda") == ["train", "--device", "cuda", "--all-variants"]
    assert usual_words("maze", "cuda") == ["maze"]


def test_unknown_benchmarks_are_named() -> None:
    with pytest.raises(UserError, match="'train'"):
        main(["all", "--only", "trian"])
