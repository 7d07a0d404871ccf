"""The simulator: an encoder, a recurrent cell and a decoder behind the calls that everything else uses (section 2).

Times are the paper's: s_t is the state at t, a_t the action taken there, x_t the frame seen there, and x̂_t = 𝒟(s_t)
its prediction. A transition from s_t to s_{t+1} reads a_t and x_t (observation-dependent), x̂_t (prediction-dependent)
or no frame at all (prediction-independent).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from framedream.errors import UserError
from framedream.model.cell import Cell, Prepared, Sizes
from framedream.model.frames import Decoder, Encoder
from framedream.model.initialisation import initialise_as_torch, initialise_signal_preserving
from framedream.model.simulator_spec import SimulatorSpec
from framedream.model.statistics import FrameStatistics

__all__ = ["Simulator", "SimulatorSpec", "State", "parameter_count"]

OBSERVED, PREDICTED = "o", "p"
JUST_VISIBLE = 0.5 / 255  # a pixel that differs from the background differs by a whole byte in some channel


@dataclass(frozen=True)
class State:
    """s_t with what the next transition and the decoder need beside it; never kept inside the simulator."""

    hidden: Tensor  # (B, hidden size), flattened where the transition is convolutional
    cell: Tensor
    action: Tensor  # int64 (B,): the action that led here; zeros at s_1
    frame: Tensor | None = None  # (B,3,H,W): the frame at this time, x_τ or a prediction; None while unknown

    def seen(self, frame: Tensor) -> State:
        """The same state, with the frame that belongs to it."""
        return replace(self, frame=frame)

    def detach(self) -> State:
        """The same state, cut from the graph that led to it."""
        frame = None if self.frame is None else self.frame.detach()
        return State(self.hidden.detach(), self.cell.detach(), self.action, frame)


class Simulator(nn.Module):
    """A model of `spec`. Frames inside are float (…,3,H,W): bytes / 255 minus the statistics' background."""

    background: Tensor
    palette: Tensor | None

    def __init__(self, spec: SimulatorSpec, statistics: FrameStatistics) -> None:
        super().__init__()
        self.spec = spec
        transition, codec = spec.transition, spec.codec
        torch.broadcast_to(statistics.background, (3, codec.height, codec.width))  # or an error that says why not
        self.register_buffer("background", statistics.background.clone())
        self.register_buffer("palette", None if statistics.palette is None else statistics.palette.clone())
        random = spec.rrelu == "random"
        planes = spec.actions if transition.action_enters == "encoder" else 0
        self.encoder = Encoder(codec, transition.rectified_encoding, planes, random)
        sizes = Sizes(spec.hidden_size, spec.fused_size, codec.encoding_size, spec.actions, codec.encoding_shape)
        self.cell = Cell(transition, sizes, random)
        self.prediction_cell: Cell | None = None
        if not transition.shared_weights:
            size = spec.hidden_size if transition.after_warm_up == "hidden" else 0
            self.prediction_cell = Cell(transition, replace(sizes, encoding=size), random)
        fused = spec.fused_size if transition.action_enters == "decoder" else None
        self.decoder = Decoder(codec, spec.hidden_size, random, fused, spec.actions)
        initialise = initialise_as_torch if spec.initialisation == "torch" else initialise_signal_preserving
        initialise(self.encoder, self.decoder, [self.cell, *([self.prediction_cell] if self.prediction_cell else [])])

    @property
    def prediction_independent(self) -> bool:
        return self.spec.transition.prediction_independent

    @property
    def statistics(self) -> FrameStatistics:
        """As given, wherever the simulator has moved since; part of its `state_dict`."""
        return FrameStatistics(self.background, self.palette)

    def normalise(self, frames: Tensor) -> Tensor:
        """uint8 (…,H,W) indices or (…,H,W,3) RGB → (…,3,H,W), on the simulator's device."""
        frames = frames.to(self.background.device)
        palette = self.palette_of(frames)
        if palette is not None:
            frames = palette[frames.int()]
        return frames.movedim(-1, -3).to(self.background.dtype) / 255 - self.background

    def palette_of(self, frames: Tensor) -> Tensor | None:
        """The palette that frames (…,H,W) are indices into; None of colours (…,H,W,3). Other frames are refused."""
        size = (self.spec.codec.height, self.spec.codec.width)
        if frames.shape[-2:] == size and self.palette is not None:
            return self.palette
        if frames.shape[-3:] == (*size, 3):
            return None
        raise UserError(
            f"This simulator reads frames of {size[0]}x{size[1]} "
            f"{'RGB' if self.palette is None else 'palette indices or RGB'}, not {tuple(frames.shape)}."
        )

    def knows_palette(self, palette: np.ndarray | None) -> bool:
        """Whether indices into this palette mean what they did in training; RGB frames (None) always do."""
        if palette is None:
            return True
        return self.palette is not None and np.array_equal(self.palette.cpu().numpy(), palette)

    def picture(self, frames: Tensor) -> Tensor:
        """Frames as states hold them (N,…) → (N,3,H,W): the same here, but doubles hold them in forms of their own."""
        return frames

    def frames_of(self, pictures: Tensor) -> Tensor:
        """The way back, from (N,3,H,W) to frames as states hold them."""
        return pictures

    def to_bytes(self, frames: Tensor) -> Tensor:
        """(…,3,H,W) → uint8 (…,H,W,3) RGB to look at: clamped and rounded."""
        return ((frames + self.background) * 255).round().clamp(0, 255).to(torch.uint8).movedim(-3, -1)

    def error(self, predictions: Tensor, frames: Tensor, moving_weight: float = 1.0) -> Tensor:
        """Σ‖x - x̂‖²/3 of frames (B,T,…), averaged over sequences and steps: the paper's prediction error, in training.

        With a `moving_weight`, pixels that differ from the background (which is 0 here) count that many times.
        """
        squares = (predictions.float() - frames).square()
        if moving_weight != 1:
            moving = (frames.abs() > JUST_VISIBLE).any(dim=2, keepdim=True)
            squares = squares * torch.where(moving, moving_weight, 1.0)
        return squares.sum(dim=(2, 3, 4)).mean() / 3

    def initial_state(self, batch: int) -> State:
        """s_1 = 0."""
        zeros = self.cell.bias.new_zeros(batch, self.spec.hidden_size)
        return State(zeros, zeros, torch.zeros(batch, dtype=torch.int64, device=zeros.device))

    def warm_up(self, frames: Tensor, actions: Tensor) -> State:
        """x_1…x_τ (B,τ,3,H,W) and a_1…a_{τ-1} (B,τ-1) → s_τ, whose frame is x_τ."""
        state = self.initial_state(frames.shape[0])
        return [state, *self.observe(state, frames[:, :-1], actions)][-1].seen(frames[:, -1])

    def advance(self, state: State, action: Tensor, observed: Tensor | None = None) -> State:
        """s_{t+1} from s_t and a_t, reading x_t when it is given, else the state's own frame or prediction."""
        if observed is not None:
            return self._step(state, action, self._prepare_frames(observed, action))
        if self.prediction_independent:
            return self._step_blind(state, action)
        frame = self.decode(state) if state.frame is None else state.frame
        return self._step(state, action, self._prepare_frames(frame, action))

    def decode(self, state: State) -> Tensor:
        """x̂_t (B,3,H,W), unclamped."""
        frames: Tensor = self.decoder(state.hidden, self._one_hot(state.action))
        return frames

    def step(self, state: State, action: Tensor) -> State:
        """One action further, with the frame that is predicted there."""
        state = self.advance(state, action)
        return state.seen(self.decode(state))

    def observe(self, state: State, frames: Tensor, actions: Tensor) -> list[State]:
        """`advance` with observed frames x_t… (B,L,3,H,W) and actions a_t… (B,L), encoded at once: s_{t+1}…s_{t+L}."""
        states: list[State] = []
        for action, prepared in zip(actions.unbind(1), self._prepare_sequence(frames, actions), strict=True):
            state = self._step(state, action, prepared)
            states.append(state)
        return states

    def unroll(
        self, state: State, actions: Tensor, feed: str | None = None, observed: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Predict one frame per action: x̂_{τ+1}…x̂_{τ+T} (B,T,3,H,W), and s_{τ+T} with the last of them.

        `feed` has a letter per action: "o" reads that position's `observed` frame, "p" the state's own frame or
        prediction. Frames are encoded and decoded together wherever no prediction has to be waited for.
        """
        predictions, states = self.unroll_states(state, actions, feed, observed)
        return predictions, states[-1]

    def unroll_states(
        self, state: State, actions: Tensor, feed: str | None = None, observed: Tensor | None = None
    ) -> tuple[Tensor, list[State]]:
        """The same predictions, and all states s_{τ+1}…s_{τ+T}; the last one has its frame."""
        length = actions.shape[1]
        if self.prediction_independent:
            states = self._steps_blind(state, actions)
            predictions = self._decode_all(states)
            return predictions, [*states[:-1], states[-1].seen(predictions[:, -1])]
        feed = PREDICTED * length if feed is None else feed
        if len(feed) != length or not set(feed) <= {OBSERVED, PREDICTED}:
            raise ValueError(f"feed must be {length} letters o or p, not {feed!r}")
        prepared = self._prepare_observed(feed, actions, observed)
        states = []
        for position, action in enumerate(actions.unbind(1)):
            if feed[position] == PREDICTED:
                state = self.advance(state, action)
            else:
                state = self._step(state, action, prepared[position])
            if feed[position + 1 : position + 2] == PREDICTED:  # the next transition waits for this prediction
                state = state.seen(self.decode(state))
            states.append(state)
        late = iter(self._decode_all([state for state in states if state.frame is None]).unbind(1))
        frames = [next(late) if state.frame is None else state.frame for state in states]
        return torch.stack(frames, dim=1), [*states[:-1], states[-1].seen(frames[-1])]

    def jump(self, state: State, actions: Tensor) -> State:
        """s_{t+T} without the frames on the way: prediction-independent simulators decode nothing at all."""
        if self.prediction_independent:
            return self._steps_blind(state, actions)[-1]
        for action in actions.unbind(1):
            state = self.advance(state, action)
        return state

    def _step(self, state: State, action: Tensor, prepared: Prepared, cell: Cell | None = None) -> State:
        hidden, memory = (cell or self.cell)(state.hidden, state.cell, prepared)
        return State(hidden, memory, action)

    def _step_blind(self, state: State, action: Tensor) -> State:
        """A prediction-independent transition: z is h or zero (appendix C)."""
        cell = self.prediction_cell or self.cell
        encoding = state.hidden if self.spec.transition.after_warm_up == "hidden" else None
        return self._step(state, action, cell.prepare(encoding, self._one_hot(action)), cell)

    def _steps_blind(self, state: State, actions: Tensor) -> list[State]:
        states: list[State] = []
        for action in actions.unbind(1):
            state = self._step_blind(state, action)
            states.append(state)
        return states

    def _prepare_frames(self, frames: Tensor, actions: Tensor) -> Prepared:
        one_hot = self._one_hot(actions)
        return self.cell.prepare(self.encoder(frames, one_hot), one_hot)

    def _prepare_sequence(self, frames: Tensor, actions: Tensor) -> list[Prepared]:
        """Encode (B,L,3,H,W) at once and split the result over time."""
        if actions.shape[1] == 0:
            return []
        return self._prepare_frames(frames.flatten(0, 1), actions.flatten()).over_time(actions.shape[0])

    def _prepare_observed(self, feed: str, actions: Tensor, observed: Tensor | None) -> dict[int, Prepared]:
        positions = [position for position, letter in enumerate(feed) if letter == OBSERVED]
        if not positions:
            return {}
        if observed is None:
            raise ValueError(f"feed {feed!r} reads observed frames, but none were given")
        # Stacked, because indexing with a list would copy it to the device, which a CUDA graph cannot capture.
        frames = torch.stack([observed[:, position] for position in positions], dim=1)
        taken = torch.stack([actions[:, position] for position in positions], dim=1)
        return dict(zip(positions, self._prepare_sequence(frames, taken), strict=True))

    def _decode_all(self, states: list[State]) -> Tensor:
        """x̂ of several states at once (B,T,3,H,W)."""
        hidden = torch.stack([state.hidden for state in states], dim=1)
        actions = torch.stack([state.action for state in states], dim=1)
        frames: Tensor = self.decoder(hidden.flatten(0, 1), self._one_hot(actions.flatten()))
        return frames.reshape(*hidden.shape[:2], *frames.shape[1:])

    def _one_hot(self, actions: Tensor) -> Tensor:
        return functional.one_hot(actions, self.spec.actions).to(self.cell.bias.dtype)


def parameter_count(spec: SimulatorSpec) -> int:
    """The number of parameters, without allocating them."""
    with torch.device("meta"):
        simulator = Simulator(spec, FrameStatistics(torch.zeros(3, 1, 1), None))
    return sum(parameter.numel() for parameter in simulator.parameters())
