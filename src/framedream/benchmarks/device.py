"""The device that something is measured on: what it is called, when it is done, how much of its memory was taken."""

from __future__ import annotations

import gc
from typing import Any, Literal

import torch

from framedream.fast.arithmetic import has_bfloat16

Precision = Literal["float32", "bfloat16"]


def describe_device(device: torch.device) -> dict[str, Any]:
    """What figures of this device must be read with."""
    facts: dict[str, Any] = {"device": device_in_words(device), "kind": device.type}
    if device.type == "cpu":
        facts |= {
            "threads": torch.get_num_threads(),
            "instructions": torch.backends.cpu.get_cpu_capability(),
            "bfloat16": _bfloat16_in_words(),
        }
    return facts


def _bfloat16_in_words() -> str | None:
    """The instructions that multiply such numbers; None where there are none."""
    if not has_bfloat16():
        return None
    return "AMX" if torch.cpu._is_amx_tile_supported() else "AVX512_BF16"


def device_in_words(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def precisions_of(device: torch.device) -> tuple[Precision, ...]:
    """What the fast path can compute with there: on a CPU bfloat16 only where the processor multiplies it itself."""
    if device.type == "cuda":
        return ("bfloat16",)
    return ("float32", "bfloat16") if has_bfloat16() else ("float32",)


def wait_for(device: torch.device) -> None:
    """Until everything asked for is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def release_memory(device: torch.device) -> None:
    """Give back what nobody holds any more: a learner and its updates hold each other, until someone looks."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


class PeakMemory:
    """The most memory of a GPU that was taken since this was made, beyond what was taken before."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._before = device, 0
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
            self._before = torch.cuda.memory_allocated(device)

    def megabytes(self) -> float | None:
        """None on a CPU, whose memory is shared with everything else of this process."""
        if self._device.type != "cuda":
            return None
        return (torch.cuda.max_memory_allocated(self._device) - self._before) / 1e6
