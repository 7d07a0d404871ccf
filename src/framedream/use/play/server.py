"""The web server behind `play`: one page, its two files, and a socket per player. Nothing else can be asked of it.

It listens on this machine alone unless told otherwise, and then wants a token. Pages of other sites cannot reach it:
Host and Origin are checked, so neither a foreign page nor a foreign name for this address gets in. No part of a
request is ever used as a path.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from framedream.errors import UserError
from framedream.use.play.messages import LARGEST_MESSAGE
from framedream.use.play.session import POLICY_VIOLATION, Session
from framedream.use.play.stage import Stage

PAGE = Path(__file__).parent / "page"
FILES = {
    "/": ("index.html", "text/html"),
    "/play.js": ("play.js", "text/javascript"),
    "/style.css": ("style.css", "text/css"),
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TRY_AGAIN_LATER = 1013
MOST_SESSIONS = 8
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass
class Door:
    """Who may come in."""

    hosts: frozenset[str]
    """Names and addresses that a browser may have used for this server; empty: any, since the token decides."""
    token: str | None = None
    sessions: int = MOST_SESSIONS
    open_sessions: int = field(default=0, init=False)

    def refusal(self, connection: HTTPConnection, *, with_token: bool = True) -> str | None:
        """Why a request is not answered, or None."""
        host = connection.headers.get("host", "")
        name = host.rsplit(":", 1)[0].strip("[]") if not host.endswith("]") else host.strip("[]")
        if self.hosts and name not in self.hosts:
            return "This server is not known by that name."
        origin = connection.headers.get("origin")
        if connection.scope["type"] == "websocket" and origin is None:
            return "Pages say where they come from."
        if origin is not None and origin.split("://", 1)[-1] != host:
            return "That page belongs to another site."
        given = connection.query_params.get("token", "")
        if with_token and self.token is not None and not hmac.compare_digest(given.encode(), self.token.encode()):
            return "The address needs the token that `framedream play` printed."
        return None


def make_app(stage: Stage, door: Door, workers: int, **session_options: Any) -> Starlette:
    """The application: pages and sockets. Simulators run in `workers` threads."""
    pool = ThreadPoolExecutor(workers, "play")

    async def page(request: Request) -> Response:
        # Style sheet and program hold nothing secret, and a page cannot hand its token on to them.
        if (reason := door.refusal(request, with_token=request.url.path == "/")) is not None:
            return PlainTextResponse(reason, 403, HEADERS)
        name, kind = FILES[request.url.path]
        return Response((PAGE / name).read_bytes(), media_type=kind, headers=HEADERS)

    async def play(websocket: WebSocket) -> None:
        if (reason := door.refusal(websocket)) is not None:
            await websocket.close(POLICY_VIOLATION, reason)
            return
        await websocket.accept()
        if door.open_sessions >= door.sessions:
            await websocket.close(TRY_AGAIN_LATER, f"{door.sessions} people play already: try again later.")
            return
        door.open_sessions += 1
        try:
            await Session(websocket, stage, pool, **session_options).run()
        finally:
            door.open_sessions -= 1

    @asynccontextmanager
    async def lifespan(app: Starlette):  # type: ignore[no-untyped-def]
        yield
        pool.shutdown(wait=False, cancel_futures=True)
        stage.starts.close()

    routes = [Route(path, page) for path in FILES]
    return Starlette(routes=[*routes, WebSocketRoute("/socket", play)], lifespan=lifespan)


def listen(host: str, port: int) -> socket.socket:
    """A socket to serve on, or a UserError that says what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from now on who comes waits, rather than being turned away
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{host}:{port} cannot be served on ({reason}): choose another --port or --host.") from error
    return listening


def make_server(app: Starlette) -> uvicorn.Server:
    """What serves the application on a socket: `run(sockets=[listening])`, until Ctrl-C."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE,
            ws_per_message_deflate=False,  # deflating costs more than a frame's time
            limit_concurrency=128,
            timeout_graceful_shutdown=2,
        )
    )


def make_door(host: str, *, to_network: bool, sessions: int) -> Door:
    """On this machine: known by its own names. On the network: by a token, made anew each time."""
    if host in LOOPBACK:
        return Door(frozenset(LOOPBACK), None, sessions)
    if not to_network:
        raise UserError(
            f"{host} can be reached by others: add --open-to-network if that is meant, "
            "or leave --host out to play on this machine."
        )
    return Door(frozenset(), secrets.token_urlsafe(18), sessions)
