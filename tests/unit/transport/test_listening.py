"""Listening sockets."""
# ruff: noqa: S104 -- any address is what is tested

import errno
import socket

import pytest

from cosmodrome.transport.listening import bind_error, listening_socket


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_or_a_name(host: str) -> None:
    with listening_socket(host, 0) as sock:
        assert sock.getsockname()[1] > 0
        assert sock.gettimeout() == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_any_address_is_both_families(host: str) -> None:
    with listening_socket(host, 0) as sock:
        assert sock.family == socket.AF_INET6
        assert not sock.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)


def no_ipv6(number: int) -> type[socket.socket]:
    class Socket(socket.socket):
        def __init__(self, family: int = -1, kind: int = -1) -> None:
            if family == socket.AF_INET6:
                raise OSError(number, "no")
            super().__init__(family, kind)

    return Socket


def test_ipv4_alone_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", no_ipv6(errno.EAFNOSUPPORT))

    with listening_socket("0.0.0.0", 0) as sock:
        assert sock.family == socket.AF_INET
    with pytest.raises(OSError, match="no"):
        listening_socket("::", 0)


def test_other_failures_of_ipv6_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", no_ipv6(errno.EMFILE))

    with pytest.raises(OSError, match="no"):
        listening_socket("0.0.0.0", 0)


def test_where_a_socket_cannot_have_both(monkeypatch: pytest.MonkeyPatch) -> None:
    class Socket(socket.socket):
        def setsockopt(self, *what: object) -> None:
            if what[:2] == (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY):
                raise OSError(errno.ENOPROTOOPT, "no")

    monkeypatch.setattr(socket, "socket", Socket)

    with listening_socket("0.0.0.0", 0) as sock:
        assert sock.family == socket.AF_INET


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_number_that_is_no_port(port: int) -> None:
    with pytest.raises(OSError, match="is not between 0 and 65535") as caught:
        listening_socket("127.0.0.1", port)

    assert caught.value.errno == errno.EINVAL


def test_an_address_of_another_host() -> None:
    with pytest.raises(OSError, match=r".") as caught:
        listening_socket("192.0.2.1", 0)

    assert caught.value.errno == errno.EADDRNOTAVAIL


def test_a_taken_port_leaves_no_socket_behind() -> None:
    with listening_socket("127.0.0.1", 0) as sock:
        sock.listen()
        with pytest.raises(OSError, match=r"."):
            listening_socket("127.0.0.1", sock.getsockname()[1])


def test_a_port_may_be_taken_again_at_once() -> None:
    """Connections of an earlier process may still be closing."""
    with listening_socket("127.0.0.1", 0) as sock:
        sock.listen()
        port = sock.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as peer:
            sock.setblocking(True)
            accepted, _ = sock.accept()
            accepted.close()
            peer.recv(1)
    with listening_socket("127.0.0.1", port) as again:
        assert again.getsockname()[1] == port


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EADDRINUSE, "address already in use"),
        (errno.EACCES, "permission denied"),
        (errno.EADDRNOTAVAIL, "this host does not have that address"),
        (errno.EMFILE, "Too many open files"),
    ],
)
def test_why_an_address_could_not_be_had(number: int, reason: str) -> None:
    error = bind_error("10.0.0.1", 9876, OSError(number, "Too many open files"))

    assert error.what == f"cannot listen on 10.0.0.1:9876: {reason}."


def test_a_reason_without_a_number() -> None:
    """As of a name that does not resolve."""
    assert bind_error("nowhere", 1, OSError("what")).what == "cannot listen on nowhere:1: what."
