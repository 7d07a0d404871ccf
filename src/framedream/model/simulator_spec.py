"""Everything that determines a simulator's architecture, as data that survives a round trip through JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from framedream.errors import UserError
from framedream.model.codec_spec import CodecSpec
from framedream.model.transition_spec import TransitionSpec, Width
from framedream.model.variants import variant

Initialisation = Literal["torch", "signal-preserving"]
Rectifier = Literal["random", "fixed"]


@dataclass(frozen=True)
class SimulatorSpec:
    """A codec and a transition for a number of actions, and how the parameters and RReLU slopes are drawn."""

    variant: str  # the name it is known by; the transition may have been altered since
    transition: TransitionSpec
    codec: CodecSpec
    actions: int
    initialisation: Initialisation = "torch"
    rrelu: Rectifier = "random"  # "fixed": training uses the slopes' mean, as evaluation always does

    def __post_init__(self) -> None:
        if self.actions < 1:
            raise UserError(f"A simulator needs at least one action, not {self.actions}.")

    @classmethod
    def named(
        cls,
        name: str,
        codec: CodecSpec,
        actions: int,
        initialisation: Initialisation = "torch",
        rrelu: Rectifier = "random",
    ) -> SimulatorSpec:
        """One of the paper's variants."""
        return cls(name, variant(name).transition, codec, actions, initialisation, rrelu)

    @property
    def hidden_size(self) -> int:
        return self._resolve(self.transition.hidden)

    @property
    def fused_size(self) -> int:
        return self._resolve(self.transition.fused)

    def _resolve(self, width: Width) -> int:
        return self.codec.encoding_size if width == "encoding" else width

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SimulatorSpec:
        """The spec of `to_json`, before or after it went through a JSON file."""
        try:
            parts = dict(data)
            transition = TransitionSpec.from_json(parts.pop("transition"))
            codec = CodecSpec.from_json(parts.pop("codec"))
            return cls(transition=transition, codec=codec, **parts)
        except (TypeError, KeyError, IndexError, AttributeError) as error:
            raise UserError(
                f"The simulator's configuration cannot be read ({error}); "
                "it is damaged or was written by another version of framedream."
            ) from error
