"""A simulator comes back from its folder alone, bit for bit, whatever it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from framedream.checkpoint.checkpoint import load_simulator, open_checkpoint, save_checkpoint
from framedream.checkpoint.configuration import Configuration
from framedream.checkpoint.run_folder import (
    best_checkpoint,
    find_checkpoint,
    only_trainer,
    remove_old_checkpoints,
    step_folders,
)
from framedream.errors import UserError
from framedream.model.codec_spec import codec_for
from framedream.model.simulator import Simulator, SimulatorSpec
from framedream.model.statistics import FrameStatistics

SIZE = 16
GREY = torch.arange(256, dtype=torch.uint8)[:, None].expand(256, 3).contiguous()
MEANINGS = ["left", "right", "stay"]


def make_simulator(variant: str = "conv", background: torch.Tensor | None = None, indexed: bool = True) -> Simulator:
    torch.manual_seed(0)
    spec = SimulatorSpec.named(variant, codec_for(SIZE, SIZE).scaled(0.1), len(MEANINGS), "signal-preserving", "fixed")
    if spec.transition.hidden != "encoding":
        spec = replace(spec, transition=replace(spec.transition, hidden=16, fused=24))
    background = torch.rand(3, 1, 1) if background is None else background
    return Simulator(spec, FrameStatistics(background, GREY if indexed else None)).eval()


def configuration(simulator: Simulator) -> Configuration:
    environment = {"name": "drawn", "arguments": {}, "action_meanings": MEANINGS, "action_repeat": 1}
    data = {"folder": "data", "identity": "0" * 64, "train_frames": 1, "policy": {}}
    return Configuration(simulator.spec.to_json(), environment, data, {"preset": "tiny"}, {}, "0")


def save(run: Path, updates: int = 1, score: float | None = None, simulator: Simulator | None = None) -> Path:
    simulator = make_simulator() if simulator is None else simulator
    training = {"updates": updates, "score": score}
    return save_checkpoint(run, simulator, configuration(simulator), training, {"state": torch.zeros(2)})


def predictions(simulator: Simulator) -> torch.Tensor:
    generator = np.random.default_rng(0)
    frames = torch.from_numpy(generator.integers(256, size=(2, 4, SIZE, SIZE), dtype=np.uint8))
    if simulator.palette is None:
        frames = frames[..., None].expand(-1, -1, -1, -1, 3)
    actions = torch.from_numpy(generator.integers(3, size=(2, 6)))
    with torch.no_grad():
        state = simulator.warm_up(simulator.normalise(frames), actions[:, :3])
        return simulator.unroll(state, actions[:, 3:])[0]


@pytest.mark.parametrize("variant", ["base", "conv", "h-iz2816-2conv-a", "action-planes", "pi-h", "pi-zero", "oh2015"])
@pytest.mark.parametrize("indexed", [True, False])
def test_the_rebuilt_simulator_predicts_the_same_bits(variant: str, indexed: bool, tmp_path: Path) -> None:
    background = torch.rand(3, SIZE, SIZE) if indexed else torch.rand(3, 1, 1)
    simulator = make_simulator(variant, background, indexed)
    save(tmp_path, simulator=simulator)
    back = load_simulator(tmp_path)
    assert back.spec == simulator.spec
    assert not back.training
    assert torch.equal(predictions(back), predictions(simulator))


def test_loading_leaves_the_random_numbers_alone(tmp_path: Path) -> None:
    save(tmp_path)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    load_simulator(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_loaded_simulator_can_be_trained(tmp_path: Path) -> None:
    save(tmp_path)
    simulator = load_simulator(tmp_path)
    assert all(parameter.requires_grad for parameter in simulator.parameters())
    assert not any(parameter.is_meta for parameter in simulator.parameters())


def test_a_run_stands_for_its_newest_checkpoint(tmp_path: Path) -> None:
    for updates in (5, 100, 20):
        save(tmp_path, updates)
    assert [step.name for step in step_folders(tmp_path)] == ["step-5", "step-20", "step-100"]
    assert open_checkpoint(tmp_path).training["updates"] == 100
    assert open_checkpoint(tmp_path / "step-20").training["updates"] == 20


def test_half_written_folders_are_no_checkpoints(tmp_path: Path) -> None:
    save(tmp_path, 5)
    (tmp_path / ".writing-step-6").mkdir()
    (tmp_path / ".removing-step-4").mkdir()
    assert find_checkpoint(tmp_path).name == "step-5"


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    weights = save(tmp_path) / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    with pytest.raises(UserError, match=r"model\.safetensors has changed"):
        load_simulator(tmp_path)


def test_folders_that_are_no_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run or checkpoint"):
        load_simulator(tmp_path / "nowhere")
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(UserError, match="neither a run nor a checkpoint"):
        load_simulator(tmp_path)
    with pytest.raises(UserError, match="neither a run nor a checkpoint"):
        load_simulator(tmp_path / "manifest.json")


def test_no_pickle_is_in_a_checkpoint(tmp_path: Path) -> None:
    assert {path.suffix for path in save(tmp_path).iterdir()} == {".json", ".safetensors"}


def test_the_newest_and_the_best_are_kept(tmp_path: Path) -> None:
    for updates, score in enumerate([5.0, 2.0, 3.0, None, 4.0, 6.0], start=1):
        save(tmp_path, updates, score)
        remove_old_checkpoints(tmp_path, keep=2)
    assert [step.name for step in step_folders(tmp_path)] == ["step-2", "step-5", "step-6"]
    best = best_checkpoint(tmp_path)
    assert best is not None and best.name == "step-2"


def test_keeping_all(tmp_path: Path) -> None:
    for updates in range(5):
        save(tmp_path, updates)
    remove_old_checkpoints(tmp_path, keep=0)
    assert len(step_folders(tmp_path)) == 5
    assert best_checkpoint(tmp_path) is None


def test_other_data_is_refused_naming_both(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(save(tmp_path))
    fits = dict(frame_size=(SIZE, SIZE), action_meanings=tuple(MEANINGS))
    refuse = checkpoint.configuration.refuse_other_data
    refuse(checkpoint.folder, Path("data"), **fits)
    with pytest.raises(UserError, match=r"step-1 .*16x16.*data.*20x16"):
        refuse(checkpoint.folder, Path("data"), **{**fits, "frame_size": (20, SIZE)})
    with pytest.raises(UserError, match=r"step-1 .*left, right, stay.*data.*2 \(up, down\)"):
        refuse(checkpoint.folder, Path("data"), **{**fits, "action_meanings": ("up", "down")})


def test_one_program_trains_a_run(tmp_path: Path) -> None:
    with only_trainer(tmp_path), pytest.raises(UserError, match="Another program"), only_trainer(tmp_path):
        pass
    with only_trainer(tmp_path):
        pass
