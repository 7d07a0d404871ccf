"""One game: a dream, the real environment beside it, moments to come back to, and all it takes to play it again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framedream import __version__
from framedream.agents import make_policy
from framedream.agents.policy import Policy
from framedream.errors import UserError
from framedream.model.simulator import State
from framedream.use.play.familiarity import RECENT, STRANGE
from framedream.use.play.score import ScoreCard
from framedream.use.play.stage import Stage
from framedream.use.play.twin import Twin
from framedream.use.starts import Start

MOST_MOMENTS = 24
MOST_STEPS = 200_000
"""Of one dream: two and a half hours at 20 frames per second."""
SESSION_FORMAT = 1


@dataclass(frozen=True)
class Seen:
    """What there is to see after a step."""

    step: int
    """Steps since the last real frame, x_τ."""
    dream: NDArray[np.uint8]
    real: NDArray[np.uint8] | None
    real_over: bool
    error: float | None
    """Prediction error of this frame, where there is a real one."""
    usual: float | None
    """What the evaluation measured at this step."""
    strangeness: float | None

    @property
    def strange(self) -> bool:
        """Whether the player has left what the training data did."""
        return self.strangeness is not None and self.strangeness >= STRANGE


@dataclass(frozen=True)
class Moment:
    """A saved place: the state, and how many of the actions led to it."""

    state: State
    actions: tuple[int, ...]
    digest: str


class Game:
    """Not for several threads at once."""

    # Of the dream being played; `_begin` sets all of them.
    _start: Start
    _seed: int
    _state: State
    _actions: list[int]
    _digest: str
    _moments: dict[int, Moment]
    _saved: int
    _broken_at: int | None

    def __init__(self, stage: Stage, seed: int = 0) -> None:
        self.stage = stage
        self.score = ScoreCard()
        self._twin = None if stage.twin is None else Twin(stage.twin())
        self._policy: Policy | None = None
        self.restart(seed)

    def restart(self, seed: int) -> Seen:
        """A new dream from the start that belongs to a seed."""
        return self._begin(self.stage.starts.draw(np.random.default_rng(seed)), seed)

    def step(self, action: int) -> Seen:
        """One action further."""
        if not 0 <= action < self.stage.dreamer.actions:
            raise UserError(
                f"There is no action {action}; they are numbered from 0 to {self.stage.dreamer.actions - 1}."
            )
        if len(self._actions) >= MOST_STEPS:
            raise UserError(f"A dream of {MOST_STEPS:,} steps is long enough: start a new one.")
        self._state = self.stage.dreamer.step(self._state, [action])
        self._actions.append(action)
        if self._twin is not None:
            self._twin.step(action)
        seen = self.seen()
        self._digest = _chained(self._digest, seen.dream)
        self.score.stepped(seen.step, self._broken_at is not None, seen.strange)
        return seen

    def seen(self) -> Seen:
        """What there is to see now."""
        twin, step = self._twin, len(self._actions)
        real = None if twin is None else twin.frame
        familiar = self.stage.familiarity
        return Seen(
            step=step,
            dream=self.stage.dreamer.look(self._state)[0],
            real=real,
            real_over=twin is not None and twin.over,
            error=None if real is None or step == 0 else self._error(real),
            usual=self.stage.usual_error(step),
            strangeness=None if familiar is None or step == 0 else familiar.strangeness(self._recent_actions()),
        )

    @property
    def steps(self) -> int:
        """Steps since the last real frame."""
        return len(self._actions)

    def save(self) -> int:
        """Remember this moment; returns its number. The oldest is forgotten when there are too many."""
        self._saved += 1
        self._moments[self._saved] = Moment(self._state, tuple(self._actions), self._digest)
        if len(self._moments) > MOST_MOMENTS:
            self._moments.pop(min(self._moments))
        return self._saved

    def go_back(self, number: int) -> Seen:
        """To a moment of this dream; what follows is another branch."""
        if number not in self._moments:
            raise UserError(f"There is no saved moment {number}.")
        moment = self._moments[number]
        self._state, self._actions, self._digest = moment.state, list(moment.actions), moment.digest
        self._broken_at = None
        if self._twin is not None:
            self._twin.enter(self._start, self._actions)
        return self.seen()

    def mark(self, words: str = "") -> None:
        """It broke here."""
        self._broken_at = step = len(self._actions)
        self.score.mark(step, words)

    def let_play(self, policy: str | None) -> None:
        """Hand the controls to a policy, or back to the player with None."""
        if policy is None:
            self._policy = None
            return
        if self._twin is None:
            raise UserError(f"A policy needs the real environment beside the dream ({self.stage.no_twin}).")
        if policy not in self.stage.policies:
            raise UserError(f"Here one of these can play: {', '.join(self.stage.policies)}.")
        chosen = make_policy(policy, self._twin.environment)
        chosen.begin(self._seed, self.stage.dreamer.actions)
        self._policy = chosen

    @property
    def plays_itself(self) -> bool:
        """Whether a policy is at the controls."""
        return self._policy is not None

    def policy_action(self) -> int | None:
        """What the policy does next; None where the player is at the controls, or reality is over."""
        if self._policy is None or self._twin is None or self._twin.over:
            return None
        return self._policy.act(self._twin.frame, self._twin.info)

    def session(self) -> dict[str, Any]:
        """All that it takes to see the same frames again, in JSON values."""
        return {
            "framedream": __version__,
            "format": SESSION_FORMAT,
            "title": self.stage.title,
            "checkpoint": self.stage.fingerprint,
            "origin": self._start.origin,
            "seed": self._seed,
            "actions": list(self._actions),
            "frames_sha256": self._digest,
        }

    def begin_again(self, session: Any) -> list[int]:
        """Go to where a session began; returns its actions, which are then to be taken one by one."""
        if not isinstance(session, dict) or session.get("format") != SESSION_FORMAT:
            raise UserError("That is not a session file of framedream: save one with the button Session.")
        if session.get("checkpoint") != self.stage.fingerprint:
            raise UserError("That session was played in another simulator: open it there.")
        seed, actions = session.get("seed"), session.get("actions")
        known = range(self.stage.dreamer.actions)
        if not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise UserError("The session's seed is damaged.")
        if not isinstance(actions, list) or not all(isinstance(one, int) and one in known for one in actions):
            raise UserError("The session's actions are damaged.")
        start = self.stage.starts.draw(np.random.default_rng(seed))
        if start.origin != session.get("origin"):
            raise UserError("That session began in other data: open the data set it was played with, by --data.")
        self._begin(start, seed)
        return actions

    @property
    def digest(self) -> str:
        """A hash over all frames dreamt so far: equal exactly when they are."""
        return self._digest

    def close(self) -> None:
        if self._twin is not None:
            self._twin.close()

    def _begin(self, start: Start, seed: int) -> Seen:
        self._start, self._seed = start, seed
        self._state = self.stage.dreamer.begin([start])
        self._actions = []
        self._moments = {}
        self._saved = 0
        self._broken_at = None
        if self._twin is not None:
            self._twin.enter(start)
        if self._policy is not None:
            self._policy.begin(seed, self.stage.dreamer.actions)
        seen = self.seen()
        self._digest = _chained("", seen.dream)
        return seen

    def _recent_actions(self) -> list[int]:
        """As many as familiarity looks at; those of the warm-up count."""
        recent = self._actions[-RECENT:]
        return [*self._start.actions.tolist(), *recent][-RECENT:]

    def _error(self, real: NDArray[np.uint8]) -> float:
        """(1/3) Σ‖x − x̂‖² on frames of 0…1, with the prediction neither clamped nor rounded."""
        simulator = self.stage.dreamer.simulator
        assert self._state.frame is not None
        predicted = (simulator.picture(self._state.frame)[0] + simulator.background).cpu().numpy()
        difference = real.transpose(2, 0, 1).astype(np.float32) / 255 - predicted
        return float(np.square(difference).sum()) / 3


def _chained(digest: str, frame: NDArray[np.uint8]) -> str:
    return hashlib.sha256(digest.encode() + np.ascontiguousarray(frame).tobytes()).hexdigest()
