"""Tensors survive the disk, in one file or in many."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from framedream.checkpoint.tensors import read_tensors, write_tensors

TENSORS = {
    "a": torch.arange(1000, dtype=torch.float32),
    "b.weight": torch.randn(30, 40).t(),  # not contiguous
    "c": torch.tensor(3.5),
    "empty": torch.zeros(0, 3),
    "bytes": torch.arange(256, dtype=torch.uint8),
}


@pytest.mark.parametrize("shard_bytes", [None, 10_000_000, 5_000, 1])
def test_round_trip(shard_bytes: int | None, tmp_path: Path) -> None:
    write_tensors(tmp_path, "model", TENSORS, shard_bytes)
    back = read_tensors(tmp_path, "model")
    assert set(back) == set(TENSORS)
    for name, tensor in TENSORS.items():
        assert torch.equal(back[name], tensor) and back[name].dtype == tensor.dtype


def test_tensors_that_share_memory(tmp_path: Path) -> None:
    whole = torch.arange(10.0)
    write_tensors(tmp_path, "model", {"all": whole, "part": whole[2:5]})
    assert read_tensors(tmp_path, "model")["part"].tolist() == [2, 3, 4]


def test_shards_are_bounded_and_indexed(tmp_path: Path) -> None:
    write_tensors(tmp_path, "model", {str(number): torch.zeros(100) for number in range(10)}, shard_bytes=1000)
    shards = sorted(path.name for path in tmp_path.glob("*.safetensors"))
    assert shards == [f"model-{number:05}-of-00005.safetensors" for number in range(1, 6)]
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"].values()) == set(shards)
    assert index["metadata"]["total_size"] == 4000
