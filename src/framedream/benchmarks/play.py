"""Playing, measured as a player meets it: from a key to a drawn frame in a real browser, and many players at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from framedream.benchmarks.machine import describe_machine
from framedream.benchmarks.noise import NoiseStarts, random_simulator
from framedream.model.simulator import parameter_count
from framedream.use.dreamer import Dreamer
from framedream.use.play.server import listen, make_app, make_door, make_server
from framedream.use.play.stage import Stage, choose_threads

TARGETS = {"median_milliseconds": 50, "p95_milliseconds": 100, "paper_size_rate": 30, "crowd_rate": 15}
ACTIONS = 6
PRESSES = 60
CROWD = 8
CROWD_SECONDS = 10
LISTENER = """
import asyncio, json, sys, time
from websockets.asyncio.client import connect

async def play(port, rate, seconds):
    async with connect(f"ws://127.0.0.1:{port}/socket", origin=f"http://127.0.0.1:{port}", max_size=None) as mine:
        await mine.send(json.dumps({"do": "rate", "value": rate}))
        frames, began = 0, None
        while began is None or time.monotonic() < began + seconds:
            if isinstance(await mine.recv(), bytes):
                frames, began = frames + 1, began or time.monotonic()
        return frames / (time.monotonic() - began)

async def main(port, rate, seconds, players):
    rates = await asyncio.gather(*(play(port, rate, seconds) for _ in range(players)))
    print(json.dumps(rates))

asyncio.run(main(*map(int, sys.argv[1:])))
"""

Say = Callable[[str], None]


def bench_play(say: Say = lambda text: None) -> dict[str, Any]:
    """A small simulator and the paper's, with random weights: speed does not depend on what was learnt."""
    measured: dict[str, Any] = {"machine": describe_machine(("torch", "uvicorn", "websockets"))}
    for name, variant, size, filters, rate in (
        ("small", "h-iz2816-2conv-a", (64, 64), 0.25, 30),
        ("paper_size", "base", (210, 160), 1.0, 60),
    ):
        say(f"{name}: in a browser")
        stage = _stage(variant, size, filters)
        with _served(stage) as port:
            measured[name] = {
                "parameters": parameter_count(stage.dreamer.simulator.spec),
                "frame_size": list(size),
                "step_milliseconds": 1000 * stage.step_seconds,
                "asked_rate": rate,
                "browser": _in_browser(port, rate),
            }
            say(f"{name}: players at once")
            players, crowd_rate = (CROWD, 15) if name == "small" else (1, 60)
            measured[name] |= {"players": players, "rates": _listen_in(port, crowd_rate, players)}
    measured["targets"] = TARGETS
    return measured


def _stage(variant: str, size: tuple[int, int], filters: float) -> Stage:
    dreamer = Dreamer(random_simulator(variant, *size, filters, ACTIONS))
    starts = NoiseStarts(*size)
    return Stage(
        dreamer=dreamer,
        starts=starts,
        twin=None,
        no_twin="this is a benchmark",
        usual=(),
        familiarity=None,
        policies=(),
        meanings=("noop", "fire", "up", "right", "left", "down"),
        title=variant,
        fingerprint="",
        step_seconds=choose_threads(dreamer, starts),
    )


@contextmanager
def _served(stage: Stage) -> Iterator[int]:
    listening = listen("127.0.0.1", 0)
    server = make_server(make_app(stage, make_door("127.0.0.1", to_network=False, sessions=16), os.cpu_count() or 1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def _in_browser(port: int, rate: int) -> dict[str, Any] | None:
    """What the page itself measures while keys are pressed; None where there is no browser to drive."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1180, "height": 900})
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator("#rate").fill(str(rate))
        time.sleep(2)
        keys = ["ArrowUp", "ArrowRight", "ArrowLeft", "ArrowDown", "Space"]
        for press in range(PRESSES):
            key = keys[press % len(keys)]
            page.keyboard.down(key)
            time.sleep(0.113)  # not a multiple of a frame's time
            page.keyboard.up(key)
            time.sleep(0.071)
        with page.expect_download() as download:
            page.click("#card")
        card = json.loads(download.value.path().read_text())
        achieved = float(page.inner_text("#achieved"))
        version = browser.version
        browser.close()
    return {"chromium": version, "latency_milliseconds": card["latency_milliseconds"], "rate": achieved}


def _listen_in(port: int, rate: int, players: int) -> list[float]:
    """Frames per second that each of several players gets, who are a process of their own."""
    words = [sys.executable, "-c", LISTENER, *map(str, (port, rate, CROWD_SECONDS, players))]
    rates: list[float] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return rates
