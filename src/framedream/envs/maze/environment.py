"""The environment `maze`: a first-person walk through rooms and corridors that no one has seen before."""

from __future__ import annotations

import hashlib
import math
from importlib.metadata import version
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.envs.maze.dynamics import ACTIONS, RADIUS, Motion, States
from framedream.envs.maze.layout import SMALLEST_SIZE, Layout, draw_layout
from framedream.envs.maze.replay import MazeReplay
from framedream.envs.maze.textures import TEXTURE_SETS, load_textures
from framedream.envs.maze.vector import MazeVector, make_view
from framedream.errors import UserError, unknown_name

RESET_OPTIONS = ("layout_seed", "pose", "velocity", "step")
MOST_SAMPLES = 4
LARGEST_FRAME = 2048
LARGEST_SIZE = 501
START_OFF_CENTRE = 0.2
ROUNDING = 1e-3
FINEST_HEADING = 1024
FINGERPRINT_ACTIONS = (0, 0, 0, 2, 0, 0, 3, 3, 0, 0, 1, 4)


class MazeEnvironment(FrameEnvironment):
    """`info["state"]` is (x, y, heading in degrees, vx, vy, spin) as float32: all that the layout leaves open.

    The `info` of a reset also has `layout` (a number per room and corridor, 0 in walls), `free` (the mask of cells
    that are not wall) and `layout_seed`; both arrays are indexed [y, x]. `reset(options=...)` takes

    - `layout_seed`: that layout instead of the seed's own;
    - `pose`: x, y and heading to start from, at rest unless there is
    - `velocity`: vx and vy, or vx, vy and spin;
    - `step`: the number of steps that the episode has behind it.

    A recorded state `s` of an episode with seed `n` is returned to by
    `reset(seed=n, options={"pose": s[:3], "velocity": s[3:]})`, and everything after it is the same again.
    """

    def __init__(
        self,
        *,
        height: int = 48,
        width: int = 48,
        maze_size: int = 17,
        samples: int = 2,
        textures: str = "drawn",
        turn: float = 24.0,
        turning_inertia: float = 0.0,
        acceleration: float = 0.09,
        friction: float = 0.6,
        episode_frames: int = 900,
    ) -> None:
        self.name = "maze"
        self.arguments = dict(
            height=height,
            width=width,
            maze_size=maze_size,
            samples=samples,
            textures=textures,
            turn=turn,
            turning_inertia=turning_inertia,
            acceleration=acceleration,
            friction=friction,
            episode_frames=episode_frames,
        )
        if textures not in TEXTURE_SETS:
            raise unknown_name("set of textures", textures, TEXTURE_SETS, "docs/mazes.md")
        _demand(
            min(height, width) >= 8 and max(height, width) <= LARGEST_FRAME,
            f"height and width of 8 to {LARGEST_FRAME:,}",
        )
        _demand(
            SMALLEST_SIZE <= maze_size <= LARGEST_SIZE and maze_size % 2 == 1,
            f"an odd maze_size of {SMALLEST_SIZE} to {LARGEST_SIZE}",
        )
        _demand(1 <= samples <= MOST_SAMPLES, f"samples of 1 to {MOST_SAMPLES}")
        _demand(0 <= friction < 1 and 0 <= turning_inertia < 1, "friction and turning_inertia of at least 0, below 1")
        _demand(0 < turn <= 180, "a turn above 0 and up to 180 degrees")
        _demand(0 < acceleration / (1 - friction) < RADIUS, f"acceleration / (1 - friction) between 0 and {RADIUS}")
        _demand(episode_frames >= 2, "episode_frames of 2 or more")
        self.action_meanings = ACTIONS
        self.action_space = spaces.Discrete(len(ACTIONS))
        self.observation_space = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self._size, self._last_step = maze_size, episode_frames - 1
        self._view = make_view(height, width, samples, textures)
        self._motion = Motion(float(acceleration), float(friction), float(turn), float(turning_inertia))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        super().reset(seed=seed)
        options = options or {}
        for option in options:
            if option not in RESET_OPTIONS:
                raise unknown_name("reset option of maze", option, RESET_OPTIONS, "docs/mazes.md")
        if "velocity" in options and "pose" not in options:
            raise UserError("Give a pose with the velocity.")
        # All is drawn whatever is given, so that giving one thing changes no other.
        layout_seed, numbers = _draw(self.np_random)
        self.layout = self.draw_layout(_whole_number(options, "layout_seed", layout_seed))
        self._mazes = MazeVector([self.layout], self._view, self._motion)
        self._step = _whole_number(options, "step", 0)
        if "pose" in options:
            self._states = self._given_state(options["pose"], options.get("velocity", (0.0, 0.0)))
        else:
            self._states = starting_state(self.layout, numbers)
        info = {"layout": self.layout.region, "free": self.layout.free, "layout_seed": self.layout.seed}
        return self._mazes.frames(self._states)[0], self._info() | info

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        if not 0 <= action < len(ACTIONS):
            raise ValueError(f"the maze has actions 0 to {len(ACTIONS) - 1}, not {action}")
        self._states = self._mazes.step(self._states, [action])
        self._step += 1
        return self._mazes.frames(self._states)[0], 0.0, False, self._step >= self._last_step, self._info()

    def situation(self) -> dict[str, Any]:
        """Where the episode is now, as options for `reset`: any maze environment continues from there the same way."""
        state = self._states[0].tolist()
        return {"layout_seed": self.layout.seed, "pose": state[:3], "velocity": state[3:], "step": self._step}

    def draw_layout(self, layout_seed: int) -> Layout:
        """The layout that `layout_seed` stands for here."""
        return draw_layout(layout_seed, self._size, self._view.numbers)

    def vector(self, layouts: list[Layout], threads: int = 1) -> MazeVector:
        """Many agents at once, who move and see as they do here."""
        return MazeVector(layouts, self._view, self._motion, threads)

    def replay(self, seed: int, actions: NDArray[np.integer[Any]]) -> MazeReplay:
        layout_seed, numbers = _draw(seeding.np_random(seed)[0])
        mazes = self.vector([self.draw_layout(layout_seed)])
        return MazeReplay(mazes, mazes.walk(starting_state(mazes.layouts[0], numbers), actions))

    def provenance(self) -> dict[str, Any]:
        # A hash over pictures of a walk finds any change of layouts, camera or motion; it meets only a few textures.
        layout = self.draw_layout(0)
        mazes, states = self.vector([layout]), starting_state(layout, np.zeros(4))
        seen = hashlib.sha256()
        for action in FINGERPRINT_ACTIONS:
            states = mazes.step(states, [action])
            seen.update(mazes.frames(states).tobytes())
        images = hashlib.sha256(np.stack(load_textures(str(self.arguments["textures"])).images).tobytes())
        return {
            "numba": version("numba"),
            "numpy": version("numpy"),
            "textures_sha256": images.hexdigest(),
            "walk_sha256": seen.hexdigest(),
        }

    def _info(self) -> dict[str, Any]:
        return {"state": self._states[0]}

    def _given_state(self, pose: Any, velocity: Any) -> States:
        try:
            x, y, heading = (float(number) for number in pose)
            vx, vy, spin = (float(number) for number in (velocity if len(velocity) == 3 else (*velocity, 0.0)))
            if not math.isfinite(heading):
                raise ValueError(heading)
        except (TypeError, ValueError) as error:
            raise UserError("Give a pose as (x, y, heading) and a velocity as (vx, vy) or (vx, vy, spin).") from error
        if not self.layout.clearance(x, y) >= RADIUS - ROUNDING:
            raise UserError(f"({x:g}, {y:g}) is not free in this layout: stay {RADIUS} from walls.")
        fastest = self._motion.acceleration / (1 - self._motion.friction)
        if not (math.hypot(vx, vy) <= fastest + ROUNDING and abs(spin) <= self._motion.turn + ROUNDING):
            raise UserError(f"That is too fast: at most {fastest:g} cells and {self._motion.turn:g} degrees per step.")
        if self._motion.turning_inertia == 0:
            # A multiple of a power of two stays exact when turns are added: a spin ends where it began.
            heading = round(heading * FINEST_HEADING) / FINEST_HEADING
        return np.array([[x, y, heading % 360, vx, vy, spin]], np.float32)


def starting_state(layout: Layout, numbers: NDArray[np.float64]) -> States:
    """At rest near the middle of a free cell; `numbers` are four in [0, 1) that decide cell, place in it, heading."""
    rows, columns = np.nonzero(layout.free)
    cell = int(numbers[0] * len(rows))
    x, y = columns[cell] + 0.5, rows[cell] + 0.5
    aside, along = START_OFF_CENTRE * (2 * numbers[1:3] - 1)
    return np.array([[x + aside, y + along, int(360 * numbers[3]), 0, 0, 0]], np.float32)


def _draw(generator: np.random.Generator) -> tuple[int, NDArray[np.float64]]:
    """What a reset draws: the layout's seed, and the four numbers that decide where to start."""
    numbers = generator.random(5)
    return int(numbers[0] * 2**31), numbers[1:]


def _whole_number(options: dict[str, Any], name: str, otherwise: int) -> int:
    number = options.get(name, otherwise)
    if not (isinstance(number, int | np.integer) and number >= 0):
        raise UserError(f"{name} is a whole number of 0 or more, not {number!r}.")
    return int(number)


def _demand(condition: bool, wanted: str) -> None:
    if not condition:
        raise UserError(f"The maze needs {wanted}.")
