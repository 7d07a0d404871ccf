"""One player's connection: listens to wishes, plays at the wished rate, and stands in nobody else's way."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect

from framedream.errors import UserError
from framedream.use.play.film import Film
from framedream.use.play.game import Game, Seen
from framedream.use.play.messages import EPISODE, FILM, Message, pack_frame, read_message
from framedream.use.play.stage import Stage

IDLE_SECONDS = 600.0
SLOWEST_SEND = 10.0
"""Seconds after which a page that takes no more bytes is given up."""
SLOWEST_FAREWELL = 1.0
MESSAGES_PER_SECOND, MESSAGES_AT_ONCE = 120.0, 240.0
MOST_PROBLEMS = 20
"""Senseless messages after which a connection is closed."""
MOST_WAITING = 64
POLICY_VIOLATION, GOING_AWAY = 1008, 1001
SEEDS = 2**31
Result = TypeVar("Result")


class Closed(Exception):
    """The connection ends, for a reason that the page is told."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Session:
    """One game over one socket. Games are played in threads of a pool; this object itself lives in the event loop."""

    def __init__(self, socket: WebSocket, stage: Stage, pool: Executor, idle_seconds: float = IDLE_SECONDS) -> None:
        self._socket, self._stage, self._pool, self._idle_seconds = socket, stage, pool, idle_seconds
        self._wishes: asyncio.Queue[Message] = asyncio.Queue(MOST_WAITING)
        self._action, self._input = 0, 0
        self._paused = False
        self._rate = stage.rate
        self._film: Film | None = None
        self._replay: deque[int] = deque()
        self._replay_digest: str | None = None
        self._achieved, self._shown = 0.0, time.monotonic()
        self._problems = 0

    async def run(self) -> None:
        """Until the player leaves, falls asleep, or misbehaves."""
        game = await self._in_pool(Game, self._stage, secrets.randbelow(SEEDS))
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._play(game))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except Closed as closed:
            with contextlib.suppress(RuntimeError, WebSocketDisconnect, TimeoutError):
                # Who takes no frames takes no farewell either.
                await asyncio.wait_for(self._socket.close(closed.code, closed.reason), SLOWEST_FAREWELL)
        except WebSocketDisconnect:
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._in_pool(game.close)

    async def _listen(self) -> None:
        allowance, last = MESSAGES_AT_ONCE, time.monotonic()
        while True:
            try:
                text = await asyncio.wait_for(self._socket.receive_text(), self._idle_seconds)
            except TimeoutError:
                raise Closed(GOING_AWAY, "Nobody has played for a while.") from None
            except KeyError:
                raise Closed(POLICY_VIOLATION, "Messages are text.") from None
            now = time.monotonic()
            allowance = min(MESSAGES_AT_ONCE, allowance + (now - last) * MESSAGES_PER_SECOND) - 1
            last = now
            if allowance < 0:
                raise Closed(POLICY_VIOLATION, "Too many messages.")
            try:
                message = read_message(text)
            except UserError as error:
                await self._complain(error)
                continue
            if message.do == "act":
                self._action, self._input = message.number, message.input
            elif self._wishes.full():
                raise Closed(POLICY_VIOLATION, "Too many wishes at once.")
            else:
                self._wishes.put_nowait(message)

    async def _play(self, game: Game) -> None:
        await self._say({"kind": "hello", **self._introduction()})
        await self._show(game, await self._in_pool(game.seen))
        due = time.monotonic()
        while True:
            one_step = False
            while not self._wishes.empty() or (self._paused and not one_step):
                wish = await self._wishes.get()
                if wish.do == "step":
                    one_step = self._paused = True
                else:
                    await self._fulfil(game, wish)
            await asyncio.sleep(due - time.monotonic())
            began = time.monotonic()
            try:
                # The action is taken up now and not before the wait, so that a key is answered by the next frame.
                await self._show(game, await self._step(game))
            except UserError as error:
                self._paused = True
                await self._complain(error)
            self._achieved = 0.9 * self._achieved + 0.1 / max(began - self._shown, 1e-3)
            self._shown = began
            due = max(due, began - 1 / self._rate) + 1 / self._rate

    async def _step(self, game: Game) -> Seen:
        action = self._replay.popleft() if self._replay else await self._in_pool(game.policy_action)
        if action is None:
            action = min(self._action, len(self._stage.meanings) - 1)
        seen = await self._in_pool(game.step, action)
        if self._film is not None:
            self._film.add(action, seen.dream, seen.real)
        if self._replay_digest is not None and not self._replay:
            await self._end_replay(game, seen)
        return seen

    async def _end_replay(self, game: Game, seen: Seen) -> None:
        same = game.digest == self._replay_digest
        self._replay_digest, self._paused = None, True
        await self._say({"kind": "replayed", "same": same, "steps": seen.step})

    async def _fulfil(self, game: Game, wish: Message) -> None:
        try:
            await self._do(game, wish)
        except UserError as error:
            await self._complain(error)

    async def _do(self, game: Game, wish: Message) -> None:
        match wish.do:
            case "pause":
                self._paused = wish.on
                await self._show(game, await self._in_pool(game.seen))  # so that the page knows
            case "rate":
                self._rate = wish.number
            case "save":
                await self._say({"kind": "saved", "number": game.save(), "step": game.steps})
            case "mark":
                game.mark(wish.text or "")
                await self._say({"kind": "score", **game.score.as_json()})
            case "score":
                await self._say({"kind": "score", **game.score.as_json()})
            case "latency":
                game.score.latencies.append(wish.content)
            case "session":
                await self._say({"kind": "session", "session": game.session()})
            case "policy":
                await self._in_pool(game.let_play, wish.text)
                await self._show(game, await self._in_pool(game.seen))
            case "record":
                await self._record(game, wish.on)
            case "restart":
                self._forget_replay()
                seed = wish.number if wish.number >= 0 else secrets.randbelow(SEEDS)
                await self._elsewhere(game, await self._in_pool(game.restart, seed))
            case "back":
                self._forget_replay()
                await self._elsewhere(game, await self._in_pool(game.go_back, wish.number))
            case "replay":
                actions = await self._in_pool(game.begin_again, wish.content)
                self._replay = deque(actions)
                self._replay_digest = str(wish.content.get("frames_sha256"))
                self._paused = False
                seen = await self._in_pool(game.seen)
                if not actions:
                    await self._end_replay(game, seen)
                await self._elsewhere(game, seen)

    def _forget_replay(self) -> None:
        self._replay.clear()
        self._replay_digest = None

    async def _elsewhere(self, game: Game, seen: Seen) -> None:
        """The dream is in another place: a film would show a jump that nobody made."""
        if self._film is not None:
            await self._record(game, False)
        await self._say({"kind": "moved", "step": seen.step})
        await self._show(game, seen)

    async def _record(self, game: Game, on: bool) -> None:
        if on:
            seen = await self._in_pool(game.seen)
            self._film = Film(seen.dream, seen.real, self._rate)
        elif self._film is not None:
            film, self._film = self._film, None
            await self._send(bytes([FILM]) + await self._in_pool(film.mp4))
            if len(film) > 1:
                await self._send(bytes([EPISODE]) + await self._in_pool(film.episode))

    async def _show(self, game: Game, seen: Seen) -> None:
        frame = pack_frame(
            seen,
            answered=self._input,
            paused=self._paused,
            policy=game.plays_itself or bool(self._replay),
            rate=self._achieved,
        )
        await self._send(frame)

    def _introduction(self) -> dict[str, Any]:
        stage = self._stage
        return {
            "title": stage.title,
            "actions": stage.meanings,
            "policies": stage.policies,
            "rate": self._rate,
            "real": stage.no_twin is None,
            "no_real": stage.no_twin,
            "step_milliseconds": round(1000 * stage.step_seconds, 1),
            "familiarity": stage.familiarity is not None and stage.familiarity.available,
        }

    async def _complain(self, error: UserError) -> None:
        self._problems += 1
        if self._problems > MOST_PROBLEMS:
            raise Closed(POLICY_VIOLATION, "Too many messages that make no sense.")
        await self._say({"kind": "problem", "words": str(error)})

    async def _say(self, content: dict[str, Any]) -> None:
        await self._send(json.dumps(content))

    async def _send(self, content: str | bytes) -> None:
        send = self._socket.send_text(content) if isinstance(content, str) else self._socket.send_bytes(content)
        try:
            await asyncio.wait_for(send, SLOWEST_SEND)
        except TimeoutError:
            raise Closed(POLICY_VIOLATION, "The page takes no more frames.") from None

    async def _in_pool(self, function: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
