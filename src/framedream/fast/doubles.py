"""Which double a simulator is trained and used by."""

from __future__ import annotations

from importlib.util import find_spec

import torch
from torch import Tensor

from framedream.errors import UserError
from framedream.fast.arithmetic import has_bfloat16, has_one_dnn
from framedream.fast.cpu_simulator import CpuSimulator
from framedream.fast.double import Double
from framedream.fast.simulator import FastSimulator
from framedream.model.codec_spec import CodecSpec
from framedream.model.simulator import Simulator


def double_of(simulator: Simulator, kind: torch.dtype | None = None) -> Double:
    """The simulator's double: unless told its kind, in bfloat16 on a GPU and in the simulator's own on a CPU."""
    if simulator.background.is_cuda:
        return FastSimulator(simulator, kind or torch.bfloat16)
    return CpuSimulator(simulator, kind or simulator.background.dtype)


def faster(simulator: Simulator, kind: torch.dtype | None = None) -> Simulator:
    """The simulator's double to use it by, of the weights as they are now; itself where none is faster.

    What a double of the simulator's own kind says differs from what the simulator says by rounding only.
    """
    # What a subclass does otherwise, or more accurately in double precision, a double would not know.
    if type(simulator) is not Simulator or simulator.background.dtype != torch.float32:
        return simulator
    known = find_spec("triton") is not None if simulator.background.is_cuda else has_one_dnn()
    return double_of(simulator, kind).eval() if known else simulator


def quickest(device: torch.device) -> torch.dtype | None:
    """The kind of double that is quickest on a device; None: the one that it has anyway."""
    return torch.bfloat16 if device.type == "cpu" and has_bfloat16() else None


def picture_of(frames: Tensor, codec: CodecSpec) -> Tensor:
    """(N,3,H,W) out of frames of a simulator or of any double of it."""
    size = (codec.height, codec.width)
    if frames.shape[1:] == (3, *size):
        return frames
    # Channels last: the colours come first, in the middle of what may surround them.
    rows, columns = ((all_of_it - part) // 2 for all_of_it, part in zip(frames.shape[1:3], size, strict=True))
    if rows < 0 or columns < 0:
        raise UserError(f"This state's frames are smaller than {size[0]}x{size[1]}: it is another simulator's.")
    return frames[:, rows : rows + size[0], columns : columns + size[1], :3].permute(0, 3, 1, 2)
