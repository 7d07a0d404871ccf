"""Any policy, with a random action now and then."""

from __future__ import annotations

from typing import Any

from framedream.agents.policy import Policy, policy_generator
from framedream.envs.frame_environment import Frame


class EpsilonPolicy:
    """With probability ε a uniformly drawn action, otherwise the inner policy's.

    ε is drawn from a range anew for every episode (the paper's appendix on TORCS draws it between 0 and 0.5); a range
    of one value is the usual ε-greedy policy.
    """

    def __init__(self, lowest: float, highest: float, inner: Policy) -> None:
        self._range, self._inner = (lowest, highest), inner

    def begin(self, seed: int, actions: int) -> None:
        self._random, self._actions = policy_generator(seed), actions
        self._inner.begin(int(self._random.integers(2**63)), actions)
        self.epsilon = float(self._random.uniform(*self._range))

    def act(self, frame: Frame, info: dict[str, Any]) -> int:
        # The inner policy is always asked: it may count steps or remember what it sees.
        action = self._inner.act(frame, info)
        if self._random.random() < self.epsilon:
            return int(self._random.integers(self._actions))
        return action

    def describe(self) -> dict[str, Any]:
        return {"name": "epsilon", "range": list(self._range), "policy": self._inner.describe()}
