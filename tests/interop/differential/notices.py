"""What a server tells the brokers of a history: NOTIFY_MIN_BROKER_ID_CHANGE (905).

Owns: a listening socket for each broker address, and what has arrived there.
Must not know: which notices are due.

Nothing is read until somebody asks: the kernel accepts connections and keeps what they carry.
"""

import select
import socket
from collections.abc import Callable, Iterable
from typing import Final

from tests.support.wire import Answer, split

PORTION_BYTES: Final = 65536

Notices = dict[str, list[str]]
"""Broker address → what it was told, in order."""


class NoticeListener:
    """Brokers that only listen."""

    def __init__(self, addrs: Iterable[str]) -> None:
        """Listen on addresses of the form `host:port`."""
        self._listeners: dict[socket.socket, str] = {}
        self._peers: dict[socket.socket, tuple[str, bytes]] = {}
        self._seen: Notices = {}
        for addr in addrs:
            host, _, port = addr.rpartition(":")
            listener = socket.create_server((host, int(port)))
            listener.setblocking(False)
            self._listeners[listener] = addr

    def collect(self, unfill: Callable[[str], str], wait_s: float = 0) -> Notices:
        """Return all that has arrived since the start, waiting so long if nothing is new."""
        ready, _, _ = select.select([*self._listeners, *self._peers], [], [], wait_s)
        while ready:
            for each in ready:
                if each in self._listeners:
                    self._accept(each)
                else:
                    self._read(each)
            ready, _, _ = select.select([*self._listeners, *self._peers], [], [], 0)
        return {unfill(addr): [unfill(text) for text in texts] for addr, texts in sorted(self._seen.items())}

    def close(self) -> None:
        """Stop listening and close what has come."""
        for each in [*self._listeners, *self._peers]:
            each.close()
        self._listeners.clear()
        self._peers.clear()

    def _accept(self, listener: socket.socket) -> None:
        peer, _ = listener.accept()
        self._peers[peer] = (self._listeners[listener], b"")

    def _read(self, peer: socket.socket) -> None:
        addr, before = self._peers[peer]
        data = peer.recv(PORTION_BYTES)
        if not data:
            peer.close()
            del self._peers[peer]
            return
        requests, rest = split(before + data)
        self._peers[peer] = (addr, rest)
        self._seen.setdefault(addr, []).extend(_text(request) for request in requests)


def _text(request: Answer) -> str:
    """Return all of a notice but its opaque number and its version, as text."""
    fields = " ".join(f"{name}={value}" for name, value in sorted((request.ext or {}).items()))
    return f"{request.code} flag {request.flag} {request.codec} {fields} {request.body!r}"
