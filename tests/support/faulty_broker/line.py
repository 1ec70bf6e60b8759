"""One connection to the double.

Owns: the bytes of a connection, the opaques of requests that the broker sends, and one request under way (`Under`).
Must not know: what a request means; which faults there are.
"""

import asyncio
import struct
from collections.abc import Callable, Mapping
from socket import SO_LINGER, SOL_SOCKET
from typing import Final, Protocol, cast

from tests.support import wire
from tests.support.faulty_broker.faults import Fault
from tests.support.faulty_broker.journal import Arrival, Command, Reply

_LENGTH_BYTES: Final = 4
_NOTIFIED: Final = "a request of the broker's was lost with its connection"


class LineOwner(Protocol):
    """What a connection reports to, and what a request under way needs of its broker."""

    is_mute: bool

    @property
    def version(self) -> int:
        """The version in its frames."""

    def line_made(self, line: "Line") -> None:
        """A peer has connected."""

    def line_lost(self, line: "Line") -> None:
        """Its connection has ended."""

    def taken(self, line: "Line", command: Command, frame: bytes) -> None:
        """It has sent a request."""

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later, unless the broker stops first."""

    def answered(self) -> None:
        """An answer was written or a connection closed."""


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, owner: LineOwner, number: int) -> None:
        self.number = number
        self.peer = ""
        self.host = ("127.0.0.1", 0)
        self.is_open = False
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._outbox: list[bytes] = []
        self._is_closing = False
        self._opaque = 0
        self._asked: dict[int, asyncio.Future[Command]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept it; a mute broker reads nothing of it."""
        self._transport = cast("asyncio.Transport", transport)
        host, port = transport.get_extra_info("peername")[:2]
        self.host, self.peer, self.is_open = (host, port), f"{host}:{port}", True
        if self._owner.is_mute:
            self._transport.pause_reading()
        self._owner.line_made(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail what waits for the peer."""
        self.is_open = False
        for waiter in self._asked.values():
            if not waiter.done():
                waiter.cancel(_NOTIFIED)
        self._asked.clear()
        self._owner.line_lost(self)

    def data_received(self, data: bytes) -> None:
        """Cut frames out of what came and hand them on; a mute broker leaves them until it is not mute any more."""
        self._buffer += data
        if not self._owner.is_mute:
            self._cut()

    def _cut(self) -> None:
        at = 0
        while len(self._buffer) - at >= _LENGTH_BYTES:
            end = at + _LENGTH_BYTES + int.from_bytes(self._buffer[at : at + _LENGTH_BYTES])
            if end > len(self._buffer):
                break
            frame, at = bytes(self._buffer[at:end]), end
            self._take(frame)
            if self._owner.is_mute:
                break
        del self._buffer[:at]

    def _take(self, frame: bytes) -> None:
        command = wire.decode(frame[_LENGTH_BYTES:])
        if not command.flag & wire.FLAG_RESPONSE:
            self._owner.taken(self, command, frame)
            return
        waiter = self._asked.pop(command.opaque, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(command)

    def write(self, data: bytes, *, piece: int = 0) -> None:
        """Write bytes behind those that wait; in pieces, one in each turn of the loop, if it is given."""
        if not self.is_open or self._is_closing or self._transport is None:
            return
        if not self._outbox and not piece:
            self._transport.write(data)
            return
        is_pumping = bool(self._outbox)
        step = piece or len(data)
        self._outbox += [data[at : at + step] for at in range(0, len(data), step)]
        if not is_pumping:
            self._pump()

    def _pump(self) -> None:
        if self._transport is None or not self.is_open:
            return
        self._transport.write(self._outbox.pop(0))
        if self._outbox:
            self._owner.later(0, self._pump)
        elif self._is_closing:
            self._transport.close()

    def close(self, *, is_reset: bool = False) -> None:
        """Close in good order after what waits to be written, or by a reset at once."""
        if self._transport is None or not self.is_open:
            return
        self._is_closing = True
        if is_reset:
            linger = struct.pack("ii", 1, 0)
            self._transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, linger)
            self._transport.abort()
        elif not self._outbox:
            self._transport.close()

    def hush(self, *, is_mute: bool) -> None:
        """Stop reading, or read again."""
        if self._transport is not None and self.is_open:
            self._transport.pause_reading() if is_mute else self._transport.resume_reading()
            if not is_mute:
                self._cut()

    def send(self, code: int, ext: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        """Send a request of the broker's that wants no answer."""
        self._post(code, ext, body, wire.FLAG_ONEWAY)

    def ask(self, code: int, ext: Mapping[str, str] | None = None, body: bytes = b"") -> asyncio.Future[Command]:
        """Send a request of the broker's; the future is cancelled when the connection ends first."""
        waiter: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        if self.is_open:
            self._asked[self._post(code, ext, body, 0)] = waiter
        else:
            waiter.cancel(_NOTIFIED)
        return waiter

    def _post(self, code: int, ext: Mapping[str, str] | None, body: bytes, flag: int) -> int:
        self._opaque += 1
        version = self._owner.version
        self.write(wire.encode_request(code, ext, body, opaque=self._opaque, flag=flag, version=version))
        return self._opaque


class Under:
    """One request under way: what `faults.Call` promises."""

    def __init__(self, owner: LineOwner, line: Line, arrival: Arrival, fault: Fault) -> None:
        self.arrival = arrival
        self.line = line
        self._owner = owner
        self._fault = fault
        self.work: Callable[[Under], Reply | None] = lambda _: None

    def start(self, work: Callable[["Under"], Reply | None]) -> None:
        """Let the fault take it; `work` is what the request asks, None from it means that `answer` is called later."""
        self.work = work
        self._fault.meet(self)

    def act(self) -> None:
        """Do the work once."""
        reply = self.work(self)
        if reply is not None:
            self.answer(reply)

    def answer(self, reply: Reply) -> None:
        """Hand the answer to the fault. Nothing is ever written for a oneway, but its connection may be closed."""
        self._fault.deliver(self, reply)

    def send(self, reply: Reply) -> None:
        """Write an answer."""
        if self.arrival.is_oneway or not self.line.is_open:
            return
        self.arrival.replies.append(reply)
        self.line.write(self.frame(reply))
        self._owner.answered()

    def frame(self, reply: Reply, opaque: int | None = None) -> bytes:
        """Give an answer as bytes: JSON from a 5.x broker, the request's codec from a 4.9 one."""
        command = self.arrival.command
        return wire.encode_request(
            reply.code,
            reply.ext,
            reply.body,
            opaque=command.opaque if opaque is None else opaque,
            flag=wire.FLAG_RESPONSE,
            remark=reply.remark,
            version=self._owner.version,
            codec="JSON" if self._owner.version > 412 else command.codec,
        )

    def write(self, data: bytes, *, piece: int = 0) -> None:
        """Write bytes as they are."""
        if not self.arrival.is_oneway:
            self.line.write(data, piece=piece)
        self._owner.answered()

    def close(self, *, is_reset: bool = False) -> None:
        """Close the connection."""
        self.line.close(is_reset=is_reset)
        self._owner.answered()

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later."""
        self._owner.later(seconds, act)

    def now_s(self) -> float:
        """Give the time of the loop."""
        return asyncio.get_running_loop().time()
