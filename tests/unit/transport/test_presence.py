"""Whether a peer still waits for its answer."""

import socket
import struct
from collections.abc import Iterator

import pytest
from tests.support.waiting import wait_until

from cosmodrome.transport.presence import Presence, presence_of

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = socket.create_connection(listener.getsockname())
        ours, _ = listener.accept()
    with peer, ours:
        yield ours, peer


def test_a_peer_that_is_there(pair: Pair) -> None:
    ours, peer = pair
    peer.sendall(b"more than was read")

    assert presence_of(ours) is Presence.HERE


def test_a_peer_that_has_finished(pair: Pair) -> None:
    """Whether or not what it sent before was read."""
    ours, peer = pair
    peer.sendall(b"unread")
    peer.shutdown(socket.SHUT_WR)

    wait_until(lambda: presence_of(ours) is Presence.FINISHED, "the end to be seen", 10)


def test_a_peer_that_reset_the_connection(pair: Pair) -> None:
    ours, peer = pair
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()

    wait_until(lambda: presence_of(ours) is Presence.GONE, "the reset to be seen", 10)


def test_a_socket_of_ours_that_is_closed(pair: Pair) -> None:
    ours, _ = pair
    ours.close()

    assert presence_of(ours) is Presence.GONE
