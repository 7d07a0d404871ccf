"""What the numbers mean, in plain sentences."""

from __future__ import annotations

from framedream.evaluation.measure import MODEL, OVER_BLEND, OVER_OWN_ACTIONS, SHUFFLED
from framedream.evaluation.results import Band, Measurement


def steps_below(difference: Band) -> int:
    """Up to which step the difference lies below zero, its interval included where there is one."""
    for step, (mean, high) in enumerate(zip(difference.mean, difference.high, strict=True)):
        bound = mean if high is None else high
        if bound is None or bound >= 0:
            return step
    return len(difference.mean)


def against_the_blend(measurement: Measurement) -> str:
    """Whether the simulator has learnt dynamics: a blend of two still pictures has none."""
    difference = measurement.difference(OVER_BLEND)
    assert difference is not None
    moving = _reach(steps_below(difference.moving), measurement.horizon)
    whole = _reach(steps_below(difference.error), measurement.horizon)
    if moving == whole == _reach(0, measurement.horizon):
        return f"{moving}, neither on moving pixels nor on the whole frame"
    if moving == whole:
        return f"{moving}, on moving pixels and on the whole frame alike"
    return f"{moving} on moving pixels; on the whole frame it {whole}"


def listens_to_actions(measurement: Measurement) -> bool | None:
    """Whether other sequences' actions make its moving-pixel error clearly larger; None where that was not measured."""
    difference = measurement.difference(OVER_OWN_ACTIONS)
    if difference is None:
        return None
    step = telling_step(measurement)
    low = difference.moving.low[step - 1]
    wrong, right = (measurement.curve(name).moving.at(step) for name in (SHUFFLED, MODEL))
    if wrong is None or right is None:
        return None
    # With a single episode there is no interval: then a twentieth more is too little to speak of.
    return low > 0 if low is not None else wrong >= 1.05 * right


def telling_step(measurement: Measurement) -> int:
    """The step at which most can be seen of what a simulator has learnt."""
    return min(10, measurement.horizon)


def about_actions(measurement: Measurement) -> str | None:
    """What its actions mean to it."""
    step = telling_step(measurement)
    listens = listens_to_actions(measurement)
    if listens is False:
        return f"at step {step}, other sequences' actions make no clear difference to its moving-pixel error"
    if listens is None:
        return None
    wrong, right = (measurement.curve(name).moving.at(step) for name in (SHUFFLED, MODEL))
    assert wrong is not None and right is not None
    larger = "larger" if right == 0 else f"{wrong / right:.1f} times as large"
    return f"at step {step}, other sequences' actions make its moving-pixel error {larger}"


def sentence(measurement: Measurement) -> str:
    """All that can be said in one sentence whose subject is the simulator."""
    clauses = (against_the_blend(measurement), about_actions(measurement))
    return "; ".join(clause for clause in clauses if clause)


def _reach(steps: int, horizon: int) -> str:
    if steps == 0:
        return "does not beat the blend"
    if steps == horizon:
        return f"beats the blend at every step to {horizon}"
    return f"beats the blend up to step {steps}"
