"""The server over real sockets: who gets in, what may be said, and that nobody can disturb anybody else."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from framedream.errors import UserError
from framedream.use.play import session
from framedream.use.play.messages import LARGEST_MESSAGE, NUMBERS, Message, pack_frame, read_message
from framedream.use.play.server import Door, listen, make_app, make_door, make_server
from framedream.use.play.stage import Stage

Serve = Callable[..., int]


@pytest.fixture
def serve(stage: Stage) -> Iterator[Serve]:
    """Starts servers on free ports."""
    running = []

    def start(door: Door | None = None, send_buffer: int | None = None, **options: Any) -> int:
        listening = listen("127.0.0.1", 0)
        if send_buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        server = make_server(
            make_app(stage, door or make_door("127.0.0.1", to_network=False, sessions=8), 2, **options)
        )
        server.config.lifespan = "off"  # the stage is shared by all servers here
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return int(listening.getsockname()[1])

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(timeout=20)


@contextmanager
def player(port: int, **options: Any) -> Iterator[ClientConnection]:
    given = {"origin": f"http://127.0.0.1:{port}", "max_size": None, "open_timeout": 30, "close_timeout": 1}
    with connect(f"ws://127.0.0.1:{port}/socket{options.pop('query', '')}", **(given | options)) as mine:
        yield mine


def say(mine: ClientConnection, do: str, **words: Any) -> None:
    mine.send(json.dumps({"do": do, **words}))


def hear(mine: ClientConnection, kind: str) -> dict[str, Any]:
    """The next words of that kind; frames on the way are passed over."""
    while True:
        said = mine.recv(timeout=30)
        if isinstance(said, str) and json.loads(said)["kind"] == kind:
            return dict(json.loads(said))


def frame(mine: ClientConnection) -> tuple[int, np.ndarray]:
    """Step and dream of the next frame."""
    while True:
        said = mine.recv(timeout=30)
        if isinstance(said, bytes) and said[0] == 1:
            _, _, height, width, pictures, step, *_ = NUMBERS.unpack_from(said)
            size = height * width * 3
            assert len(said) == NUMBERS.size + pictures * size
            return step, np.frombuffer(said, np.uint8, size, NUMBERS.size).reshape(height, width, 3)


def test_a_game_over_the_socket(serve: Serve, stage: Stage) -> None:
    with player(serve()) as mine:
        hello = hear(mine, "hello")
        assert hello["actions"] == list(stage.meanings) and hello["real"] is True
        assert frame(mine)[0] == 0
        steps = [frame(mine)[0] for _ in range(5)]
        assert steps == [1, 2, 3, 4, 5]
        say(mine, "pause", on=True)
        say(mine, "save")
        saved = hear(mine, "saved")
        say(mine, "session")
        session = hear(mine, "session")["session"]
        assert len(session["actions"]) == saved["step"]
        say(mine, "step")
        step, there = frame(mine)
        assert step == saved["step"] + 1
        say(mine, "back", to=saved["number"])
        assert hear(mine, "moved")["step"] == saved["step"] and frame(mine)[0] == saved["step"]
        say(mine, "step")
        np.testing.assert_array_equal(frame(mine)[1], there)
        say(mine, "replay", session=session)
        assert hear(mine, "replayed") == {"kind": "replayed", "same": True, "steps": saved["step"]}
        say(mine, "replay", session=session | {"frames_sha256": "of other frames"})
        assert hear(mine, "replayed")["same"] is False
        say(mine, "restart", seed=3)
        say(mine, "session")
        nothing = hear(mine, "session")["session"]
        assert nothing["actions"] == []
        say(mine, "replay", session=nothing)
        assert hear(mine, "replayed") == {"kind": "replayed", "same": True, "steps": 0}


def test_a_recording_comes_back_over_the_socket(serve: Serve) -> None:
    with player(serve()) as mine:
        say(mine, "record", on=True)
        for _ in range(6):
            frame(mine)
        say(mine, "record", on=False)
        kinds = {}
        while len(kinds) < 2:
            said = mine.recv(timeout=30)
            if isinstance(said, bytes) and said[0] in (2, 3):
                kinds[said[0]] = said[1:]
    assert kinds[2][4:8] == b"ftyp" and kinds[3][:2] == b"PK"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_only_this_machines_own_names_are_answered(headers: dict[str, str], status: int, serve: Serve) -> None:
    port = serve()
    response = request(port, "/", {name: value.format(port=port) for name, value in headers.items()})
    assert response.status == status
    if status == 200:
        assert b"<canvas" in response.read() and "default-src 'none'" in str(
            response.getheader("Content-Security-Policy")
        )


def request(port: int, path: str, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest("GET", path, skip_host=bool(headers and "Host" in headers))
    for name, value in (headers or {}).items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection.getresponse()


@pytest.mark.parametrize(
    "path", ["/../server.py", "/page/index.html", "/%2e%2e/%2e%2e/pyproject.toml", "//etc/passwd", "/socket", "/x"]
)
def test_no_path_reaches_a_file(path: str, serve: Serve) -> None:
    assert request(serve(), path).status in (400, 404)


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
def test_sockets_of_other_sites_are_refused(origin: str | None, serve: Serve) -> None:
    with pytest.raises(InvalidStatus, match="403"), player(serve(), origin=origin):
        pass


def test_on_the_network_a_token_is_needed(serve: Serve) -> None:
    with pytest.raises(UserError, match="--open-to-network"):
        make_door("0.0.0.0", to_network=False, sessions=8)
    door = make_door("0.0.0.0", to_network=True, sessions=8)
    assert (
        door.token and len(door.token) >= 20 and door.token != make_door("0.0.0.0", to_network=True, sessions=8).token
    )
    port = serve(door)
    for query in ("", "?token=", f"?token={door.token[:-1]}", "?token=%00%ff"):
        assert request(port, f"/{query}").status == 403
        with pytest.raises(InvalidStatus, match="403"), player(port, query=query):
            pass
    assert request(port, f"/?token={door.token}").status == 200
    with player(port, query=f"?token={door.token}") as mine:
        assert frame(mine)[0] == 0


def test_only_so_many_play_at_once(serve: Serve) -> None:
    port = serve(Door(frozenset({"127.0.0.1"}), sessions=2))
    with player(port) as one, player(port) as two:
        assert frame(one)[0] == frame(two)[0] == 0
        with player(port) as three, pytest.raises(ConnectionClosed) as refused:
            frame(three)
        assert refused.value.rcvd is not None and "2 people play already" in refused.value.rcvd.reason
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:  # a place that was left is free again
        with player(port) as four, suppress(ConnectionClosed):
            assert frame(four)[0] == 0
            return
    pytest.fail("no place became free")


def test_who_sleeps_is_sent_home(serve: Serve) -> None:
    with player(serve(idle_seconds=0.3)) as mine, pytest.raises(ConnectionClosed) as closed:
        while True:
            mine.recv(timeout=20)
    assert closed.value.rcvd is not None and "Nobody has played" in closed.value.rcvd.reason


def test_who_does_not_listen_disturbs_nobody(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SLOWEST_SEND", 2.0)
    door = make_door("127.0.0.1", to_network=False, sessions=2)
    port = serve(door, send_buffer=4096)
    with socket.socket() as deaf, player(port) as other:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", port))
        shake_hands(deaf, port)
        deadline = time.monotonic() + 60
        while door.open_sessions < 2:
            frame(other)
            assert time.monotonic() < deadline
        steps = [frame(other)[0]]
        while door.open_sessions == 2:  # until the deaf one is given up
            steps.append(frame(other)[0])
            assert time.monotonic() < deadline
        assert steps == list(range(steps[0], steps[0] + len(steps)))


def shake_hands(plain: socket.socket, port: int) -> None:
    """Become a websocket that will never read a byte, not even the answer to this."""
    lines = (
        "GET /socket HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Origin: http://127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==",
    )
    plain.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())


HOSTILE = [
    "",
    "{",
    "[]",
    "null",
    "[" * 100_000,
    "1e999",
    '{"do": 7}',
    '{"do": "__class__"}',
    '{"do": "act", "action": -1}',
    '{"do": "act", "action": 1.5}',
    '{"do": "act", "action": true}',
    '{"do": "act", "action": 1e400}',
    '{"do": "rate", "value": 0}',
    '{"do": "rate", "value": 100000000}',
    '{"do": "back", "to": "../../etc/passwd"}',
    '{"do": "policy", "name": "file:/etc/passwd"}',
    '{"do": "policy", "name": "os:system"}',
    '{"do": "replay", "session": {"format": 1, "actions": [[]]}}',
    '{"do": "replay"}',
    '{"do": "latency", "milliseconds": NaN}',
    '{"do": "latency", "milliseconds": -5}',
    '{"do": "mark", "words": ' + '"x' * 5000 + '"}',
    '{"do": "record", "on": "yes"}',
    '{"do": "restart", "seed": -9}',
    "\x00\ud7ff😀",
]


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
            max_leaves=8,
        ).map(json.dumps),
        st.fixed_dictionaries(
            {"do": st.sampled_from(["act", "rate", "back", "step", "mark", "pause", "restart", "policy", "latency"])},
            optional={
                name: st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=300)
                for name in ("action", "input", "value", "to", "on", "words", "seed", "name", "milliseconds")
            },
        ).map(json.dumps),
    )
)
def test_any_text_is_a_wish_or_refused_in_a_sentence(text: str) -> None:
    try:
        message = read_message(text)
    except UserError as error:
        assert "\n" not in str(error) and len(str(error)) < 200
        return
    assert isinstance(message, Message)


def flood(port: int, count: int) -> None:
    """Hostile messages, a few or many in one connection: after twenty senseless ones the server closes it."""
    sent = 0
    random = np.random.default_rng(0)
    while sent < count:
        with suppress(ConnectionClosed, ConnectionError), player(port) as mine:
            hear(mine, "hello")
            for _ in range(int(random.choice([10, 15, 200]))):
                text = HOSTILE[int(random.integers(len(HOSTILE)))]
                mine.send(random.bytes(50) if random.random() < 0.02 else text)
                sent += 1
            hear(mine, "problem")


def check_that_hostility_disturbs_nobody(serve: Serve, count: int) -> None:
    port = serve()
    threads = threading.active_count()
    with player(port) as other:
        flooding = threading.Thread(target=flood, args=(port, count))
        flooding.start()
        steps = [frame(other)[0]]
        while flooding.is_alive():
            steps.append(frame(other)[0])
        assert steps == list(range(steps[0], steps[0] + len(steps)))
        say(other, "score")
        assert hear(other, "score")["failures"] == []
    flooding.join()
    with player(port) as afterwards:
        assert frame(afterwards)[0] == 0
    time.sleep(0.5)
    assert threading.active_count() <= threads + 4


def test_hostile_messages(serve: Serve) -> None:
    check_that_hostility_disturbs_nobody(serve, 500)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_hostile_messages(serve: Serve) -> None:
    check_that_hostility_disturbs_nobody(serve, 10_000)


def test_a_message_that_is_too_large_ends_the_connection(serve: Serve) -> None:
    with player(serve()) as mine, pytest.raises(ConnectionClosed):
        mine.send("x" * (LARGEST_MESSAGE + 1))
        while True:
            mine.recv(timeout=20)


def test_a_taken_port_is_named() -> None:
    taken = listen("127.0.0.1", 0)
    taken.listen()
    port = taken.getsockname()[1]
    with pytest.raises(UserError, match=f"127.0.0.1:{port} cannot be served on .* choose another --port"):
        listen("127.0.0.1", port)
    with pytest.raises(UserError, match="choose another --port"):
        listen("127.0.0.1", 70_000)
    taken.close()


def test_frames_are_packed_as_the_page_unpacks_them(serve: Serve, stage: Stage) -> None:
    from framedream.use.play.game import Seen

    dream, real = np.full((2, 3, 3), 7, np.uint8), np.full((2, 3, 3), 9, np.uint8)
    seen = Seen(step=70_000, dream=dream, real=real, real_over=True, error=1.5, usual=None, strangeness=1.0)
    packed = pack_frame(seen, answered=5, paused=True, policy=False, rate=30.0)
    kind, flags, height, width, pictures, step, answered = struct.unpack_from("<BBHHHII", packed)
    assert (kind, flags, height, width, pictures, step, answered) == (1, 1 | 2 | 4, 2, 3, 2, 70_000, 5)
    error, usual, strangeness, rate = struct.unpack_from("<ffff", packed, 16)
    assert (error, strangeness, rate) == (1.5, 1.0, 30.0) and np.isnan(usual)
    assert packed[32:] == dream.tobytes() + real.tobytes()
