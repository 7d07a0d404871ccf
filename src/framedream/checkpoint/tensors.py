"""Named tensors in safetensors files: one, or several of a bounded size with an index, as on model hubs."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor


def write_tensors(folder: Path, stem: str, tensors: Mapping[str, Tensor], shard_bytes: int | None = None) -> None:
    """Write `stem.safetensors`, or `stem-00001-of-0000N.safetensors` and an index when that is above `shard_bytes`."""
    # Contiguous copies of their own: safetensors refuses tensors that share memory.
    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    shards = _shards(own, shard_bytes)
    if len(shards) == 1:
        _save(own, folder / f"{stem}.safetensors")
        return
    places: dict[str, str] = {}
    for number, shard in enumerate(shards, start=1):
        name = f"{stem}-{number:05}-of-{len(shards):05}.safetensors"
        _save(shard, folder / name)
        places |= dict.fromkeys(shard, name)
    index = {"metadata": {"total_size": sum(map(_bytes, own.values()))}, "weight_map": places}
    _index(folder, stem).write_text(json.dumps(index, indent=1))


def has_tensors(folder: Path, stem: str) -> bool:
    """Whether `write_tensors` wrote any of this name."""
    return _index(folder, stem).exists() or (folder / f"{stem}.safetensors").exists()


def read_tensors(folder: Path, stem: str) -> dict[str, Tensor]:
    """The tensors that `write_tensors` wrote, on the CPU."""
    if not _index(folder, stem).exists():
        return load_file(folder / f"{stem}.safetensors")
    places: dict[str, str] = json.loads(_index(folder, stem).read_text())["weight_map"]
    tensors: dict[str, Tensor] = {}
    for name in sorted(set(places.values())):
        tensors |= load_file(folder / name)
    return tensors


def in_full_precision(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What is kept in bfloat16 as the float32 that is computed with; everything else as it is."""
    return {name: tensor.float() if tensor.dtype == torch.bfloat16 else tensor for name, tensor in tensors.items()}


def _save(tensors: dict[str, Tensor], path: Path) -> None:
    try:
        save_file(tensors, path)
    except SafetensorError as error:
        # Its own kind of error hides a full or failing disk from those who expect an OSError.
        raise OSError(errno.EIO, str(error), str(path)) from error


def _shards(tensors: dict[str, Tensor], shard_bytes: int | None) -> list[dict[str, Tensor]]:
    """Consecutive tensors, as many per shard as fit; a tensor above the size has a shard to itself."""
    shards: list[dict[str, Tensor]] = [{}]
    filled = 0
    for name, tensor in tensors.items():
        if shard_bytes is not None and shards[-1] and filled + _bytes(tensor) > shard_bytes:
            shards.append({})
            filled = 0
        shards[-1][name] = tensor
        filled += _bytes(tensor)
    return shards


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _index(folder: Path, stem: str) -> Path:
    return folder / f"{stem}.safetensors.index.json"
