"""`framedream train` as its users meet it: records, refusals, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from command import start
from recording import counting_data_set

from framedream.checkpoint.checkpoint import load_simulator, open_checkpoint
from framedream.checkpoint.run_folder import read_metrics, step_folders
from framedream.cli import main
from framedream.experiments.presets import PRESETS

Refused = Callable[..., str]
TINY = ("--preset", "tiny", "--device", "cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counting") / "data"
    counting_data_set(folder, shortest=40, longest=60)
    return folder


def train(data: Path, out: Path, *options: str) -> None:
    main(["train", str(data), "--out", str(out), *TINY, *options])


@pytest.fixture
def refused(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Runs `train` with options that must be refused with exit code 2, and returns the one line it says."""

    def run(*options: str, out: Path = tmp_path / "run", of: Path = data) -> str:
        with pytest.raises(SystemExit) as end:
            main(["train", str(of), "--out", str(out), *options])
        assert end.value.code == 2
        said = capsys.readouterr().err.strip()
        assert "Traceback" not in said
        return said

    return run


def test_a_run_leaves_its_records(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(data, tmp_path / "run", "--updates", "20", "--seed", "7")
    shown = capsys.readouterr().out
    assert "framedream evaluate" in shown and "prediction error at steps 1/5" in shown

    rows = read_metrics(tmp_path / "run")
    training = [row for row in rows if row["kind"] == "training"]
    assert [row["updates"] for row in training] == [5, 10, 15, 20]
    # Batches of 4 sequences: a warm-up of 4 frames and 5 predicted ones.
    assert [row["frames"] for row in training] == [100, 200, 300, 400]
    assert [row["frames_with_warm_up"] for row in training] == [180, 360, 540, 720]
    assert all(row[name] > 0 for row in training for name in ("loss", "gradient_norm", "learning_rate"))
    assert all(row["frames_per_second"] > 0 for row in training)
    (evaluation,) = [row for row in rows if row["kind"] == "evaluation"]
    assert evaluation["updates"] == 20 and evaluation["test/error_5"] > 0 and evaluation["train/error_1"] > 0

    checkpoint = open_checkpoint(tmp_path / "run")
    assert checkpoint.training["updates"] == 20
    assert checkpoint.training["score"] == pytest.approx((evaluation["test/error_1"] + evaluation["test/error_5"]) / 2)
    config = checkpoint.configuration
    assert config.run["preset"] == "tiny" and config.run["seed"] == 7
    assert config.environment["name"] == "counting" and config.action_meanings == ["action 0", "action 1", "action 2"]
    assert config.data["identity"] and config.code_version
    assert config.scheme["phases"][1]["feed"] == "ppppp"
    assert load_simulator(tmp_path / "run").spec.variant == "base"


def test_tensorboard_shows_loss_and_errors(data: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(data, tmp_path / "run", "--updates", "10")
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("training/loss")] == [5, 10]
    losses = [row["loss"] for row in read_metrics(tmp_path / "run") if row["kind"] == "training"]
    assert [event.value for event in events.Scalars("training/loss")] == pytest.approx(losses)
    assert "test/error_5" in events.Tags()["scalars"]


def test_checkpoints_come_and_go(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", "--updates", "30", "--checkpoint-every", "5", "--keep-checkpoints", "2",
          "--evaluate-every", "0")  # fmt: skip
    assert [step.name for step in step_folders(tmp_path / "run")] == ["step-25", "step-30"]


def test_weights_in_several_files(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", "--updates", "1", "--shard-size", "1", "--hidden", "512", "--fused", "512")
    assert len(list((tmp_path / "run" / "step-1").glob("model-*-of-*.safetensors"))) > 1
    assert load_simulator(tmp_path / "run").spec.hidden_size == 512


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--preset", "tinny"], "tiny"),
        (["--preset", "tiny", "--variant", "bass"], "base"),
        (["--preset", "tiny", "--scheme", "pdt-10"], "pdt-100"),
        (["--preset", "tiny", "--learning-rat", "1"], "--learning-rate"),
        (["--preset", "tiny", "--updates", "0"], "--updates must be at least 1"),
        (["--preset", "tiny", "--filters", "0"], "--filters must be above 0"),
        (["--preset", "tiny", "--filters", "inf"], "--filters must be above 0 and finite, not inf"),
        (["--preset", "tiny", "--learning-rate", "inf"], "--learning-rate must be above 0 and finite"),
        (["--preset", "tiny", "--early-learning-rate", "-1"], "--early-learning-rate must be above 0"),
        (["--preset", "tiny", "--final-learning-rate", "-1"], "--final-learning-rate must be at least 0"),
        (["--preset", "tiny", "--phase-scale", "nan"], "--phase-scale must be above 0"),
        (["--preset", "tiny", "--seed", str(2**63)], "--seed must be below 2**63"),
        (["--preset", "tiny", "--minutes", "0"], "--minutes must be above 0, not 0"),
        (["--preset", "tiny", "--scheme", "oh2015", "--prediction-length", "5"], "prediction lengths of its own"),
        (["--preset", "tiny", "--warm-up", "4", "--warm-up-grad", "9"], "from frame 9"),
    ],
)
def test_wrong_words_are_refused(options: list[str], said: str, refused: Refused, tmp_path: Path) -> None:
    assert said in refused(*options)
    assert not (tmp_path / "run").exists()


