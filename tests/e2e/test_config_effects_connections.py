"""Every configuration key does what it says, in the real process: limits on connections, their time and their answers.

All of them wait for the next start; tests/field/test_connection_limit_cases.py has the scenarios they are for.
"""

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.crowds import Crowd, expect_refused
from tests.support.field import Names
from tests.support.peer import NO_ROUTE, ROUTE, SUCCESS, Peer, peers, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.shown_keys import When, shows
from tests.support.waiting import wait_until
from tests.support.wire import encode_request

SOON_S: Final = 60.0
KIB: Final = 1024
BEGUN_FRAME: Final = b"\0\1\0\0\0\0\0\x64{"


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request.node.name.partition("[")[0])


def closed_after_s(server: ServerProcess, first: bytes) -> float:
    """Send this and nothing more, and return after how many seconds the connection was closed."""
    with Peer(server.address) as peer:
        begin = time.monotonic()
        peer.send(first)
        peer.expect_closed(SOON_S)
        return time.monotonic() - begin


@pytest.mark.parametrize(
    ("key", "first", "cause"),
    [
        ("greetingTimeoutSeconds", b"PROXY TCP4 ", "greeting_deadline"),
        ("frameTimeoutSeconds", BEGUN_FRAME, "frame_deadline"),
    ],
)
@shows("greetingTimeoutSeconds", "frameTimeoutSeconds", when=When.START)
def test_how_long_what_has_begun_is_waited_for(tmp_path: Path, key: str, first: bytes, cause: str) -> None:
    for seconds in (1, 4):
        with ServerProcess(tmp_path / str(seconds), config={key: seconds}) as server:
            assert closed_after_s(server, first) > seconds
            wait_for_line(server, event="connection.refused", cause=cause)


@shows("minBytesPerSecond", when=When.START)
def test_the_slowest_pace(tmp_path: Path, names: Names) -> None:
    """The same trickle of 20 bytes a second is enough or not."""
    whole = encode_request(ROUTE, {"topic": names("T")}, b"x" * 100_000, opaque=1)
    for pace, is_enough in ((1, True), (10_000, False)):
        config = {"frameTimeoutSeconds": 1, "minBytesPerSecond": pace}
        with ServerProcess(tmp_path / str(pace), config=config) as server, Peer(server.address) as peer:
            at = 0
            with contextlib.suppress(ConnectionError):
                for at in range(0, 200, 2):
                    peer.send(whole[at : at + 2])
                    time.sleep(0.1)
            if is_enough:
                peer.send(whole[at + 2 :])
                assert peer.answer_to(1).code == NO_ROUTE
            else:
                wait_for_line(server, event="connection.refused", cause="frame_deadline")
                peer.expect_closed(SOON_S)


SMALL_BUFFERS: Final = {"serverSocketSndBufSize": 8 * KIB, "serverChannelMaxIdleTimeSeconds": 600}


@contextlib.contextmanager
def greedy_peers(server: ServerProcess, names: Names, count: int) -> Iterator[Crowd]:
    """Register a route of 10 KB, and have so many peers ask for it over and over and read nothing."""
    with Peer(server.address) as broker, Crowd(server.address, count, receive_buffer=4 * KIB) as crowd:
        for number in range(60):
            broker.registered(names.broker(f"b{number}"), topics_named(names("T"), names("U")))
        crowd.send(encode_request(ROUTE, {"topic": names("T")}, opaque=1) * 500)
        yield crowd


@shows("writeTimeoutSeconds", when=When.START)
def test_how_long_a_peer_may_take_no_answers(tmp_path: Path, names: Names) -> None:
    for seconds in (1, 5):
        config = SMALL_BUFFERS | {"writeTimeoutSeconds": seconds}
        with ServerProcess(tmp_path / str(seconds), config=config) as server, greedy_peers(server, names, 2) as crowd:
            begin = time.monotonic()
            wait_until(lambda crowd=crowd: crowd.drop_closed() == 0, "the reset", SOON_S)  # type: ignore[misc]
            assert seconds == 1 or time.monotonic() - begin > seconds - 1
            wait_for_line(server, event="connection.refused", cause="write_stalled")


@shows("maxUnsentBytes", when=When.START)
def test_what_peers_that_take_nothing_are_owed(tmp_path: Path, names: Names) -> None:
    for limit in (512 * KIB, 0):
        config = SMALL_BUFFERS | {"maxUnsentBytes": limit}
        with (
            ServerProcess(tmp_path / str(limit), config=config) as server,
            greedy_peers(server, names, 20) as crowd,
            Peer(server.address) as other,
        ):
            assert other.ask_route(names("T")).code == SUCCESS
            if limit:
                wait_until(lambda crowd=crowd: crowd.drop_closed() < 15, "the reset of some", SOON_S)  # type: ignore[misc]
                wait_for_line(server, event="connection.refused", cause="unsent_bytes")
            else:
                assert other.is_silent(2.5), "the server looks twice at what is owed"
                assert crowd.drop_closed() == 20


@shows("maxConnections", when=When.START)
def test_how_many_connections(tmp_path: Path, names: Names) -> None:
    with ServerProcess(tmp_path, config={"maxConnections": 5}) as server, peers(server.address, 5) as clients:
        assert [client.route(names("T")) for client in clients] == [None] * 5
        expect_refused(server.address, SOON_S)
        wait_for_line(server, event="connection.refused", cause="too_many_connections")


@shows("maxConnectionsPerAddress", when=When.START)
def test_how_many_connections_of_one_address(tmp_path: Path, names: Names) -> None:
    config = {"maxConnectionsPerAddress": 5, "bindAddress": "127.0.0.1"}
    with ServerProcess(tmp_path, config=config) as server, peers(server.address, 5) as clients:
        assert [client.route(names("T")) for client in clients] == [None] * 5
        expect_refused(server.address, SOON_S)
        line = wait_for_line(server, event="connection.refused", cause="too_many_connections_of_address")
        assert "127.0.0.1" in line["reason"]
        with socket.create_connection(("127.0.0.1", server.port), 10, ("127.0.0.2", 0)) as sock:
            sock.sendall(encode_request(ROUTE, {"topic": names("T")}, opaque=1))
            assert sock.recv(1), "another address has room of its own"
