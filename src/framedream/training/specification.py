"""One training run as data: the simulator, the scheme, the optimiser and how often to look. No torch here."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from framedream.errors import UserError, unknown_name
from framedream.model.codec_spec import codec_for
from framedream.model.heads_spec import read_head_names
from framedream.model.simulator_spec import Initialisation, Rectifier, SimulatorSpec
from framedream.training.scheme import MODERN, Scheme, named_scheme

Background = Literal["channel-mean", "mean-image", "median-image"]


@dataclass(frozen=True)
class RunSpec:
    """Every choice of a training run; the defaults are the paper's (section 3.1 and appendix A)."""

    variant: str = "base"
    """State transition (`framedream variants`)."""
    hidden: int | None = None
    """Size of h and c, where the variant leaves it free; None: the paper's 1024."""
    fused: int | None = None
    """Size of v, where the variant leaves it free; None: the paper's 2048."""
    filters: float = 1.0
    """Multiplies the filters of the frame encoder and decoder."""
    initialisation: Initialisation = "torch"
    """How parameters are drawn: as Torch does by default, or so that small objects reach the output from the start."""
    rrelu: Rectifier = "random"
    """Slopes of the rectifiers in training: random as in the paper, or fixed at their mean."""
    background: Background = "channel-mean"
    """What is subtracted from every frame."""

    scheme: str = "pdt-0-100"
    """Training scheme (`framedream schemes`)."""
    prediction_length: int | None = None
    """T, predicted steps per update; None: the scheme's own."""
    segments: int = 1
    """n of BPTT(T, n): stretches of T steps per sequence, an update after each."""
    warm_up: int = 10
    """τ, observed frames before the first prediction."""
    warm_up_grad: int | Literal["auto"] | None = "auto"
    """Frame from which on the warm-up is trained; auto: the middle for prediction-independent variants, else None."""
    phase_scale: float = 1.0
    """Multiplies the updates of all phases but the last: a scheme of long phases in a short run."""
    updates: int = 500_000
    """Parameter updates in all."""

    batch_size: int = 16
    """Sequences per update."""
    cross_episodes: bool = False
    """Let sequences run over the end of an episode into the next one."""
    optimiser: Literal["rmsprop", "adamw"] = "rmsprop"
    """The paper's centred RMSProp, or AdamW."""
    learning_rate: float = 1e-5
    """Learning rate; in a scheme of several phases that of the last one."""
    early_learning_rate: float | None = None
    """Learning rate of the phases before the last one; None: the same."""
    final_learning_rate: float | None = None
    """Where the last phase's rate decays to, along a cosine; None: no decay."""
    learning_rate_warm_up: int = 0
    """Updates at the start of each phase over which the rate rises to its value."""
    clip: bool = False
    """Scale gradients down to twice the running average of their norm."""
    loss_scale: float = 1.0
    """Multiplies the gradient of the loss (the paper does not state its scale, which RMSProp's ε makes matter)."""
    moving_weight: float = 1.0
    """How many times pixels count that differ from the median image; small objects are learnt sooner."""
    heads: str | None = None
    """What else to predict from the state: reward, end, or reward,end. Frames are learnt as if it were nothing."""
    precision: Literal["float32", "bfloat16"] = "bfloat16"
    """Arithmetic on a GPU, and on a CPU that multiplies bfloat16 itself; parameters stay float32."""
    seed: int = 0
    """Decides the initial parameters, the batches and the random slopes."""

    log_every: int = 20
    """Updates between lines of metrics.jsonl."""
    evaluate_every: int = 5_000
    """Updates between measurements on train and test sequences; 0: never."""
    evaluation_sequences: int = 64
    """Sequences per measurement and split."""
    evaluation_horizon: int = 100
    """Steps predicted in a measurement."""
    checkpoint_every: int = 5_000
    """Updates between checkpoints."""
    keep_checkpoints: int = 3
    """Newest checkpoints to keep, beside the best; 0: all of them."""
    shard_size: int | None = None
    """Largest megabytes of one file of weights; None: one file."""

    def __post_init__(self) -> None:
        for name in ("updates", "batch_size", "log_every", "evaluation_sequences", "evaluation_horizon"):
            self._at_least(name, 1)
        for name in ("evaluate_every", "keep_checkpoints", "learning_rate_warm_up", "seed"):
            self._at_least(name, 0)
        for name in ("hidden", "fused", "shard_size", "checkpoint_every"):
            if getattr(self, name) is not None:
                self._at_least(name, 1)
        for name in ("filters", "learning_rate", "early_learning_rate", "loss_scale", "phase_scale", "moving_weight"):
            self._finite(name, above_zero=True)
        self._finite("final_learning_rate", above_zero=False)
        if self.moving_weight != 1 and self.background != "median-image":
            raise UserError("--moving-weight needs --background median-image, which says what has not moved.")
        if self.heads is not None:
            read_head_names(self.heads)
        if self.seed >= 2**63:
            raise UserError(f"--seed must be below 2**63, not {self.seed}.")

    def _finite(self, name: str, *, above_zero: bool) -> None:
        value = getattr(self, name)
        if value is not None and not (math.isfinite(value) and (value > 0 if above_zero else value >= 0)):
            bound = "above 0" if above_zero else "at least 0"
            raise UserError(f"{_option(name)} must be {bound} and finite, not {value}.")

    def _at_least(self, name: str, least: int) -> None:
        if getattr(self, name) < least:
            raise UserError(f"{_option(name)} must be at least {least}, not {getattr(self, name)}.")

    def simulator(self, height: int, width: int, actions: int) -> SimulatorSpec:
        """The simulator this run trains on frames of that size."""
        codec = codec_for(height, width).scaled(self.filters)
        spec = SimulatorSpec.named(self.variant, codec, actions, self.initialisation, self.rrelu)
        transition = spec.transition
        if self.hidden is not None and transition.hidden != "encoding":
            transition = replace(transition, hidden=self.hidden)
        if self.fused is not None and transition.fused != "encoding":
            transition = replace(transition, fused=self.fused)
        return replace(spec, transition=transition)

    def phases(self, prediction_independent: bool) -> Scheme:
        """The scheme with this run's lengths."""
        warm_up_grad = self.warm_up_grad
        if warm_up_grad == "auto":
            # Section 4: back to time-step five of ten, for prediction-independent simulators only: nothing else
            # would teach them to encode frames.
            warm_up_grad = (self.warm_up + 1) // 2 if prediction_independent else None
        scheme = named_scheme(
            self.scheme,
            prediction_length=self.prediction_length,
            segments=self.segments,
            warm_up=self.warm_up,
            warm_up_grad=warm_up_grad,
        )
        if prediction_independent and self.scheme == MODERN:
            # There is no observation-dependent start for transitions that read no observation.
            scheme = replace(scheme, phases=scheme.phases[-1:])
        return scheme.scaled(self.phase_scale)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RunSpec:
        known = {field.name for field in fields(cls)}
        for name in data:
            if name not in known:
                raise unknown_name("field of a training run", name, known, "framedream train --help")
        return cls(**data)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
