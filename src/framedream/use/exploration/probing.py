"""The figures that explain an explorer: what it could choose from, and what its imagination was worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from framedream.evaluation.exploration import Outlook, Planning
from framedream.use.exploration.explorer import Method, Plan, distance, draw_sequences, imagined
from framedream.use.exploration.imagination import Actions, EnvironmentImagination, Imagination
from framedream.use.exploration.world import World

DEPTHS = (6, 30)
"""The paper's."""
PROBES = 5
"""Plans of an episode at which random sequences are compared with what they would really have led to."""


@dataclass
class Probing:
    """Looks at the plans of all walks as they are carried out; draws its own sequences, so it changes nothing."""

    world: World
    imagination: Imagination
    method: Method
    steps: int
    _plans: list[tuple[float, float, float, float]] = field(default_factory=list)
    _probes: dict[int, list[tuple[float, ...]]] = field(default_factory=lambda: {depth: [] for depth in DEPTHS})

    def __post_init__(self) -> None:
        plans = -(-self.steps // self.method.length)
        self._probed = {(2 * number + 1) * plans // (2 * PROBES) for number in range(PROBES)}
        self._generators = [np.random.default_rng(seeds.probes) for seeds in self.world.seeds]
        self._truth = EnvironmentImagination(self.world.mazes, self.world.which, self.imagination.device)

    def __call__(self, plan: Plan) -> None:
        if len(self._plans) in self._probed:
            sequences = draw_sequences(self._generators, replace(self.method, length=max(DEPTHS)))
            for depth in DEPTHS:
                self._probes[depth].append(self._probe(plan, sequences[:, :, :depth]))
        least, greatest = plan.novelty.min(1).mean(), plan.novelty.max(1).mean()
        self._plans.append((least, greatest, plan.surprise.mean(), plan.seconds))

    def result(self) -> Planning:
        """Means over all plans and all probes."""
        least, greatest, surprise, seconds = np.mean(self._plans, axis=0).tolist()
        return Planning(
            least=least,
            greatest=greatest,
            surprise=surprise,
            sequences_per_second=len(self.world) * self.method.sequences / seconds,
            outlooks=tuple(_outlook(depth, probes) for depth, probes in self._probes.items()),
        )

    def _probe(self, plan: Plan, sequences: Actions) -> tuple[float, ...]:
        now = plan.remembered[:, -1:]
        errors, changes, novelties, real_novelties = [], [], [], []
        imagining = imagined(self.imagination, plan.state, sequences)
        happening = imagined(self._truth, plan.places, sequences)
        for (_, frames), (_, real) in zip(imagining, happening, strict=True):
            errors.append((frames - real).square().mean(2).sqrt())
            changes.append(distance(real, now)[:, :, 0])
            novelties.append(distance(frames, plan.remembered).amin(2))
            real_novelties.append(distance(real, plan.remembered).amin(2))
        novelty, real_novelty = (torch.cat(parts, dim=1) for parts in (novelties, real_novelties))
        return (
            float(torch.cat(errors, dim=1).mean()),
            float(torch.cat(changes, dim=1).mean()),
            float(novelty.amin(1).mean()),
            float(novelty.amax(1).mean()),
            _correlation(novelty, real_novelty),
        )


def _outlook(depth: int, probes: Sequence[tuple[float, ...]]) -> Outlook:
    error, change, least, greatest, _ = np.mean(probes, axis=0).tolist()
    agreements = [agreement for *_, agreement in probes if not np.isnan(agreement)]
    return Outlook(depth, error, change, least, greatest, float(np.mean(agreements)) if agreements else None)


def _correlation(one: torch.Tensor, other: torch.Tensor) -> float:
    """Mean over rows of the correlation of two tables; NaN where no row has any."""
    one, other = (table.double() - table.double().mean(1, keepdim=True) for table in (one, other))
    products, sizes = (one * other).sum(1), one.norm(dim=1) * other.norm(dim=1)
    return float((products / sizes)[sizes > 0].mean())
