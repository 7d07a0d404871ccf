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


def about_actions(measurement: Measurement) -> str | None:
    """Whether it listens to its actions, at the step where most can be seen of it."""
    difference = measurement.difference(OVER_OWN_ACTIONS)
    if difference is None:
        return None
    shuffled, own = measurement.curve(SHUFFLED).moving, measurement.curve(MODEL).moving
    step = min(10, measurement.horizon)
    low, wrong, right = difference.moving.low[step - 1], shuffled.at(step), own.at(step)
    if wrong is None or right is None:
        return None
    # With a single episode there is no interval: then a twentieth more is too little to speak of.
    if low <= 0 if low is not None else wrong < 1.05 * right:
        return f"at step {step}, other sequences' actions make no clear difference to its moving-pixel error"
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
