"""Benchmarks are tried on one thread: small tensors gain nothing from two, and tests may run side by side."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
