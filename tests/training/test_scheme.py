"""Schemes as the paper words them, at any length, and how they fill a run."""

from __future__ import annotations

import json

import pytest

from framedream.cli import main
from framedream.errors import UserError
from framedream.training.scheme import SCHEMES, Phase, Scheme, feed_at_length, named_scheme

# Typed from the paper's section 3.1: per phase its updates (None: the remaining ones), how many of the first
# time-steps are observation-dependent, and T.
PAPER = {
    "pdt-0": [(None, 15, 15)],
    "pdt-33": [(None, 10, 15)],
    "pdt-0-20-33": [(10_000, 15, 15), (100_000, 12, 15), (None, 10, 15)],
    "pdt-46": [(None, 8, 15)],
    "pdt-67": [(None, 5, 15)],
    "pdt-0-100": [(1_000, 15, 15), (None, 0, 15)],
    "pdt-100": [(None, 0, 15)],
    "oh2015": [(500_000, 10, 10), (250_000, 0, 3), (750_000, 0, 5)],
}


@pytest.mark.parametrize("name", PAPER)
def test_phases_are_those_of_the_paper(name: str) -> None:
    expected = [(updates, "o" * leading + "p" * (steps - leading)) for updates, leading, steps in PAPER[name]]
    assert [(phase.updates, phase.feed) for phase in SCHEMES[name].phases] == expected
    assert all((phase.segments, phase.warm_up, phase.warm_up_grad) == (1, 10, None) for phase in SCHEMES[name].phases)


def test_the_alternating_scheme_alternates() -> None:
    (phase,) = SCHEMES["pdt-46-alt"].phases
    assert phase.feed == "opopopopopopopo"
    assert named_scheme("pdt-46-alt", prediction_length=10).phases[0].feed == "opopopopop"


def test_every_scheme_of_the_paper_is_there() -> None:
    assert set(SCHEMES) == set(PAPER) | {"pdt-46-alt", "modern"}


@pytest.mark.parametrize("length", range(1, 26))
@pytest.mark.parametrize(
    ("name", "percent"), [("pdt-0", 0), ("pdt-33", 100 / 3), ("pdt-46", 140 / 3), ("pdt-67", 200 / 3), ("pdt-100", 100)]
)
def test_other_lengths_keep_the_fraction(name: str, percent: float, length: int) -> None:
    (phase,) = named_scheme(name, prediction_length=length).phases
    assert phase.prediction_length == length
    leading = len(phase.feed) - len(phase.feed.lstrip("o"))
    assert phase.feed == "o" * leading + "p" * (length - leading)
    assert abs(leading - length * (1 - percent / 100)) <= 0.5


def test_no_rounding_error_decides_a_letter() -> None:
    # 15 · (1 - 1/3) is 10.000000000000002 in floating point; halves cannot occur for thirds and fifteenths.
    assert feed_at_length("o" * 10 + "p" * 5, 20) == "o" * 13 + "p" * 7
    assert feed_at_length("o" * 12 + "p" * 3, 10) == "o" * 8 + "p" * 2


def test_lengths_of_oh_et_al_are_their_own() -> None:
    with pytest.raises(UserError, match="10, 3, 5"):
        named_scheme("oh2015", prediction_length=15)


def test_options_reach_every_phase() -> None:
    scheme = named_scheme("pdt-0-20-33", segments=2, warm_up=25, warm_up_grad=5)
    assert {(phase.segments, phase.warm_up, phase.warm_up_grad) for phase in scheme.phases} == {(2, 25, 5)}
    assert scheme.phases[0].sequence_length == 25 + 2 * 15


def test_the_modern_start_trains_its_own_warm_up() -> None:
    start, rest = named_scheme("modern", warm_up=8, segments=2).phases
    assert (start.warm_up, start.warm_up_grad, start.segments) == (2, 1, 1)
    assert start.sequence_length == 17  # and every frame from the third on is predicted
    assert (rest.warm_up, rest.warm_up_grad, rest.segments) == (8, None, 2)


def stretches(scheme: Scheme, updates: int) -> list[tuple[int, int]]:
    return [(first, end) for _, first, end in scheme.stretches(updates)]


def test_phases_fill_a_run() -> None:
    scheme = named_scheme("pdt-0-20-33")
    assert stretches(scheme, 9_000) == [(0, 9_000)]
    assert stretches(scheme, 10_000) == [(0, 10_000)]
    assert stretches(scheme, 500_000) == [(0, 10_000), (10_000, 110_000), (110_000, 500_000)]


def test_the_last_phase_lasts_as_long_as_the_run() -> None:
    assert stretches(named_scheme("oh2015"), 2_000_000)[-1] == (750_000, 2_000_000)


def test_scaled_phases_keep_their_order_and_at_least_one_update() -> None:
    scaled = named_scheme("pdt-0-20-33").scaled(0.0001)
    assert [phase.updates for phase in scaled.phases] == [1, 10, None]


def test_frames_seen_are_the_papers_200_million() -> None:
    (phase,) = named_scheme("pdt-100").phases
    with_warm_up, without = phase.frames_seen(batch_size=16, segment=0)
    assert (500_000 * with_warm_up, without) == (200_000_000, 16 * 15)
    # A second segment does not see the warm-up again.
    assert phase.frames_seen(batch_size=16, segment=1) == (16 * 15, 16 * 15)


@pytest.mark.parametrize(
    "wrong",
    [
        dict(updates=None, feed=""),
        dict(updates=None, feed="opx"),
        dict(updates=0, feed="o"),
        dict(updates=1, feed="o", segments=0),
        dict(updates=1, feed="o", warm_up=0),
        dict(updates=1, feed="o", warm_up=4, warm_up_grad=5),
        dict(updates=1, feed="o", warm_up_grad=0),
    ],
)
def test_impossible_phases_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UserError):
        Phase(**wrong)  # type: ignore[arg-type]


def test_an_unknown_scheme_names_the_nearest() -> None:
    with pytest.raises(UserError, match="pdt-100"):
        named_scheme("pdt100")


def test_schemes_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["schemes", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(SCHEMES)
    assert [phase["updates"] for phase in rows["oh2015"]["phases"]] == [500_000, 250_000, 750_000]
    assert rows["pdt-33"]["fraction"] == pytest.approx(1 / 3, abs=1e-4)
    assert rows["pdt-0-20-33"]["phases"][1]["fraction"] == 0.2


def test_schemes_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["schemes"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in SCHEMES)
