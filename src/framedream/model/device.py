"""Where simulators compute."""

from __future__ import annotations

import torch

from framedream.errors import UserError

DEVICES = ("cpu", "cuda", "auto")


def chosen_device(name: str) -> torch.device:
    """`cpu`, `cuda`, or `auto`: a GPU where there is one."""
    available = torch.cuda.is_available()
    if name not in DEVICES:
        raise UserError(f"A simulator runs on {', '.join(DEVICES[:-1])} or {DEVICES[-1]}, not on {name!r}.")
    if name == "cuda" and not available:
        raise UserError("There is no GPU (CUDA device) that PyTorch can use here: say device cpu, or auto.")
    return torch.device("cuda" if available and name != "cpu" else "cpu")
