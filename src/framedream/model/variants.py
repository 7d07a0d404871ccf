"""The paper's state transitions by name: the baseline, then what each of the others changes in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from framedream.errors import unknown_name
from framedream.model.transition_spec import TransitionSpec

STRUCTURES = "B.1.2 Different Action-Dependent State Transitions"
INCORPORATION = "B.1.3 Action Incorporation"
INDEPENDENT = "B.1.3 Action-Independent versus Action-Dependent State Transition"
PREDICTION_INDEPENDENT = "C Prediction-Independent Simulators"


@dataclass(frozen=True)
class Variant:
    """A named transition, and what the paper calls and says of it."""

    transition: TransitionSpec
    paper_name: str
    paper_section: str
    paper_millions: int | None  # the paper's "around … M parameters"; None where it gives no number
    note: str = ""


BASE = TransitionSpec()
# Names with 2816: h and v have the size of z, which is 2816 with the Atari codec.
LARGE = replace(BASE, hidden="encoding", fused="encoding")
# The raw z enters the cell through tanh, "without RReLU after the last convolution".
RAW = replace(LARGE, encoding_gate="raw", rectified_encoding=False)
H_RAW = replace(RAW, gates=("v", "h"), cell=("v", "h"))
CONVOLUTION = replace(LARGE, operation="convolution")
TWO_CONVOLUTIONS = replace(LARGE, operation="two-convolutions")
TWO_FUSIONS = replace(BASE, fusion=("h*a", "z*a"), gates=("v1", "v2"), cell=("v1", "v2"))
ALL_FUSED = replace(BASE, fusion=("h*z*a",), gates=("v",), cell=("v",))
PLAIN_LSTM = replace(BASE, fusion=(), gates=("h", "z"), cell=("h", "z"), action_enters="encoder")

VARIANTS: dict[str, Variant] = {
    "base": Variant(BASE, "baseline", "3 Prediction-Dependent Simulators", 25),
    "base2816": Variant(LARGE, "Base2816", STRUCTURES, 80),
    "iz": Variant(replace(BASE, cell=("v",), encoding_gate="projected"), "iᶻ", STRUCTURES, 30),
    "iz2816": Variant(replace(RAW, cell=("v",)), "iᶻ2816", STRUCTURES, 88),
    "noz": Variant(replace(BASE, gates=("v",)), "¬z", STRUCTURES, 17),
    "noz-iz2816": Variant(replace(RAW, gates=("v",), cell=("v",)), "¬z–iᶻ2816", STRUCTURES, 56),
    "h": Variant(replace(BASE, gates=("v", "h"), cell=("v", "h", "z")), "h", STRUCTURES, 21),
    "h-iz": Variant(
        replace(BASE, gates=("v", "h"), cell=("v", "h"), encoding_gate="projected"), "h–iᶻ", STRUCTURES, 24
    ),
    "h-iz2816": Variant(H_RAW, "h–iᶻ2816", STRUCTURES, 95),
    "conv": Variant(CONVOLUTION, "C", STRUCTURES, 16),
    "2conv": Variant(TWO_CONVOLUTIONS, "2C", STRUCTURES, 16),
    "conv-da": Variant(replace(CONVOLUTION, fusion_per_gate=True), "CDA", STRUCTURES, 40),
    "2conv-da": Variant(replace(TWO_CONVOLUTIONS, fusion_per_gate=True), "2CDA", STRUCTURES, 40),
    "h-iz2816-2conv": Variant(replace(H_RAW, operation="two-convolutions"), "h–iᶻ2816–2C", STRUCTURES, 16),
    "h-iz2816-conv-da": Variant(
        replace(H_RAW, operation="convolution", fusion_per_gate=True), "h–iᶻ2816–CDA", STRUCTURES, 48
    ),
    "h-iz2816-2conv-da": Variant(
        replace(H_RAW, operation="two-convolutions", fusion_per_gate=True), "h–iᶻ2816–2CDA", STRUCTURES, 48
    ),
    "h-iz2816-2conv-a": Variant(
        replace(H_RAW, operation="two-convolutions", fusion_operation="two-convolutions"),
        "h–iᶻ2816–2CA",
        STRUCTURES,
        8,
    ),
    "action-mul-add": Variant(replace(BASE, fusion=("h*a + a",)), "Wʰh⊗Wᵃ¹a+Wᵃ²a", INCORPORATION, 25),
    "action-z": Variant(
        replace(BASE, fusion=("z*a",), gates=("h", "v"), cell=("h", "v")), "Wᶻz⊗Wᵃa", INCORPORATION, 22
    ),
    "action-hz": Variant(ALL_FUSED, "Wʰh⊗Wᶻz⊗Wᵃa", INCORPORATION, 19),
    "action-hz-da": Variant(replace(ALL_FUSED, fusion_per_gate=True), "W*ʰh⊗W*ᶻz⊗W*ᵃa", INCORPORATION, 43),
    "action-two": Variant(TWO_FUSIONS, "Wʰh⊗Wᵃ¹a", INCORPORATION, 28),
    "action-two-da": Variant(replace(TWO_FUSIONS, fusion_per_gate=True), "W*ʰh⊗W*ᵃ¹a", INCORPORATION, 51),
    "action-input": Variant(
        replace(BASE, fusion=(), gates=("h", "z", "a"), cell=("h", "z", "a")), "As Input", INCORPORATION, 19
    ),
    "action-planes": Variant(PLAIN_LSTM, "CA", INCORPORATION, 19),
    "oh2015": Variant(
        replace(PLAIN_LSTM, action_enters="decoder"), "action-independent, as in Oh et al. (2015)", INDEPENDENT, None
    ),
    "pi-h": Variant(
        replace(BASE, after_warm_up="hidden", shared_weights=False), "Base–z=h", PREDICTION_INDEPENDENT, 40
    ),
    "pi-zero": Variant(
        replace(BASE, after_warm_up="zero", shared_weights=False),
        "Base–z=0",
        PREDICTION_INDEPENDENT,
        40,
        "The paper's 40M is reached by 4.2M prediction weights that multiply the zero vector; they are left out here.",
    ),
    "pi-h-iz2816-zero": Variant(replace(H_RAW, after_warm_up="zero"), "h–iᶻ2816–z=0", PREDICTION_INDEPENDENT, 95),
}


def variant(name: str) -> Variant:
    """The variant of that name; a UserError with the nearest names when there is none."""
    if name not in VARIANTS:
        raise unknown_name("variant", name, VARIANTS, "framedream variants")
    return VARIANTS[name]
