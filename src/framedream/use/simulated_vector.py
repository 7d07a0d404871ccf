"""Thousands of dreams in one batch, as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from framedream.envs.frame_environment import Frame
from framedream.errors import UserError
from framedream.use.dreams import Dreams, DreamState
from framedream.use.opening import DATA, DREAM, open_dream
from framedream.use.simulated_env import FRAMES_PER_SECOND, TIME_LIMIT

Seen = Frame | Tensor | None


class SimulatedVectorEnv(VectorEnv[Any, Any, Any]):
    """`num_envs` copies of a dream, each with its own start, its own random numbers and its own time.

    What `SimulatedEnv` says of rewards, ends and starts holds for each copy, and copy i of `reset(seed=s)` shows
    what `SimulatedEnv` shows after `reset(seed=s + i)`. A copy that has ended begins anew in the next step, whose
    action it ignores (`AutoresetMode.NEXT_STEP`).

    With `observations="torch"` what is seen stays on the simulator's device, as a tensor of bytes; rewards and ends
    are always NumPy arrays.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        simulator: DREAM,
        num_envs: int = 1,
        *,
        data: DATA | None = None,
        split: str = "test",
        live: str | bool = False,
        warm_up: int = 10,
        time_limit: int = TIME_LIMIT,
        device: str = "cpu",
        observations: Literal["numpy", "torch"] = "numpy",
        render_mode: str | None = None,
    ) -> None:
        if num_envs < 1:
            raise UserError(f"There must be at least one copy, not {num_envs}.")
        if observations not in ("numpy", "torch"):
            raise UserError(f"Observations come as numpy or torch, not as {observations!r}.")
        if render_mode not in (None, "rgb_array"):
            raise UserError(f"Dreams are rendered as rgb_array or not at all, not as {render_mode!r}.")
        opened = open_dream(simulator, data, split, live, warm_up, device)
        self._starts, self._dreams = opened.starts, Dreams(opened, time_limit)
        self._now: DreamState | None = None
        self._random: list[np.random.Generator | None] = [None] * num_envs
        self._as_tensor = observations == "torch"
        self.num_envs, self.render_mode = num_envs, render_mode
        self.action_meanings = opened.action_meanings
        self.single_action_space = spaces.Discrete(len(opened.action_meanings))
        self.single_observation_space = spaces.Box(0, 255, opened.frame_shape, np.uint8)
        self.action_space = batch_space(self.single_action_space, num_envs)

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """Made when asked for: for thousands of copies its bounds alone are hundreds of megabytes."""
        return batch_space(self.single_observation_space, self.num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin all dreams, or those of `options["reset_mask"]` (bool per copy).

        Copy i gets the seed `seed + i`, or the i-th of a sequence; without one it draws on. `options` may say where
        to begin as for `SimulatedEnv`: `episode` and `start`, one number for all copies or one each, or `state`.
        """
        place = dict(options or {})
        which = self._chosen(place.pop("reset_mask", None))
        self._seed(seed, which)
        saved = place.pop("state", None)
        if saved is not None and place:
            raise UserError(f"A saved state needs no other options, such as {', '.join(place)}.")
        begun = self._begun(which, place) if saved is None else self._fitting(saved, len(which))
        self._put(which, begun)
        now = self._dreaming()
        infos: dict[str, Any] = {}
        for copy in which:
            said = {"origin": now.origins[copy], "steps": int(now.steps[copy]), **self._dreams.plain_words}
            infos = self._add_info(infos, said, copy)
        return self.look(), infos

    def step(self, actions: ArrayLike, look: bool = True) -> tuple[Seen, Any, Any, Any, dict[str, Any]]:
        """One action for each copy. Without `look` nothing is drawn that the next step does not have to read, and
        None is returned in place of observations: what planners need that go by rewards and ends."""
        now = self._dreaming()
        after, outcome = self._dreams.step(now, actions, look)
        restarting: list[int] = np.flatnonzero(now.ended).tolist()
        if restarting:
            for brought in (outcome.rewards, outcome.terminations, outcome.truncations):
                brought[restarting] = 0
            after = self._dreams.replaced(after, restarting, self._begun(restarting, {}), look)
        self._now = after
        infos = self._infos(after)
        if outcome.end_probability is not None:
            going_on = ~now.ended
            infos |= {"end_probability": outcome.end_probability * going_on, "_end_probability": going_on}
        for copy in restarting:
            infos = self._add_info(infos, {"origin": after.origins[copy]}, copy)
        seen = self.look() if look else None
        return seen, outcome.rewards, outcome.terminations, outcome.truncations, infos

    def jump(self, actions: ArrayLike, look: bool = True) -> Seen:
        """Apply actions (N, T) one after the other without looking on the way, as `SimulatedEnv.jump` does."""
        now = self._dreaming()
        if now.ended.any():
            raise ResetNeeded(f"Copies {np.flatnonzero(now.ended).tolist()} have ended: reset them before a jump.")
        self._now = self._dreams.jump(now, actions)
        return self.look() if look else None

    def look(self) -> Seen:
        """What all copies see now: (N, H, W, 3) bytes."""
        seen = self._dreams.see(self._dreaming())
        if self._as_tensor:
            return seen
        frames: Frame = seen.cpu().numpy()
        return frames

    def render(self) -> tuple[Any, ...] | None:
        """The frames that are seen, one by one, where `render_mode` is `rgb_array`."""
        if self.render_mode is None:
            return None
        return tuple(self._dreams.see(self._dreaming()).cpu().numpy())

    def get_state(self) -> DreamState:
        """This moment of all copies, to come back to; `state.rows([3, 3, 7])` chooses among them."""
        return self._dreaming()

    def set_state(self, saved: DreamState, which: Sequence[int] | None = None) -> None:
        """Go on from saved moments: one for each copy (or for each of `which`), or one for all of them."""
        copies = list(range(self.num_envs)) if which is None else list(which)
        self._put(copies, self._fitting(saved, len(copies)))

    def close_extras(self, **kwargs: Any) -> None:
        self._starts.close()

    def _dreaming(self) -> DreamState:
        if self._now is None:
            raise ResetNeeded("Call reset before anything else: no dream has begun.")
        return self._now

    def _chosen(self, mask: Any) -> list[int]:
        if mask is None:
            return list(range(self.num_envs))
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise UserError(f"reset_mask must be {self.num_envs} truth values, at least one of them true.")
        chosen: list[int] = np.flatnonzero(mask).tolist()
        return chosen

    def _seed(self, seed: int | Sequence[int | None] | None, which: Sequence[int]) -> None:
        if seed is None:
            return
        seeds = [seed + copy for copy in range(self.num_envs)] if isinstance(seed, int | np.integer) else list(seed)
        if len(seeds) != self.num_envs:
            raise UserError(f"There are {self.num_envs} copies, but {len(seeds)} seeds: give one for each.")
        for copy in which:
            if seeds[copy] is not None:
                self._random[copy], _ = seeding.np_random(seeds[copy])

    def _generator(self, copy: int) -> np.random.Generator:
        generator = self._random[copy]
        if generator is None:
            generator, _ = seeding.np_random()
            self._random[copy] = generator
        return generator

    def _begun(self, which: Sequence[int], place: dict[str, Any]) -> DreamState:
        """New dreams for these copies."""
        places = {name: np.broadcast_to(value, self.num_envs) for name, value in place.items()}
        return self._dreams.begin(
            [
                self._dreams.start(self._generator(copy), {name: values[copy] for name, values in places.items()})
                for copy in which
            ]
        )

    def _fitting(self, saved: DreamState, copies: int) -> DreamState:
        if len(saved) not in (1, copies):
            raise UserError(f"This state holds {len(saved)} dreams, for {copies} copies: give one, or one for each.")
        return self._dreams.placed(saved if len(saved) == copies else saved.rows([0] * copies))

    def _put(self, which: Sequence[int], dreams: DreamState) -> None:
        if len(which) == self.num_envs:
            self._now = dreams
        else:
            self._now = self._dreams.replaced(self._dreaming(), which, dreams)

    def _infos(self, dreams: DreamState) -> dict[str, Any]:
        """What Gymnasium's own vector environments would make of every copy's `info`."""
        everybody: NDArray[np.bool_] = np.ones(self.num_envs, np.bool_)
        said = {name: np.full(self.num_envs, word, object) for name, word in self._dreams.plain_words.items()}
        infos: dict[str, Any] = {"steps": dreams.steps.copy(), **said}
        return infos | {f"_{name}": everybody.copy() for name in infos}
