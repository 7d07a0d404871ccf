"""The page in a real browser, against the real command: keys, branches, sessions, films."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from framedream.cli import main
from framedream.data.dataset import open_data_set
from framedream.pictures.video import read_video

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)")


@contextmanager
def served(run: Path, *options: str) -> Iterator[tuple[str, int]]:
    """The address that the command prints, and the number of its process."""
    command = [sys.executable, "-m", "framedream", "play", str(run), "--warm-up", "4", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            lines = []
            for line in server.stdout:
                lines.append(line)
                if found := re.search(r"http://\S+", line):
                    yield found[0], server.pid
                    break
            else:
                pytest.fail("".join(lines))
        finally:
            server.terminate()
            assert "Traceback" not in server.communicate(timeout=30)[0]


@pytest.fixture(scope="module")
def page(run: Path) -> Iterator[Page]:
    from playwright.sync_api import sync_playwright

    with served(run) as (address, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.goto(address)
        until(lambda: "step" in page.inner_text("#step"))
        yield page
        assert problems == []
        browser.close()


def step(page: Page) -> int:
    return int(re.sub(r"\D", "", page.inner_text("#step")))


def pixels(page: Page, canvas: str = "dream") -> list[int]:
    script = "id => { const c = document.getElementById(id); "
    script += "return Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data) }"
    return list(page.evaluate(script, canvas))


def pause(page: Page) -> None:
    if page.inner_text("#pause") == "Pause":
        page.click("#pause")
        until(lambda: page.inner_text("#pause") == "Go on")


def play_on(page: Page) -> None:
    if page.inner_text("#pause") == "Go on":
        page.click("#pause")


def wait_for_step(page: Page, at_least: int) -> None:
    until(lambda: step(page) >= at_least)


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait. (The page forbids evaluating strings, which is how Playwright waits for a condition.)"""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@needs_chromium
def test_a_hundred_steps_with_keys(page: Page) -> None:
    before = pixels(page)
    goal = step(page) + 100
    keys = ["1", "2", "3"]
    while step(page) < goal:
        key = keys[step(page) % 3]
        page.keyboard.down(key)
        held = step(page)
        wait_for_step(page, held + 2)
        assert page.inner_text(".action.held").startswith(f"action {int(key) - 1}")
        page.keyboard.up(key)
    assert pixels(page) != before and pixels(page, "real") != pixels(page)
    assert "ms" in page.inner_text("#latency")
    assert "usual at this step" in page.inner_text("#divergence")


@needs_chromium
def test_moments_and_sessions_bring_back_the_same_pixels(page: Page, tmp_path: Path) -> None:
    play_on(page)
    wait_for_step(page, 5)
    before = step(page)
    page.click("#restart")
    until(lambda: step(page) < before)
    wait_for_step(page, 5)
    pause(page)
    there, pictures = step(page), (pixels(page), pixels(page, "real"))
    page.click("#save")
    page.wait_for_selector("#moments img")
    with page.expect_download() as download:
        page.click("#session")
    download.value.save_as(tmp_path / "session.json")
    assert len(json.loads((tmp_path / "session.json").read_text())["actions"]) == there
    for _ in range(4):
        now = step(page)
        page.click("#one")
        wait_for_step(page, now + 1)
    assert step(page) == there + 4 and (pixels(page), pixels(page, "real")) != pictures
    page.click("#moments button")
    until(lambda: step(page) == there)
    assert (pixels(page), pixels(page, "real")) == pictures
    page.click("#restart")
    page.set_input_files("#replay", tmp_path / "session.json")
    until(lambda: "every frame is the same" in page.inner_text("#status"))
    assert step(page) == there and (pixels(page), pixels(page, "real")) == pictures


