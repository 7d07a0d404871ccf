"""Playing without a page: actions from a file in, a film and numbers out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framedream.errors import UserError
from framedream.use.play.film import Film
from framedream.use.play.game import Game


@dataclass(frozen=True)
class Played:
    """What came of it."""

    session: dict[str, Any]
    score: dict[str, Any]
    errors: list[float | None]
    """Prediction error at every step, where the real environment was there."""
    film_frames: int


def play_script(
    game: Game, actions: Iterable[int], film: Path | None, rate: int, on_step: Callable[[int], None] = lambda step: None
) -> Played:
    """Take the actions one by one; write the film where one is wanted."""
    seen = game.seen()
    recorded = Film(seen.dream, seen.real, rate) if film is not None else None
    errors = []
    for action in actions:
        seen = game.step(action)
        errors.append(seen.error)
        if recorded is not None:
            recorded.add(action, seen.dream, seen.real)
        on_step(seen.step)
    if film is not None and recorded is not None:
        try:
            film.write_bytes(recorded.mp4())
        except OSError as error:
            raise UserError(f"{film} cannot be written ({error.strerror}): choose another --record.") from error
    return Played(game.session(), game.score.as_json(), errors, 0 if recorded is None else len(recorded))
