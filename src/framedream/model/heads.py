"""Reward and end of episode, read from the state: small networks beside the simulator, which they never touch.

The reward of the transition into s_t is read from h_t, and so is the probability that it ended the episode. Both
read a detached h, so that learning them does not change in the least what the simulator draws.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from framedream.model.heads_spec import END, REWARD, HeadsSpec

BINS_ABOVE_ZERO = 20


class Heads(nn.Module):
    """Heads of a spec. Their parameters are yet to be loaded, or drawn by `initialise`.

    The reward is a distribution over fixed values that lie evenly in symlog(r) = sign(r) ln(1 + |r|), trained on the
    two values around the real one and read as its mean (DreamerV3: Hafner et al. 2023, "Mastering diverse domains
    through world models", two-hot symexp). That serves rewards of ±1 as well as scores in the hundreds: no scale has
    to be chosen, and a rare large reward pulls on probabilities rather than on a mean. The values end at the largest
    reward of the training data, where DreamerV3's go on to e^20: probabilities that have not quite vanished far out
    would be heard in the mean.
    """

    bins: Tensor

    def __init__(self, spec: HeadsSpec) -> None:
        super().__init__()
        self.spec = spec
        farthest = math.log1p(spec.largest_reward)
        above = torch.linspace(0, farthest, BINS_ABOVE_ZERO + 1, device="cpu").expm1()
        self.register_buffer("bins", torch.cat([-above.flip(0), above[1:]]), persistent=False)
        outputs = {REWARD: len(self.bins), END: 1}
        self.networks = nn.ModuleDict(
            {
                name: nn.Sequential(
                    # Most of h is far smaller than 1 (0.04 in a small Pong): as it is, it would say next to nothing.
                    nn.LayerNorm(spec.state_size, elementwise_affine=False),
                    _undrawn(spec.state_size, spec.width),
                    nn.SiLU(),
                    _undrawn(spec.width, outputs[name]),
                )
                for name in spec.names
            }
        )

    @torch.no_grad()
    def initialise(self, seed: int) -> Heads:
        """Draw the parameters from a generator of their own. At first every reward is 0 and every end even odds."""
        generator = torch.Generator().manual_seed(seed)
        for network in self.networks.values():
            assert isinstance(network, nn.Sequential)
            _, first, _, last = network
            bound = 1 / math.sqrt(self.spec.state_size)
            for parameter in first.parameters():
                parameter.copy_(torch.empty_like(parameter, device="cpu").uniform_(-bound, bound, generator=generator))
            for parameter in last.parameters():
                parameter.zero_()
        return self

    def losses(self, hidden: Tensor, rewards: Tensor, terminations: Tensor) -> dict[str, Tensor]:
        """By head: cross-entropies of what is said of h_t (…, H), given the transitions into s_t."""
        losses = {}
        if REWARD in self.networks:
            said, targets = self._said(REWARD, hidden).flatten(0, -2), self.two_hot(rewards).flatten(0, -2)
            losses[REWARD] = functional.cross_entropy(said, targets)
        if END in self.networks:
            said = self._said(END, hidden).squeeze(-1)
            losses[END] = functional.binary_cross_entropy_with_logits(said, terminations.to(said.dtype))
        return losses

    def reward(self, hidden: Tensor) -> Tensor | None:
        """The expected reward of the transition that led to each state, where there is a head for it."""
        if REWARD not in self.networks:
            return None
        return self._said(REWARD, hidden).softmax(-1) @ self.bins

    def end(self, hidden: Tensor) -> Tensor | None:
        """The probability that the transition terminated the episode, where there is a head for it."""
        return self._said(END, hidden).squeeze(-1).sigmoid() if END in self.networks else None

    def two_hot(self, rewards: Tensor) -> Tensor:
        """Weights on the two bins around each reward (…, bins), whose mean is the reward."""
        rewards = rewards.to(self.bins.dtype).clamp(self.bins[0], self.bins[-1]).contiguous()
        below = (torch.searchsorted(self.bins, rewards, right=True) - 1).clamp(0, len(self.bins) - 2)
        low, high = self.bins[below], self.bins[below + 1]
        share = ((rewards - low) / (high - low)).unsqueeze(-1)
        weights = share.new_zeros(*rewards.shape, len(self.bins))
        weights.scatter_(-1, below.unsqueeze(-1), 1 - share)
        return weights.scatter_(-1, below.unsqueeze(-1) + 1, share)

    def _said(self, name: str, hidden: Tensor) -> Tensor:
        said: Tensor = self.networks[name](hidden.detach().to(self.bins.dtype))
        return said


def _undrawn(inputs: int, outputs: int) -> nn.Linear:
    """A layer without values: drawing them as usual would take random numbers that the simulator's training reads."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs)  # type: ignore[no-untyped-call]
    return layer
