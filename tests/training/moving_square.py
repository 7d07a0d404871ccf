"""A tiny deterministic world to learn: a square with momentum that actions push sideways and walls throw back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framedream.data.assembly import write_data_set
from framedream.data.dataset import DataSet, open_data_set
from framedream.data.episode import Episode
from framedream.data.recording import Recording

SIZE, SQUARE, LENGTH = 16, 5, 40
PUSHES = (-1, 0, 1)
PALETTE = np.zeros((256, 3), np.uint8)
PALETTE[0], PALETTE[1] = (30, 40, 60), (240, 200, 80)


def frame_of(x: int, y: int) -> NDArray[np.uint8]:
    frame = np.zeros((SIZE, SIZE), np.uint8)
    frame[y : y + SQUARE, x : x + SQUARE] = 1
    return frame


def play(seed: int) -> Episode:
    """An episode from a random place and speed. A push lasts for some steps, so that it shows."""
    generator = np.random.default_rng(seed)
    room = SIZE - SQUARE
    x, y = (int(value) for value in generator.integers(room + 1, size=2))
    across, down = int(generator.integers(-2, 3)), int(generator.choice([-1, 1]))
    frames, actions = [frame_of(x, y)], []
    action = 1
    for _ in range(LENGTH - 1):
        if generator.random() < 0.3:
            action = int(generator.integers(len(PUSHES)))
        across = max(-2, min(2, across + PUSHES[action]))
        x, across = bounce(x + across, across, room)
        y, down = bounce(y + down, down, room)
        frames.append(frame_of(x, y))
        actions.append(action)
    return Episode(np.stack(frames), np.array(actions), np.zeros(len(actions)), False, True, seed=seed)


def bounce(place: int, speed: int, room: int) -> tuple[int, int]:
    if place < 0:
        return -place, -speed
    if place > room:
        return 2 * room - place, -speed
    return place, speed


def moving_square_data_set(folder: Path, train: int = 150, test: int = 30) -> DataSet:
    recording = Recording(
        environment="moving square",
        arguments={},
        action_meanings=("left", "nothing", "right"),
        action_repeat=1,
        frame_shape=(SIZE, SIZE),
        indexed=True,
        policy={"name": "dithered pushes"},
        provenance={},
        seed=0,
    )
    episodes = {"train": [play(seed) for seed in range(train)], "test": [play(10_000 + seed) for seed in range(test)]}
    write_data_set(folder, recording, PALETTE, episodes)  # type: ignore[arg-type]
    return open_data_set(folder)
