"""Variants and specs as data: the paper's sizes, JSON, validation, equations, the command."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from framedream.cli import main
from framedream.errors import UserError
from framedream.model.codec_spec import ATARI, MAZE, codec_for
from framedream.model.equations import equations
from framedream.model.simulator import Simulator, SimulatorSpec, parameter_count
from framedream.model.statistics import FrameStatistics
from framedream.model.transition_spec import TransitionSpec
from framedream.model.variants import VARIANTS, variant

# Typed from the paper: "around 25 millions (25M) parameters", …
PAPER_MILLIONS = {
    "base": 25,
    "base2816": 80,
    "iz": 30,
    "iz2816": 88,
    "noz": 17,
    "noz-iz2816": 56,
    "h": 21,
    "h-iz": 24,
    "h-iz2816": 95,
    "conv": 16,
    "2conv": 16,
    "conv-da": 40,
    "2conv-da": 40,
    "h-iz2816-2conv": 16,
    "h-iz2816-conv-da": 48,
    "h-iz2816-2conv-da": 48,
    "h-iz2816-2conv-a": 8,
    "action-mul-add": 25,
    "action-z": 22,
    "action-hz": 19,
    "action-hz-da": 43,
    "action-two": 28,
    "action-two-da": 51,
    "action-input": 19,
    "action-planes": 19,
    "pi-h": 40,
    "pi-zero": 40,
    "pi-h-iz2816-zero": 95,
}


@pytest.mark.parametrize(("name", "millions"), PAPER_MILLIONS.items())
def test_sizes_are_the_paper_s(name: str, millions: int) -> None:
    ours = parameter_count(SimulatorSpec.named(name, ATARI, 18))
    if name == "pi-zero":
        # The paper's count has W^iz, W^fz, W^oz and W^cz of the prediction phase, 1024x1024 each, times a zero vector.
        assert "zero vector" in variant(name).note
        ours += 4 * 1024 * 1024
    assert abs(ours / 1e6 - millions) < 1
    assert variant(name).paper_millions == millions


def test_counting_parameters_counts_them() -> None:
    spec = SimulatorSpec.named("h-iz2816-2conv-da", MAZE.scaled(0.2), 5)
    import torch

    simulator = Simulator(spec, FrameStatistics(torch.zeros(3, 1, 1), None))
    assert parameter_count(spec) == sum(parameter.numel() for parameter in simulator.parameters())
    assert parameter_count(replace(spec, initialisation="signal-preserving")) == parameter_count(spec)


@pytest.mark.parametrize("name", VARIANTS)
def test_specs_survive_json(name: str) -> None:
    spec = SimulatorSpec.named(name, codec_for(40, 33), 7, "signal-preserving", "fixed")
    assert SimulatorSpec.from_json(spec.to_json()) == spec
    assert SimulatorSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_damaged_specs_are_refused() -> None:
    data = SimulatorSpec.named("base", MAZE, 5).to_json()
    for damage in ({"novelty": 1}, {"transition": {"unknown": 3}}, {"codec": {"height": 3}}, {"codec": None}):
        with pytest.raises(UserError, match="another version"):
            SimulatorSpec.from_json({**data, **damage})


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UserError, match="'h-iz2816-2conv'"):
        variant("hiz2816-2conv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(hidden=0), "at least 1"),
        (dict(fusion=("h*b",)), "sum of products"),
        (dict(fusion=("h",)), "sum of products"),
        (dict(gates=("v", "y")), "cannot read 'y'"),
        (dict(gates=("z",), cell=("z",)), "Nothing reads the fused stream v"),
        (dict(fusion=("h*a", "z*a")), "cannot read 'v'"),
        (dict(gates=()), "at least one stream"),
        (dict(operation="convolution"), "hidden='encoding'"),
        (dict(encoding_gate="raw"), "hidden='encoding'"),
        (dict(action_enters="encoder"), "must not read the stream a"),
        (dict(fusion=(), gates=("h", "z"), cell=("h", "z")), "must read the stream a"),
        (dict(shared_weights=False), "prediction-independent transitions only"),
        (dict(after_warm_up="hidden"), "hidden='encoding'"),
        (dict(after_warm_up="zero", fusion=("z*a",)), "no fused stream may read z"),
    ],
)
def test_impossible_transitions_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(TransitionSpec(), **change)  # type: ignore[arg-type]


def test_equations_tell_the_variants_apart() -> None:
    texts = {name: "\n".join(equations(row.transition)) for name, row in VARIANTS.items()}
    same = {"base", "base2816"}  # differ in size only
    assert len(set(texts.values())) == len(texts) - 1
    assert {name for name in texts if texts[name] == texts["base"]} == same
    assert "v_t = W^h h_{t-1} ⊗ W^a1 a_{t-1} + W^a2 a_{t-1}" in texts["action-mul-add"]
    assert "v_t = 2C^h(h_{t-1}) ⊗ W^a a_{t-1}" in texts["h-iz2816-2conv-a"]
    assert "i_t = σ(W^iv v_t + W^iz z_{t-1} + b^i)" in texts["base"]
    assert "i_t = σ(2C^iv(v^i_t) + 2C^iz(z_{t-1}) + b^i)" in texts["2conv-da"]
    assert texts["h-iz2816"].splitlines()[6] == (
        "c_t = f_t ⊗ c_{t-1} + i_t ⊗ tanh(W^cv v_t + W^ch h_{t-1} + b^c) + iz_t ⊗ tanh(z_{t-1})"
    )
    assert "x̂_t = D(W^h h_t ⊗ W^a a_{t-1})" in texts["oh2015"]


def test_the_command_prints_json_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    main(["variants", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(VARIANTS)
    assert rows[0]["parameters"] == parameter_count(SimulatorSpec.named("base", ATARI, 18))
    kinds = {row["name"]: row["kind"] for row in rows}
    assert {name for name, kind in kinds.items() if kind == "prediction-independent"} == {
        "pi-h",
        "pi-zero",
        "pi-h-iz2816-zero",
    }
    assert rows[-1]["paper_millions"] == 95 and all(row["equations"] for row in rows)
    main(["variants", "oh2015", "base"])
    printed = capsys.readouterr().out
    assert "25.2" in printed and "W^h h_t ⊗ W^a a_{t-1}" in printed and "pi-zero" not in printed
