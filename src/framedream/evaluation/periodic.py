"""A look at the error every so often during training: few sequences, few steps, the same ones every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from framedream.data.dataset import DataSet
from framedream.evaluation.baselines import BLEND
from framedream.evaluation.measure import MODEL, Extent, measure
from framedream.evaluation.reference import Reference, make_reference
from framedream.evaluation.sequences import choose_horizon, choose_sequences
from framedream.fast.double import Double
from framedream.fast.doubles import faster
from framedream.model.simulator import Simulator

LOGGED_STEPS = (1, 5, 10, 30, 100)


class PeriodicEvaluation:
    """Called with a simulator, gives numbers for `metrics.jsonl`.

    Their names are `test/error_10`: split, what, step. Beside the model's `error` and `moving` stand those of the best
    blend, `error_blend` and `moving_blend`, which do not change from one look to the next.
    """

    def __init__(
        self,
        data_set: DataSet,
        sequences: int = 64,
        horizon: int = 100,
        warm_up: int = 10,
        splits: Sequence[str] = ("train", "test"),
    ) -> None:
        self._data_set = data_set
        named = {name: data_set.split(name) for name in splits}
        training = data_set.split("train")
        horizon, _ = choose_horizon([*named.values(), training], warm_up, horizon)
        self._sequences = {name: choose_sequences(split, sequences, warm_up, horizon) for name, split in named.items()}
        self._make_reference = (training, data_set.palette, warm_up, horizon)
        self._reference: Reference | None = None
        self._looked_at: tuple[Simulator, Simulator] | None = None
        self.steps = tuple(step for step in LOGGED_STEPS if step <= horizon) or (horizon,)

    def __call__(self, simulator: Simulator, between: Callable[[], None] = lambda: None) -> dict[str, float]:
        """The errors now; `between` is called after every step (and may raise, to stop)."""
        if self._reference is None:
            self._reference = make_reference(*self._make_reference, simulator.background.device)
        double, found = self._double(simulator), {}
        looks = Extent(shuffled=False, similarity=False, objects=False)
        for split, sequences in self._sequences.items():
            measurement = measure(double, self._data_set, sequences, self._reference, split, looks, lambda _: between())
            for curve, suffix in ((MODEL, ""), (BLEND, "_blend")):
                for step in self.steps:
                    scores = measurement.curve(curve)
                    for what, band in (("error", scores.error), ("moving", scores.moving)):
                        value = band.at(step)
                        found[f"{split}/{what}{suffix}_{step}"] = float("nan") if value is None else value
        return found

    def _double(self, simulator: Simulator) -> Simulator:
        """The simulator's double, of the weights that it has now."""
        if self._looked_at is None or self._looked_at[0] is not simulator:
            self._looked_at = simulator, faster(simulator)
        double = self._looked_at[1]
        if isinstance(double, Double):
            double.refresh()
        return double
