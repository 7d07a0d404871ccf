"""How parameters start: as in Torch, the paper's choice, or so that a small object's signal survives the whole model.

With Torch's default a ball of a few pixels reaches the encoding at a thousandth of its size and the predicted frame at
a millionth, and training first learns the mean image for a long time. The signal-preserving start keeps it visible
from the first update on: the encoding enters the cell, and the cell enters the decoder, by matrices that are each
other's transposes, so that what is seen in one place is drawn in that place.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from framedream.model.activation import MEAN_SLOPE
from framedream.model.cell import Cell, Product
from framedream.model.codec_spec import STRIDE
from framedream.model.frames import COLOURS, Decoder, Encoder
from framedream.model.operations import Convolutions, Dense, StateOperation, copy_of

RECTIFIER_GAIN = math.sqrt(2 / (1 + MEAN_SLOPE**2))  # He et al.'s, for leaky rectifiers
LAST_LAYER = 0.05  # predictions start close to the background
INTO_CELL, OUT_OF_CELL = 4.0, 3.0  # gains of the encoding's way into the cell and of the cell's into the decoder
GATES = 0.5  # gates start half as sensitive as the cell update
ACTION_SPREAD = 0.3  # W^a starts as 1 + 0.3 n, so that actions differ but h passes
FORGET_BIAS = 1.0
SMALL_STATE = 4.0  # h starts at about a quarter; where it multiplies z it must not make it that small
STATE_BIAS = 0.3  # h must not stay at zero, where its products with the action vanish
INNER_BIAS = 0.1  # the same, inside a pair of convolutions


@torch.no_grad()
def initialise_as_torch(encoder: Encoder, decoder: Decoder, cells: list[Cell]) -> None:
    """Torch7's defaults, U(±1/√(kernel height · kernel width · input planes)), biases too (appendix A).

    A gate's bias is the sum of one such bias for each stream that the gate reads, since each was a layer in Torch.
    """
    for module in (part for whole in (encoder, decoder, *cells) for part in whole.modules()):
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            fan_in = module.in_channels * math.prod(module.kernel_size)
        elif isinstance(module, nn.Linear):
            fan_in = module.in_features
        elif isinstance(module, Dense | Convolutions):
            fan_in = module.fan_in
        else:
            continue
        for parameter in module.parameters(recurse=False):
            _uniform(parameter, fan_in)
    for cell in cells:
        cell.bias.zero_()
        for stream in cell.reads:
            for reader in cell.readers_of(stream):
                row = cell.bias[cell.readers.index(reader)]
                row += _uniform(torch.empty_like(row), cell.operation(stream).fan_in)
        if cell.encoding_bias is not None:
            _uniform(cell.encoding_bias, cell.sizes.encoding)


@torch.no_grad()
def initialise_signal_preserving(encoder: Encoder, decoder: Decoder, cells: list[Cell]) -> None:
    """He-scaled convolutions, open forget gates, and an encoding whose places stay places through cell and decoder."""
    for number, convolution in enumerate(encoder.convolutions):
        assert isinstance(convolution, nn.Conv2d)
        # All but one of the action planes are zero: count the colours only.
        fan_in = (COLOURS if number == 0 else convolution.in_channels) * math.prod(convolution.kernel_size)
        rectified = number < len(encoder.rectifiers)
        convolution.weight.normal_(0, (RECTIFIER_GAIN if rectified else 1) / math.sqrt(fan_in))
        _zero(convolution.bias)
    for number, convolution in enumerate(decoder.convolutions):
        assert isinstance(convolution, nn.ConvTranspose2d)
        # Strides leave each output pixel only this part of the kernel.
        reached = convolution.in_channels * math.prod(convolution.kernel_size) / STRIDE**2
        rectified = number < len(decoder.rectifiers)
        convolution.weight.normal_(0, (RECTIFIER_GAIN if rectified else LAST_LAYER) / math.sqrt(reached))
        _zero(convolution.bias)
    for cell in cells:
        _scale_cell(cell)
    places = _lead_encoding_into(cells[0])
    out = OUT_OF_CELL * places.t()
    if decoder.hidden_factor is not None and decoder.action_factor is not None:
        through = nn.init.orthogonal_(decoder.hidden_factor.weight)
        decoder.action_factor.weight.normal_(1, ACTION_SPREAD)
        out = out @ through.t()
    decoder.expand.weight.copy_(out)
    _zero(decoder.expand.bias)


def _scale_cell(cell: Cell) -> None:
    """Every stream arrives with about its own size."""
    for name in cell.fusions:
        for product in cell.fusion(name).products:
            assert isinstance(product, Product)
            _scale_product(product)
    for stream in cell.reads:
        operation = cell.operation(stream)
        if stream == "a":
            operation.weight.normal_(0, ACTION_SPREAD)
            continue
        _preserve(operation)
        for position, reader in enumerate(cell.readers_of(stream)):
            if reader != "c" and stream != "z":
                copy_of(operation, position).mul_(GATES)
    cell.bias.zero_()
    cell.bias[cell.readers.index("f")] = FORGET_BIAS
    if cell.spec.operation != "two-convolutions":  # where the inner bias does it
        cell.bias[-1].normal_(0, STATE_BIAS)
    _zero(cell.encoding_bias)


def _scale_product(product: Product) -> None:
    for name, operation in product.others.items():
        assert isinstance(operation, Dense)
        if name == "z":
            _preserve(operation)
        else:
            alone = len(product.others) == 1 and product.hidden is None
            operation.weight.normal_(0 if alone else 1, ACTION_SPREAD)
    if product.hidden is not None:
        _preserve(product.hidden)
        if "z" in product.others:
            product.hidden.weight.mul_(SMALL_STATE)


def _lead_encoding_into(cell: Cell) -> Tensor:
    """Set the weights that carry z into c; returns their direction (hidden, encoding), semi-orthogonal."""
    sizes, spec, like = cell.sizes, cell.spec, cell.bias
    if cell.encoding_projection is not None:
        places = _semi_orthogonal(sizes.hidden, sizes.encoding, like)
        cell.encoding_projection.weight.copy_(INTO_CELL * places)
        return places
    if "z" in spec.cell and spec.operation == "dense":
        places = _semi_orthogonal(sizes.hidden, sizes.encoding, like)
        copy_of(cell.operation("z"), -1).copy_(INTO_CELL * places)
        return places
    for stream, products in spec.fused_streams.items():
        if stream in spec.cell and ["z", "a"] in products:
            inward = _semi_orthogonal(sizes.fused, sizes.encoding, like)
            onward = _semi_orthogonal(sizes.hidden, sizes.fused, like)
            product = cell.fusion(stream).products[products.index(["z", "a"])]
            assert isinstance(product, Product) and isinstance(product.others["z"], Dense)
            copy_of(product.others["z"], -1).copy_(math.sqrt(INTO_CELL) * inward)
            copy_of(cell.operation(stream), -1).copy_(math.sqrt(INTO_CELL) * onward)
            return onward @ inward
    # The raw encoding enters as it is, convolutions keep places by themselves, and W^h h ⊗ W^z z cannot keep them.
    return _semi_orthogonal(sizes.hidden, sizes.encoding, like)


def _semi_orthogonal(rows: int, columns: int, like: Tensor) -> Tensor:
    """Orthonormal rows or columns, whichever are fewer; the identity when square, which keeps places exactly."""
    if rows == columns:
        return torch.eye(rows, dtype=like.dtype, device=like.device)
    return nn.init.orthogonal_(like.new_empty(rows, columns))


def _preserve(operation: StateOperation) -> None:
    operation.weight.normal_(0, 1 / math.sqrt(operation.fan_in))
    if isinstance(operation, Convolutions) and operation.inner_weight is not None:
        operation.inner_weight.normal_(0, RECTIFIER_GAIN / math.sqrt(operation.fan_in))
        assert operation.inner_bias is not None
        operation.inner_bias.normal_(0, INNER_BIAS)


def _uniform(parameter: Tensor, fan_in: int) -> Tensor:
    return parameter.uniform_(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))


def _zero(parameter: Tensor | None) -> None:
    if parameter is not None:
        parameter.zero_()
