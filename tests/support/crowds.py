"""Many plain sockets at once, for peers that do less than a peer should.

Owns: opening them, sending a little on each, seeing which were closed, and enough descriptors to do so.
Must not know: what the server should do about them.
"""

import contextlib
import resource
import select
import socket
from collections.abc import Iterable, Iterator
from typing import Final, Self

from tests.support.peer import Peer

_CLOSED_ERRORS: Final = (ConnectionResetError, BrokenPipeError)


@contextlib.contextmanager
def many_descriptors() -> Iterator[None]:
    """Let this process have as many as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def expect_refused(address: str, within_s: float) -> None:
    """Connect, and wait until the server has closed that; a reset may come before the connect is over."""
    with contextlib.suppress(*_CLOSED_ERRORS), Peer(address, within_s) as newcomer:
        newcomer.expect_closed()


class Crowd:
    """Plain connections to one server; those that the server closes leave it. `with` closes the rest."""

    def __init__(self, address: str, count: int, *, first: bytes = b"", receive_buffer: int = 0) -> None:
        """Connect so many, and send `first` on each."""
        host, _, port = address.rpartition(":")
        self._target = (host, int(port))
        self._receive_buffer = receive_buffer
        self.sockets: list[socket.socket] = []
        for _ in range(count):
            self.add(first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.sockets)

    def add(self, first: bytes = b"") -> None:
        """Connect one more; one that is refused at once is none."""
        sock = socket.socket()
        if self._receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
        sock.settimeout(10)
        try:
            sock.connect(self._target)
            sock.sendall(first)
        except _CLOSED_ERRORS:
            sock.close()
            return
        sock.setblocking(False)
        self.sockets.append(sock)

    def send(self, data: bytes) -> int:
        """Send as much of this on each as goes without waiting, and return how many bytes that was in all."""
        sent = 0
        for sock in self.sockets:
            with contextlib.suppress(BlockingIOError, *_CLOSED_ERRORS):
                sent += sock.send(data)
        return sent

    def drop_closed(self) -> int:
        """Take out those that the server has closed, reading nothing from the others; return how many are left."""
        self.leave(sock for sock in self.sockets if _is_closed(sock))
        return len(self.sockets)

    def answered(self) -> int:
        """Return on how many something has arrived that was not read yet."""
        return sum(map(self.is_answered, self.sockets))

    def is_answered(self, sock: socket.socket) -> bool:
        """Tell whether something has arrived that was not read yet."""
        return _is_readable(sock) and not _is_closed(sock)

    def leave(self, sockets: Iterable[socket.socket]) -> None:
        """Close these."""
        for sock in list(sockets):
            sock.close()
            self.sockets.remove(sock)

    def close(self) -> None:
        """Close all."""
        self.leave(self.sockets)


def _is_readable(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _is_closed(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    return bool(poll.poll(0))  # POLLHUP and POLLERR come unasked
