"""The other end of a connection, and the transport between.

Owns: what the kernel would do: bytes under way, flow control of both directions, FIN and reset.
Must not know: what the bytes mean.
"""

import asyncio
import socket
from collections import deque
from typing import Any, Final

_HIGH_WATER: Final = 64 * 1024
# As TCP_INFO numbers them.
_ESTABLISHED, _CLOSED, _CLOSE_WAIT, _GONE = 1, 7, 8, -1


class FuzzedSocket:
    """What a server does to a socket beside reading and writing it; it knows what the peer has done."""

    def __init__(self) -> None:
        self.state = _ESTABLISHED

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001 -- the signature is that of sockets
        """Nothing blocks."""

    def setsockopt(self, *_: Any) -> None:
        """There are no options."""

    def getsockopt(self, level: int, option: int, _length: int = 0) -> bytes:
        """Give the state of the connection, as Linux does."""
        assert (level, option) == (socket.IPPROTO_TCP, socket.TCP_INFO)
        return bytes([self.state])

    def fileno(self) -> int:
        """Give a number that no descriptor has."""
        return -1 if self.state == _GONE else 1_000_000

    def close(self) -> None:
        """End."""
        self.state = _GONE


class FuzzedPeer(asyncio.Transport):
    """A peer that does as it is told, and the transport of our end."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, address: tuple[str, int], sock: socket.socket | None = None
    ) -> None:
        """Take the address that our end is told. A real `sock` is never used, and closed with the connection."""
        super().__init__()
        self.sock: FuzzedSocket | socket.socket = sock or FuzzedSocket()
        self.sent = b""
        """What our end was given of what the peer sent."""
        self.received = b""
        """What the peer has read."""
        self.is_lost = False
        self.is_reset_by_peer = False
        self.most_unread = 0
        self._loop = loop
        self._address = address
        self._protocol: asyncio.Protocol | None = None
        self._under_way: deque[bytes | None] = deque()
        self._unread = b""
        self._takes = True
        self._is_reading = True
        self._is_closing = False
        self._is_paused = False
        self._high, self._low = _HIGH_WATER, _HIGH_WATER // 4

    # -- what the peer does

    def send(self, data: bytes) -> None:
        """Send bytes; they wait while our end does not read."""
        if data:
            self._under_way.append(data)
            self._pump()

    def finish(self) -> None:
        """Send FIN."""
        self._change_state(_CLOSE_WAIT)
        self._under_way.append(None)
        self._pump()

    def stop_taking(self) -> None:
        """Read no more."""
        self._takes = False

    def take(self, count: int | None = None) -> None:
        """Read so many bytes, or all and from now on everything."""
        if count is None:
            self._takes, count = True, len(self._unread)
        self.received += self._unread[:count]
        self._unread = self._unread[count:]
        if self._is_paused and len(self._unread) <= self._low:
            self._is_paused = False
            if self._protocol is not None and not self.is_lost:
                self._protocol.resume_writing()
        self._finish_closing()

    def break_off(self) -> None:
        """Reset the connection."""
        self.is_reset_by_peer = True
        self._change_state(_CLOSED)
        self._lose(ConnectionResetError("reset by the fuzzed peer"))

    # -- what our end does

    def attach(self, protocol: asyncio.Protocol) -> None:
        """Begin."""
        self._protocol = protocol
        protocol.connection_made(self)
        self._loop.call_soon(self._pump)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Give the names of both ends."""
        known = {"peername": self._address, "sockname": ("127.0.0.1", 9876), "socket": self.sock}
        return known.get(name, default)

    def write(self, data: Any) -> None:
        """Send bytes; the peer may not take them."""
        assert not self.is_lost, "written to a connection that is gone"
        if self._is_closing:
            return
        self._unread += bytes(data)
        if self._takes:
            self.take()
            return
        self.most_unread = max(self.most_unread, len(self._unread))
        if len(self._unread) > self._high and not self._is_paused and self._protocol is not None:
            self._is_paused = True
            self._protocol.pause_writing()

    def pause_reading(self) -> None:
        """Read no more."""
        self._is_reading = False

    def resume_reading(self) -> None:
        """Read again, in the next turn."""
        self._is_reading = True
        self._loop.call_soon(self._pump)

    def is_reading(self) -> bool:
        """Tell whether our end reads."""
        return self._is_reading

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Take note of the marks."""
        self._high = _HIGH_WATER if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Give the marks."""
        return self._low, self._high

    def get_write_buffer_size(self) -> int:
        """Give what the peer has not taken."""
        return len(self._unread)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Have another one told from now on."""
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def can_write_eof(self) -> bool:
        """Tell that our end may finish before the peer does."""
        return True

    def write_eof(self) -> None:
        """Finish our side; the peer takes no notice, and goes on sending."""

    def is_closing(self) -> bool:
        """Tell whether our end has closed."""
        return self._is_closing

    def close(self) -> None:
        """End when the peer has taken everything."""
        self._is_closing = True
        self._finish_closing()

    def abort(self) -> None:
        """End now."""
        self._unread = b""
        self._lose(None)

    def _change_state(self, state: int) -> None:
        if isinstance(self.sock, FuzzedSocket) and self.sock.state != _GONE:
            self.sock.state = state

    def _finish_closing(self) -> None:
        if self._is_closing and not self._unread:
            self._lose(None)

    def _lose(self, error: Exception | None) -> None:
        self._is_closing = True
        self._under_way.clear()
        self._loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        if not self.is_lost and self._protocol is not None:
            self.is_lost = True
            self.sock.close()
            self._protocol.connection_lost(error)

    def _pump(self) -> None:
        """Give our end what is under way, while it reads."""
        while self._under_way and self._is_reading and not self._is_closing and self._protocol is not None:
            piece = self._under_way.popleft()
            if piece is not None:
                self.sent += piece
                self._protocol.data_received(piece)
            elif not self._protocol.eof_received():
                self.close()
