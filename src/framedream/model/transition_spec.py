"""State transitions as data: every transition of the paper is one `TransitionSpec` (appendix B).

Streams are what a transition reads: `h` (the state), `z` (the encoded frame), `a` (the one-hot action) and the fused
streams, `v` when there is one, `v1`, `v2`, … when there are several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from framedream.errors import UserError

Width = int | Literal["encoding"]
Operation = Literal["dense", "convolution", "two-convolutions"]
SOURCES = ("h", "z", "a")


@dataclass(frozen=True)
class TransitionSpec:
    """s_t = f(s_{t-1}, a_{t-1}, z_{t-1}); the defaults are the paper's baseline (Eqs. 1-5)."""

    hidden: Width = 1024  # size of h and c; "encoding" means the size (and shape) of z
    fused: Width = 2048  # size of every fused stream
    fusion: tuple[str, ...] = ("h*a",)  # per fused stream a sum of products: "h*a" means W^h h ⊗ W^a a
    fusion_operation: Operation = "dense"  # what h meets in a fusion
    fusion_per_gate: bool = False  # the paper's "DA": every gate and the cell fuse with matrices of their own
    gates: tuple[str, ...] = ("v", "z")  # streams that every gate reads
    cell: tuple[str, ...] = ("v", "z")  # streams that the cell update reads
    operation: Operation = "dense"  # what these streams meet: W, 𝒞 or 2𝒞
    # A gate iᶻ of its own for the encoded frame: adds iᶻ ⊗ tanh(W z) ("projected") or iᶻ ⊗ tanh(z) ("raw") to the cell.
    encoding_gate: Literal["none", "projected", "raw"] = "none"
    rectified_encoding: bool = True  # RReLU after the last convolution of the encoder
    after_warm_up: Literal["frame", "hidden", "zero"] = "frame"  # what z is from t-1 = τ on: 𝒞(frame), h or 0
    shared_weights: bool = True  # warm-up and prediction use the same weights
    action_enters: Literal["transition", "encoder", "decoder"] = "transition"  # planes: encoder; Oh et al.: decoder

    @property
    def prediction_independent(self) -> bool:
        return self.after_warm_up != "frame"

    @property
    def fused_streams(self) -> dict[str, list[list[str]]]:
        """Name of each fused stream → its products → their factors."""
        names = ["v"] if len(self.fusion) == 1 else [f"v{number}" for number in range(1, len(self.fusion) + 1)]
        return {name: _products(text) for name, text in zip(names, self.fusion, strict=True)}

    @property
    def gate_names(self) -> tuple[str, ...]:
        """Input, forget and output gate, and the encoded frame's own gate where there is one."""
        return ("i", "f", "o") if self.encoding_gate == "none" else ("i", "f", "o", "iz")

    def __post_init__(self) -> None:
        for name in ("hidden", "fused"):
            size = getattr(self, name)
            if size != "encoding" and size < 1:
                raise UserError(f"A transition's {name} size must be at least 1 or the word 'encoding', not {size}.")
        self._check_streams()
        self._check_shapes()
        self._check_action()
        self._check_prediction_phase()

    def _check_streams(self) -> None:
        fused = self.fused_streams
        for name, products in fused.items():
            for factors in products:
                if not set(factors) <= set(SOURCES) or factors == ["h"]:
                    raise UserError(
                        f"The fused stream {name} must be a sum of products of h, z and a, each with z or a, "
                        f"such as 'h*a + a', not {'*'.join(factors)!r}."
                    )
        readable = (*SOURCES, *fused)
        for readers in ("gates", "cell"):
            for stream in getattr(self, readers):
                if stream not in readable:
                    raise UserError(f"The {readers} cannot read {stream!r}; choose from {', '.join(readable)}.")
        unread = [name for name in fused if name not in (*self.gates, *self.cell)]
        if unread:
            raise UserError(f"Nothing reads the fused stream {unread[0]}; let the gates or the cell read it.")
        if not self.gates or not self.cell:
            raise UserError("The gates and the cell must each read at least one stream.")

    def _check_shapes(self) -> None:
        convolutional = self.operation != "dense" or self.fusion_operation != "dense"
        if convolutional and (self.hidden != "encoding" or (self.fusion and self.fused != "encoding")):
            raise UserError("A convolutional transition needs hidden='encoding' and fused='encoding'.")
        if self.encoding_gate == "raw" and self.hidden != "encoding":
            raise UserError("A raw encoding gate adds tanh(z) to the cell and needs hidden='encoding'.")

    def _check_action(self) -> None:
        factors = {factor for products in self.fused_streams.values() for product in products for factor in product}
        reads_action = "a" in factors | set(self.gates) | set(self.cell)
        if reads_action != (self.action_enters == "transition"):
            raise UserError(
                f"The action enters by the {self.action_enters}, "
                f"so the transition must {'' if self.action_enters == 'transition' else 'not '}read the stream a."
            )

    def _check_prediction_phase(self) -> None:
        if self.after_warm_up == "hidden" and self.shared_weights and self.hidden != "encoding":
            raise UserError("Reading h in the place of z with shared weights needs hidden='encoding'.")
        if not self.prediction_independent and not self.shared_weights:
            raise UserError("Weights of its own for prediction are for prediction-independent transitions only.")
        if self.prediction_independent and self.action_enters != "transition":
            raise UserError("A prediction-independent transition must read the action itself.")
        if self.after_warm_up == "zero" and any("z" in text for text in self.fusion):
            raise UserError("With z = 0 after the warm-up no fused stream may read z.")

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TransitionSpec:
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        return cls(**fields)


def _products(text: str) -> list[list[str]]:
    return [[factor.strip() for factor in product.split("*")] for product in text.split("+")]
