"""The physical limit: how much a simulator multiplies and adds for one frame, and how fast this machine can do that.

Counted are products of matrices and convolutions, two operations (FLOP) for each multiplication and its addition, and
only those that an update needs: no gradient is counted that nothing asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from framedream.benchmarks.device import precisions_of
from framedream.benchmarks.timing import seconds_per_call
from framedream.fast.arithmetic import arithmetic_for
from framedream.model.cell import Sizes
from framedream.model.frames import COLOURS
from framedream.model.operations import KERNEL
from framedream.model.simulator_spec import SimulatorSpec
from framedream.model.transition_spec import Operation, TransitionSpec
from framedream.training.scheme import PREDICTION, Phase

INNER = "inner"
SIZE_ON_GPU, SIZE_ON_CPU = 8192, 2048
"""Rows and columns of the matrices that show what the machine can do: large enough to keep all of it busy."""


@dataclass(frozen=True)
class Product:
    """A product of matrices or a convolution of one sequence at one time-step."""

    flop: int
    reads: str
    """frame, h, z, a, or INNER for what has weights of the simulator before it, and so always a gradient."""


def rates_of(device: torch.device, seconds: float) -> dict[str, float]:
    """Operations per second of this machine in what the straightforward way and the fast path compute with."""
    kinds = dict.fromkeys(("float32", *precisions_of(device)))
    return {kind: operations_per_second(device, getattr(torch, kind), seconds) for kind in kinds}


def operations_per_second(device: torch.device, kind: torch.dtype, seconds: float, size: int | None = None) -> float:
    """What this machine does per second in one large product of two matrices, measured for about so long."""
    size = size or (SIZE_ON_GPU if device.type == "cuda" else SIZE_ON_CPU)
    left, right = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    # On a CPU the library that knows it best: the other one may do half as much on processors of another maker.
    multiply = torch.mm if device.type == "cuda" else arithmetic_for(kind).multiply
    return 2 * size**3 / seconds_per_call(lambda: multiply(left, right), seconds, device)


def flop_per_frame(spec: SimulatorSpec, phase: Phase) -> float:
    """Of an update on first segments, for each of their frames, those of the warm-up included."""
    return update_flop(spec, phase) / (phase.warm_up + phase.prediction_length)


def update_flop(spec: SimulatorSpec, phase: Phase) -> int:
    """Of an update, for each sequence: forwards, and backwards wherever gradients go."""
    total = 0
    state_has_gradient = False
    for time in range(1, phase.warm_up + phase.prediction_length):  # of the frame or prediction that is read
        step = time - phase.warm_up  # of the prediction that is made, from 0
        trained = step >= 0 or (phase.warm_up_grad is not None and time >= phase.warm_up_grad)
        without_gradient = {"a"}
        if not state_has_gradient:
            without_gradient.add("h")
        if step <= 0 or phase.feed[step] != PREDICTION:
            without_gradient.add("frame")
        for product in step_products(spec, predicts=step >= 0):
            ways = 1 + trained * (1 + (product.reads not in without_gradient))  # forwards, to weights, to inputs
            total += ways * product.flop
        state_has_gradient = trained
    return total


def rollout_flop(spec: SimulatorSpec) -> int:
    """Of one step, without gradients; prediction-independent simulators are not asked for a frame."""
    if spec.transition.prediction_independent:
        return sum(product.flop for product in _transition(spec, blind=True))
    return sum(product.flop for product in step_products(spec, predicts=True))


def step_products(spec: SimulatorSpec, predicts: bool) -> Iterator[Product]:
    """All products of one step of the warm-up, or of the prediction."""
    blind = predicts and spec.transition.prediction_independent
    if not blind:
        yield from _encoding(spec)
    yield from _transition(spec, blind)
    if predicts:
        yield from _decoding(spec)


def _encoding(spec: SimulatorSpec) -> Iterator[Product]:
    planes = spec.actions if spec.transition.action_enters == "encoder" else 0
    for number, flop in enumerate(_layers(spec, COLOURS + planes)):
        yield Product(flop, INNER if number else "frame")


def _decoding(spec: SimulatorSpec) -> Iterator[Product]:
    entering = spec.hidden_size
    if spec.transition.action_enters == "decoder":
        # What predicts is trained, so that its own h has a gradient, whatever h it began from.
        yield Product(2 * spec.hidden_size * spec.fused_size, INNER)
        yield Product(2 * spec.actions * spec.fused_size, "a")
        entering = spec.fused_size
    yield Product(2 * entering * spec.codec.encoding_size, INNER)
    for flop in _layers(spec, COLOURS):
        yield Product(flop, INNER)


def _layers(spec: SimulatorSpec, channels: int) -> Iterator[int]:
    """Of the codec's convolutions, or of their mirror images: each place of the smaller picture meets one kernel."""
    for layer, (height, width) in zip(spec.codec.layers, spec.codec.sizes[1:], strict=True):
        yield 2 * layer.kernel**2 * channels * layer.filters * height * width
        channels = layer.filters


def _transition(spec: SimulatorSpec, blind: bool) -> Iterator[Product]:
    transition, codec = spec.transition, spec.codec
    encoding, z_is = codec.encoding_size, "z"
    if blind:
        encoding, z_is = (spec.hidden_size, "h") if transition.after_warm_up == "hidden" else (0, "z")
    sizes = Sizes(spec.hidden_size, spec.fused_size, encoding, spec.actions, codec.encoding_shape)
    source = {"z": z_is}
    fused = transition.fused_streams
    for stream, products in fused.items():
        copies = _readers(transition, stream) if transition.fusion_per_gate else 1
        for name in (name for factors in products for name in factors):
            kind: Operation = transition.fusion_operation if name == "h" else "dense"
            yield from _operation(kind, sizes.of(name), sizes.fused, sizes, copies, source.get(name, name))
    for stream in dict.fromkeys((*transition.gates, *transition.cell)):
        kind = "dense" if stream == "a" else transition.operation
        reads = INNER if stream in fused else source.get(stream, stream)
        yield from _operation(kind, sizes.of(stream), sizes.hidden, sizes, _readers(transition, stream), reads)
    if transition.encoding_gate == "projected":
        yield Product(2 * sizes.encoding * sizes.hidden, z_is)


def _readers(transition: TransitionSpec, stream: str) -> int:
    """How many of the gates and the cell update read a stream."""
    return len(transition.gate_names) * (stream in transition.gates) + (stream in transition.cell)


def _operation(kind: Operation, inputs: int, outputs: int, sizes: Sizes, copies: int, reads: str) -> Iterator[Product]:
    if inputs == 0:
        return
    if kind == "dense":
        yield Product(2 * inputs * outputs * copies, reads)
        return
    channels, height, width = sizes.shape
    flop = 2 * KERNEL**2 * channels**2 * height * width * copies
    yield Product(flop, reads)
    if kind == "two-convolutions":
        yield Product(flop, INNER)