def test_a_run_too_large_for_the_memory_is_refused(refused: Refused) -> None:
    assert "not enough memory for this run" in refused(*TINY, "--filters", "1e5")


def test_a_preset_for_other_data_is_refused(refused: Refused) -> None:
    assert "210x160" in refused("--preset", "paper-atari") and "16x16" in refused("--preset", "paper-atari")


def test_a_preset_for_another_number_of_actions_is_refused(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    preset = PRESETS["paper-maze"]
    monkeypatch.setitem(PRESETS, "paper-maze", type(preset)(preset.summary, preset.run, (16, 16), preset.actions))
    said = refused("--preset", "paper-maze")
    assert "for 5 actions" in said and "has 3 (action 0, action 1, action 2)" in said


def test_sequences_longer_than_every_episode_are_refused_before_training(refused: Refused, tmp_path: Path) -> None:
    said = refused(*TINY, "--prediction-length", "60")
    assert "Sequences of 64 frames (4 to warm up, 1 x 60 to predict)" in said and "longer than every" in said
    assert not (tmp_path / "run").exists()


def test_what_is_no_data_set_is_refused(refused: Refused, tmp_path: Path) -> None:
    assert refused(of=tmp_path / "nowhere")


def test_nothing_is_overwritten(data: Path, tmp_path: Path, refused: Refused) -> None:
    train(data, tmp_path / "run", "--updates", "2", "--evaluate-every", "0")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    assert "--resume" in refused(*TINY, "--updates", "2")
    assert "began with --variant base" in refused(*TINY, "--variant", "conv", "--resume")
    assert "began with --preset tiny" in refused("--preset", "small", "--resume")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("precious")
    for resume in ([], ["--resume"]):
        assert "holds no run" in refused(*TINY, *resume, out=tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.txt"]


def test_a_run_goes_on_on_its_own_data_only(data: Path, tmp_path: Path, refused: Refused) -> None:
    train(data, tmp_path / "run", "--updates", "2", "--evaluate-every", "0")
    counting_data_set(tmp_path / "other", train=2, test=1, shortest=40, longest=41)
    said = refused("--resume", of=tmp_path / "other")
    assert f"was trained on {data}" in said and str(tmp_path / "other") in said


def test_a_damaged_checkpoint_is_not_resumed(data: Path, tmp_path: Path, refused: Refused) -> None:
    train(data, tmp_path / "run", "--updates", "2", "--evaluate-every", "0")
    for name in ("training.safetensors", "config.json"):
        state = tmp_path / "run" / "step-2" / name
        whole = state.read_bytes()
        state.write_bytes(whole[:-2])
        assert f"{name} has changed" in refused("--resume")
        state.write_bytes(whole)


def test_a_loss_that_is_no_number_stops_the_run(data: Path, tmp_path: Path, refused: Refused) -> None:
    out = tmp_path / "run"
    train(data, out, "--updates", "10", "--evaluate-every", "0")
    explode = ("--updates", "40", "--evaluate-every", "0", "--checkpoint-every", "1", "--learning-rate", "1e38")
    said = refused(*TINY, *explode, "--no-clip", "--resume", out=out)
    assert "at update 1" in said and "is good: go on with --resume" in said
    good = open_checkpoint(out)
    assert f"{good.folder} is good" in said
    assert all(parameter.isfinite().all() for parameter in good.simulator().parameters())
    # As the message says: with a learning rate that a checkpoint of before survives.
    for step in step_folders(out)[1:]:
        assert torch.isfinite(next(load_simulator(step).parameters())).all()
    train(data, out, "--updates", str(good.training["updates"] + 2), "--evaluate-every", "0", "--resume")


def test_the_remedy_for_a_loss_that_is_no_number_helps(data: Path, tmp_path: Path, refused: Refused) -> None:
    """The early phase has a rate of its own in this preset, and it is the one to blame."""
    early = ("--scheme", "modern", "--phase-scale", "0.01", "--updates", "6")
    said = refused(*TINY, *early, "--early-learning-rate", "1e30")
    assert "--early-learning-rate" in said and "--clip" not in said
    train(data, tmp_path / "run", "--resume", "--early-learning-rate", "1e-4", "--updates", "6")
    assert [path.name for path in step_folders(tmp_path / "run")][-1] == "step-6"


def test_schemes_of_their_own_lengths_fit_every_preset(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", "--scheme", "oh2015", "--updates", "2", "--evaluate-every", "0")
    phases = open_checkpoint(tmp_path / "run").configuration.scheme["phases"]
    assert [phase["prediction_length"] for phase in phases] == [10, 3, 5]


def test_damaged_neighbours_do_not_disturb_training(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(data, out, "--updates", "10", "--checkpoint-every", "5")
    (out / "step-5" / "training.json").write_text("{")
    (out / "step-3").mkdir()
    (out / "metrics.jsonl").write_text('[]\n{"kind": "training"}\nnot JSON\n' + (out / "metrics.jsonl").read_text())
    train(data, out, "--resume", "--updates", "15", "--checkpoint-every", "5", "--keep-checkpoints", "1")
    assert step_folders(out)[-1].name == "step-15"
    assert [row["updates"] for row in read_metrics(out) if row["kind"] == "training"] == [5, 10, 15]


def test_a_full_disk_is_said_in_a_sentence(data: Path, tmp_path: Path, refused: Refused) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("no permission to mount a small disk")
    try:
        train(data, disk / "run", "--updates", "5", "--evaluate-every", "0")
        with suppress(OSError), (disk / "filling").open("wb", buffering=0) as file:
            while file.write(b"0" * 4096) == 4096:
                pass
        before = [path.name for path in step_folders(disk / "run")]
        said = refused(*TINY, "--resume", "--updates", "10", "--evaluate-every", "0", out=disk / "run")
        assert "cannot be written" in said and "\n" not in said
        (disk / "filling").unlink()
        train(data, disk / "run", "--resume", "--updates", "10", "--evaluate-every", "0")
        assert [path.name for path in step_folders(disk / "run")] == [*before, "step-10"]
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_time_is_up(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(data, tmp_path / "run", "--updates", "100000", "--evaluate-every", "0", "--minutes", "0.01")
    assert "out of time" in capsys.readouterr().out
    assert 0 < open_checkpoint(tmp_path / "run").training["updates"] < 100_000


def test_a_finished_run_can_be_asked_again(data: Path, tmp_path: Path) -> None:
    for resume in ([], ["--resume"]):
        train(data, tmp_path / "run", "--updates", "2", "--evaluate-every", "0", *resume)
    assert open_checkpoint(tmp_path / "run").training["updates"] == 2


def test_asking_again_measures_nothing_twice(data: Path, tmp_path: Path, refused: Refused) -> None:
    out = tmp_path / "run"
    train(data, out, "--updates", "20")
    once = (out / "metrics.jsonl").read_text()
    train(data, out, "--resume", "--updates", "20")
    assert (out / "metrics.jsonl").read_text() == once
    assert "has made 20 updates already" in refused(*TINY, "--resume", "--updates", "10", out=out)


def test_control_c_saves_and_says_how_to_go_on(data: Path, tmp_path: Path) -> None:
    program = start(data, tmp_path / "run", "--preset", "tiny", "--updates", "100000", "--evaluate-every", "0")
    deadline = time.monotonic() + 60
    while not (tmp_path / "run" / "step-10").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    output, errors = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "Traceback" not in errors
    assert f"framedream train {data} --out {tmp_path / 'run'}" in output and output.rstrip().endswith("--resume")
    saved = open_checkpoint(tmp_path / "run").training
    assert saved["updates"] >= 10
    assert read_metrics(tmp_path / "run")[-1]["updates"] == saved["updates"]


def test_presets_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["presets", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(PRESETS) >= {"paper-atari", "paper-torcs", "paper-maze", "modern", "small", "tiny"}
    paper = rows["paper-atari"]
    assert paper["frame_size"] == [210, 160]
    # Appendix A of the paper.
    assert (
        paper["run"]
        | {
            "optimiser": "rmsprop",
            "learning_rate": 1e-5,
            "batch_size": 16,
            "warm_up": 10,
            "initialisation": "torch",
            "rrelu": "random",
            "background": "channel-mean",
            "clip": False,
            "updates": 500_000,
        }
        == paper["run"]
    )


def test_the_preset_of_the_mazes_is_the_papers() -> None:
    """Its appendix on mazes: 48x48 frames, five actions, three layers of 64 6x6 filters; the rest as for Atari."""
    preset = PRESETS["paper-maze"]
    assert (preset.frame_size, preset.actions, preset.run) == ((48, 48), (5, 5), PRESETS["paper-atari"].run)
    spec = preset.run.simulator(48, 48, actions=5)
    layers = [(layer.filters, layer.kernel, layer.padding) for layer in spec.codec.layers]
    assert layers == [(64, 6, (padding, padding)) for padding in (0, 1, 2)]
    assert spec.codec.encoding_size == 1600
    (first, then) = preset.run.phases(prediction_independent=False).phases
    assert (first.warm_up, len(first.feed), then.feed) == (10, 15, "p" * 15)


def test_presets_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["presets"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in PRESETS)
