"""What the tests of the fast doubles share with those of the model."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

for folder in ("model", "evaluation", "fast"):  # where small_simulators.py, worlds.py and convolved.py are
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))

torch.set_num_threads(1)
