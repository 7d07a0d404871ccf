"""Every variant against the paper's equations, written out in NumPy without the spec (see `paper_reference`)."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from paper_reference import TRANSITIONS, PaperSimulator
from small_simulators import ACTIONS, HEIGHT, WIDTH, random_sequence, small_simulator

from framedream.model.activation import RReLU, given_slopes
from framedream.model.codec_spec import STRIDE
from framedream.model.simulator import Simulator
from framedream.model.variants import VARIANTS

WARM_UP, PREDICTIONS, TOLERANCE = 4, 3, 1e-9


def test_every_variant_has_a_reference() -> None:
    assert set(TRANSITIONS) == set(VARIANTS)
    assert len(VARIANTS) == 29


@pytest.mark.parametrize("slopes_from", ["evaluation", "given"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_states_and_frames_equal_the_paper_s(variant: str, slopes_from: str) -> None:
    simulator = small_simulator(variant)
    frames, actions = random_sequence(batch=2, length=WARM_UP + PREDICTIONS)
    actions = actions[:, : WARM_UP + PREDICTIONS - 1]
    slopes = {} if slopes_from == "evaluation" else random_slopes(simulator)
    simulator.train(slopes_from == "given")  # given slopes replace the random ones
    with torch.no_grad(), given_slopes(simulator, slopes) if slopes else nullcontext():
        state = simulator.warm_up(frames[:, :WARM_UP], actions[:, : WARM_UP - 1])
        ours = []
        for action in actions[:, WARM_UP - 1 :].unbind(1):
            state = simulator.advance(state, action)
            state = state.seen(simulator.decode(state))
            ours.append(state)

    reference = PaperSimulator(
        variant,
        {name: tensor.numpy() for name, tensor in simulator.state_dict().items()},
        [(STRIDE, layer.padding) for layer in simulator.spec.codec.layers],
        (HEIGHT, WIDTH),
        ACTIONS,
        {name: tensor.numpy() for name, tensor in slopes.items()},
    )
    for sequence in range(2):
        theirs = reference.run(frames[sequence].numpy(), actions[sequence].numpy(), WARM_UP)
        assert len(theirs) == PREDICTIONS
        for state, (hidden, cell, frame) in zip(ours, theirs, strict=True):
            assert state.frame is not None
            assert np.abs(hidden).max() > 0.01 and np.abs(frame).std() > 0.01, "a comparison of nothing"
            np.testing.assert_allclose(state.hidden[sequence], hidden, rtol=0, atol=TOLERANCE)
            np.testing.assert_allclose(state.cell[sequence], cell, rtol=0, atol=TOLERANCE)
            np.testing.assert_allclose(state.frame[sequence], frame, rtol=0, atol=TOLERANCE)


def random_slopes(simulator: Simulator) -> dict[str, torch.Tensor]:
    """Slopes of its own for every element of every rectifier, shaped by what the rectifier sees."""
    shapes: dict[str, torch.Size] = {}

    def note(name: str, output: torch.Tensor) -> None:
        shapes[name] = output.shape[1:]

    rectifiers = {name: part for name, part in simulator.named_modules() if isinstance(part, RReLU)}
    hooks = [
        part.register_forward_hook(lambda _, __, output, name=name: note(name, output))
        for name, part in rectifiers.items()
    ]
    frames, actions = random_sequence(batch=1, length=3)
    with torch.no_grad():
        simulator.unroll(simulator.warm_up(frames[:, :2], actions[:, :1]), actions[:, 1:])
    for hook in hooks:
        hook.remove()
    return {name: torch.empty(shape, dtype=torch.float64).uniform_(1 / 8, 1 / 3) for name, shape in shapes.items()}