@needs_chromium
def test_a_recording_can_be_watched_and_trained_on(page: Page, tmp_path: Path) -> None:
    play_on(page)
    downloads = []
    page.on("download", lambda download: downloads.append(download))
    page.click("#record")
    wait_for_step(page, step(page) + 6)
    page.keyboard.down("2")
    wait_for_step(page, step(page) + 6)
    page.keyboard.up("2")
    page.click("#record")
    until(lambda: page.inner_text("#record") == "Record")
    for _ in range(100):
        if len(downloads) == 2:
            break
        page.wait_for_timeout(100)
    names = {download.suggested_filename: download for download in downloads}
    names["dream.mp4"].save_as(tmp_path / "dream.mp4")
    (tmp_path / "mine").mkdir()
    for number in range(2):  # a data set needs an episode to train on and one to test
        names["episode.npz"].save_as(tmp_path / "mine" / f"{number}.npz")
    with np.load(tmp_path / "mine" / "0.npz") as episode:
        frames = len(episode["frames"])
        assert frames == len(episode["actions"]) + 1 >= 10
    assert len(list(read_video(tmp_path / "dream.mp4"))) == frames
    main(["data", "import", str(tmp_path / "mine"), "--out", str(tmp_path / "set")])
    assert open_data_set(tmp_path / "set").split("train").frames == frames


@needs_chromium
def test_keys_can_be_changed_and_failures_marked(page: Page) -> None:
    play_on(page)
    page.locator(".action kbd").nth(2).dispatch_event("pointerdown")
    page.keyboard.press("KeyJ")
    assert page.locator(".action kbd").nth(2).inner_text() == "J"
    page.keyboard.down("KeyJ")
    assert page.inner_text(".action.held").startswith("action 2")
    page.keyboard.up("KeyJ")
    page.keyboard.press("KeyX")
    until(lambda: page.inner_text("#failures") == "1")
    with page.expect_download() as download:
        page.click("#card")
    card = json.loads(Path(download.value.path()).read_text())
    assert len(card["failures"]) == 1 and card["latency_milliseconds"]["count"] > 0


@needs_chromium
def test_a_policy_plays_until_the_player_takes_over(page: Page) -> None:
    play_on(page)
    page.select_option("#policy", "random")
    wait_for_step(page, step(page) + 5)
    assert page.input_value("#policy") == "random"
    page.keyboard.press("Digit2")
    until(lambda: page.input_value("#policy") == "")


def test_a_script_writes_a_film_and_numbers(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "actions.json").write_text(json.dumps([0, 1, 2] * 7))
    words = ["play", str(run), "--warm-up", "4", "--script", str(tmp_path / "actions.json"), "--json"]
    main([*words, "--record", str(tmp_path / "film.mp4")])
    first = json.loads(capsys.readouterr().out)
    assert len(list(read_video(tmp_path / "film.mp4"))) == 22
    assert first["session"]["actions"] == [0, 1, 2] * 7 and len(first["errors"]) == 21
    main(words)
    assert json.loads(capsys.readouterr().out)["session"] == first["session"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--script", "nowhere.json"], "There is no action file"),
        (["--record", "film.mp4"], "--record needs --script"),
        (["--host", "0.0.0.0"], "--open-to-network"),
        (["--warm-up", "0"], "--warm-up must be at least 1"),
        (["--warm-up", "5000"], "Segments of 5000 frames do not fit"),
        (["--data", "nowhere"], "nowhere"),
        (["--port", "99999"], "choose another --port"),
    ],
)
def test_wrong_words_are_answered_in_a_sentence(
    words: list[str], said: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["play", str(run), "--port", "0", *words])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


@needs_chromium
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_stays_flat_in_half_an_hour_of_play(run: Path) -> None:
    """Half an hour at 15 frames per second is 27,000 steps; here they are taken as fast as the page allows."""
    from websockets.sync.client import connect

    with served(run) as (address, process):
        host = address.removeprefix("http://").rstrip("/")
        with connect(f"ws://{host}/socket", origin=f"http://{host}", max_size=None) as mine:
            mine.send(json.dumps({"do": "rate", "value": 60}))
            used = []
            for frames in range(27_000):
                mine.recv(timeout=30)
                if frames % 50 == 0:
                    mine.send(json.dumps({"do": "save"}))
                if frames % 900 == 0:
                    used.append(int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096)
    settled = used[5]
    assert max(used[5:]) < 1.05 * settled + 4e6, used
