"""A transition's equations in plain text, in the paper's notation, read off its spec.

C, D and A stand for the paper's script letters: convolutions, the decoder and the action planes.
"""

from __future__ import annotations

from framedream.model.transition_spec import TransitionSpec

OPERATION_SYMBOLS = {"dense": "W", "convolution": "C", "two-convolutions": "2C"}
PREVIOUS = {"h": "h_{t-1}", "z": "z_{t-1}", "a": "a_{t-1}"}


def equations(spec: TransitionSpec) -> list[str]:
    """From the frame to the encoding, the state and the next frame, one line each."""
    gates = [f"{gate}_t = σ({_sum(spec, gate, spec.gates)} + b^{gate})" for gate in spec.gate_names]
    return [*_encoding(spec), *_fusions(spec), *gates, _cell(spec), "h_t = o_t ⊗ tanh(c_t)", _decoding(spec)]


def _encoding(spec: TransitionSpec) -> list[str]:
    linear = "" if spec.rectified_encoding else ", without RReLU after the last convolution"
    if not spec.prediction_independent:
        frame = "x̂_{t-1} or x_{t-1}"
        if spec.action_enters == "encoder":
            frame = f"A({frame}, a_{{t-1}})"
        return [f"z_{{t-1}} = C({frame}){linear}"]
    later = "h_{t-1}" if spec.after_warm_up == "hidden" else "0"
    weights = "the same" if spec.shared_weights else "other"  # than in the warm-up
    return [
        f"z_{{t-1}} = C(x_{{t-1}}){linear} up to t-1 = τ-1",
        f"z_{{t-1}} = {later} from t-1 = τ on, with {weights} W and b",
    ]


def _fusions(spec: TransitionSpec) -> list[str]:
    lines = []
    for name, products in spec.fused_streams.items():
        subscript = name.removeprefix("v")
        star = "*" if spec.fusion_per_gate else ""
        terms = []
        for number, factors in enumerate(products, start=1):
            # Two fusions, or two products of one, have two different matrices for the action.
            index = subscript or (str(number) if len(products) > 1 else "")
            terms.append(" ⊗ ".join(_factor(spec, factor, star, index) for factor in factors))
        copies = f", for * = {', '.join((*spec.gate_names, 'c'))}" if star else ""
        lines.append(f"{_fused(name, star)} = {' + '.join(terms)}{copies}")
    return lines


def _factor(spec: TransitionSpec, factor: str, star: str, index: str) -> str:
    label = f"{star}{factor}{index if factor == 'a' else ''}"
    return _apply(spec.fusion_operation if factor == "h" else "dense", label, PREVIOUS[factor])


def _sum(spec: TransitionSpec, reader: str, streams: tuple[str, ...]) -> str:
    """What a gate or the cell update sums up over the streams it reads."""
    terms = []
    for stream in streams:
        label = f"{{{reader},{stream}}}" if len(reader) > 1 else f"{reader}{stream}"
        value = PREVIOUS.get(stream) or _fused(stream, reader if spec.fusion_per_gate else "")
        terms.append(_apply("dense" if stream == "a" else spec.operation, label, value))
    return " + ".join(terms)


def _cell(spec: TransitionSpec) -> str:
    update = f"c_t = f_t ⊗ c_{{t-1}} + i_t ⊗ tanh({_sum(spec, 'c', spec.cell)} + b^c)"
    if spec.encoding_gate == "none":
        return update
    encoding = "z_{t-1}" if spec.encoding_gate == "raw" else "W^cz z_{t-1} + b^cz"
    return f"{update} + iz_t ⊗ tanh({encoding})"


def _decoding(spec: TransitionSpec) -> str:
    return "x̂_t = D(W^h h_t ⊗ W^a a_{t-1})" if spec.action_enters == "decoder" else "x̂_t = D(h_t)"


def _fused(name: str, gate: str) -> str:
    return f"{name}^{gate}_t" if gate else f"{name}_t"


def _apply(operation: str, label: str, value: str) -> str:
    symbol = OPERATION_SYMBOLS[operation]
    return f"{symbol}^{label} {value}" if operation == "dense" else f"{symbol}^{label}({value})"
