"""A simulator as a Gymnasium environment: an agent, or a recorder of data, walks through a dream."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike

from framedream.checkpoint.checkpoint import Checkpoint
from framedream.data.dataset import DataSet
from framedream.envs.frame_environment import Frame, FrameEnvironment
from framedream.errors import UserError
from framedream.use.dreams import Dreams, DreamState
from framedream.use.opening import DATA, DREAM, open_dream

FRAMES_PER_SECOND = 15  # of the paper's videos
TIME_LIMIT = 1_000
"""Steps after which an episode is truncated, unless told. Simulators are measured over 200."""


class SimulatedEnv(FrameEnvironment):
    """A dream: real frames to begin with, then only what the simulator draws.

    **Rewards and ends.** A simulator draws frames; it knows of rewards and ends only if its checkpoint has heads
    (`framedream train --heads reward,end`). Without a reward head every reward is 0; without an end head nothing
    ever terminates and `time_limit` (steps; 0 for none) truncates. With heads, the reward is the expected one and an
    episode terminates where an end is more likely than not. `info["rewards"]` and `info["ends"]` say which it is.

    Observations are RGB bytes. The first one is the last frame of a warm-up of real frames, drawn from the `split`
    of `data` (unless told, the data set that the simulator was trained on) or, with `live` (a policy's name), played
    on the spot in the environment that the simulator was trained on. The same seed and actions give the same frames
    on a CPU.

    `get_state` and `set_state` go back to any moment and branch off from it; `jump` applies many actions at once.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": FRAMES_PER_SECOND}  # type: ignore[misc]
    name = "framedream.use.simulated_env:SimulatedEnv"

    def __init__(
        self,
        simulator: DREAM,
        *,
        data: DATA | None = None,
        split: str = "test",
        live: str | bool = False,
        warm_up: int = 10,
        time_limit: int = TIME_LIMIT,
        device: str = "cpu",
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise UserError(f"A dream is rendered as rgb_array or not at all, not as {render_mode!r}.")
        opened = open_dream(simulator, data, split, live, warm_up, device)
        self._opened, self._dreams = opened, Dreams(opened, time_limit)
        self._now: DreamState | None = None
        self.render_mode = render_mode
        self.action_meanings, self.action_repeat = opened.action_meanings, opened.action_repeat
        self.action_space = spaces.Discrete(len(opened.action_meanings))
        self.observation_space = spaces.Box(0, 255, opened.frame_shape, np.uint8)
        source, recorded = _recordable(simulator), _recordable(data)
        self._can_be_repeated = source is not None and (data is None or recorded is not None)
        self.arguments = {"simulator": source, "data": recorded, "split": split, "live": live, "warm_up": warm_up}
        self.arguments |= {"time_limit": time_limit, "device": device, "render_mode": render_mode}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin a dream. `options` may say where: `{"episode": 3, "start": 100}` of the data set (the first frame of
        the warm-up; an earlier `info["origin"]` will do), or `{"state": …}`, what `get_state` gave."""
        super().reset(seed=seed)
        place = dict(options or {})
        saved = place.pop("state", None)
        if saved is None:
            self._now = self._dreams.begin([self._dreams.start(self.np_random, place)])
        elif place:
            raise UserError(f"A saved state needs no other options, such as {', '.join(place)}.")
        else:
            self.set_state(saved)
        now = self._dreaming()
        return self.look(), {"origin": now.origins[0], **self._info(now)}

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        self.check_action(action)
        self._now, outcome = self._dreams.step(self._going_on(), [action], look=True)
        info = self._info(self._now)
        if outcome.end_probability is not None:
            info["end_probability"] = float(outcome.end_probability[0])
        ends = bool(outcome.terminations[0]), bool(outcome.truncations[0])
        return self.look(), float(outcome.rewards[0]), *ends, info

    def jump(self, actions: ArrayLike, look: bool = True) -> Frame | None:
        """Apply actions (T,) one after the other without looking on the way; returns the last frame, if asked for.

        Prediction-independent simulators draw no frame but that. Rewards and ends on the way are passed over; the
        time counts, so that the next `step` is truncated where the limit was passed.
        """
        self._now = self._dreams.jump(self._going_on(), np.asarray(actions)[None])
        return self.look() if look else None

    def look(self) -> Frame:
        """What is seen now."""
        frame: Frame = self._dreams.see(self._dreaming())[0].cpu().numpy()
        return frame

    def render(self) -> Frame | None:
        """The frame that is seen, where `render_mode` is `rgb_array`."""
        return self.look() if self.render_mode == "rgb_array" else None

    def get_state(self) -> DreamState:
        """This moment, to come back to. Where the next dream begins is not part of it."""
        return self._dreaming()

    def set_state(self, saved: DreamState) -> None:
        """Go on from a moment of this or of another environment around the same simulator."""
        if len(saved) != 1:
            raise UserError(f"This state holds {len(saved)} dreams: choose one, for example with state.rows([0]).")
        self._now = self._dreams.placed(saved)

    def close(self) -> None:
        self._opened.starts.close()

    def provenance(self) -> dict[str, Any]:
        return self._opened.provenance

    def _dreaming(self) -> DreamState:
        if self._now is None:
            raise ResetNeeded("Call reset before anything else: no dream has begun.")
        return self._now

    def _going_on(self) -> DreamState:
        now = self._dreaming()
        if now.ended[0]:
            raise ResetNeeded("This dream has ended: call reset, or set_state to go back.")
        return now

    def _info(self, now: DreamState) -> dict[str, Any]:
        return {"steps": int(now.steps[0]), **self._dreams.plain_words}

    def __reduce__(self) -> tuple[Any, ...]:
        if not self._can_be_repeated:
            raise TypeError("a simulator or starts in memory cannot be sent elsewhere: name their folders instead")
        return super().__reduce__()


def _recordable(source: Any) -> str | None:
    """The folder, where there is one: what a data set can record of where a dream comes from."""
    if isinstance(source, Checkpoint | DataSet):
        return str(source.folder)
    return str(source) if isinstance(source, Path | str) else None
