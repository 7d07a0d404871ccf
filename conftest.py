"""What must be so before any test is imported."""

from __future__ import annotations

import os

import torch

if not torch.cuda.is_available():
    # Triton decides when it is first imported, by whomever, whether kernels are compiled or interpreted.
    os.environ["TRITON_INTERPRET"] = "1"
