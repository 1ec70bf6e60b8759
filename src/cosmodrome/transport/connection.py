"""One accepted connection.

Owns: bytes in and out of one socket; requests of one peer in order; back-pressure; how it ends.
Must not know: what requests mean; the other connections.
"""

import asyncio
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from cosmodrome.errors import GreetingRefusedError, ProtocolError
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command, response_to
from cosmodrome.protocol.frame import DEFAULT_MAX_FRAME_BYTES, FrameDecoder
from cosmodrome.transport.dispatch import Answer, Peer
from cosmodrome.transport.entrance import Entrance, EntrancePolicy

logger = logging.getLogger(__name__)

_FLUSH_BYTES: Final = 64 * 1024
_CLOSE_TIMEOUT_S: Final = 5.0
_LONGEST_REMARK: Final = 1000
_KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
"""How soon a vanished host is noticed: seconds, seconds, probes, and milliseconds for what was sent; where known."""
_LINGER_RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """The limits of one connection. Sizes of 0 leave the system's or asyncio's default."""

    max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES
    send_buffer_bytes: int = 0
    receive_buffer_bytes: int = 0
    high_water_bytes: int = 0
    low_water_bytes: int = 0
    entrance: EntrancePolicy = field(default_factory=EntrancePolicy)


class ConnectionOwner(Protocol):
    """What a connection needs of its server."""

    def dispatch(self, request: RemotingCommand, peer: Peer) -> Answer:
        """Answer a request."""

    def connection_made(self, connection: "Connection") -> None:
        """Take note of a connection."""

    def connection_lost(self, connection: "Connection") -> None:
        """Take note that a connection is gone."""

    def protocol_error(self, connection: "Connection", error: ProtocolError) -> None:
        """Take note that a peer does not speak the protocol."""


class Connection(asyncio.Protocol):
    """Requests of one peer, answered in the order in which they came.

    While the peer does not read, nothing more is read from it and nothing more is answered: what it costs is
    the transport's high-water mark, one burst of answers, and what it had sent by then.
    """

    __slots__ = (
        "_clock",
        "_closing",
        "_decoder",
        "_entrance",
        "_has_peer_finished",
        "_is_closing",
        "_is_paused",
        "_options",
        "_owner",
        "_task",
        "_transport",
        "entering_since_s",
        "last_active_s",
        "peer",
    )

    def __init__(self, owner: ConnectionOwner, connection_id: int, options: ConnectionOptions) -> None:
        self._owner = owner
        self._options = options
        self._decoder = FrameDecoder(options.max_frame_bytes)
        self._entrance: Entrance | None = Entrance(options.entrance)
        self._transport: asyncio.Transport | None = None
        self._clock: Callable[[], float] = asyncio.get_running_loop().time
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._is_paused = False
        self._is_closing = False
        self._has_peer_finished = False
        self.peer = Peer(connection_id, "unknown")
        self.last_active_s = self._clock()
        self.entering_since_s: float | None = None
        """Since when its first bytes wait for the rest of a greeting or handshake; None when they do not."""

    @property
    def work(self) -> asyncio.Task[None] | None:
        """The request that is being worked on, if any; its end is the end of its answer."""
        return self._task

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        stream = cast("asyncio.Transport", transport)  # uvloop's is one in all but its base class
        self._transport = stream
        address = format_address(stream.get_extra_info("peername"))
        self.peer = Peer(self.peer.connection_id, address, address)
        sock = stream.get_extra_info("socket")
        if sock is not None:
            _set_socket_options(sock, self._options)
        if self._options.high_water_bytes and self._options.low_water_bytes:
            stream.set_write_buffer_limits(self._options.high_water_bytes, self._options.low_water_bytes)
        self._owner.connection_made(self)

    def data_received(self, data: bytes) -> None:
        """Take what the peer sent."""
        self.last_active_s = self._clock()
        if self._entrance is not None:
            data = self._let_in(self._entrance, data)
        if data:
            self._decoder.feed(data)
            if self._task is None and not self._is_paused:
                self._answer_frames()

    def _let_in(self, entrance: Entrance, data: bytes) -> bytes:
        """Pass bytes through the layers below the frames, and give what is for the frames."""
        try:
            admitted = entrance.receive(data)
        except ProtocolError as error:
            if isinstance(error, GreetingRefusedError) and error.reply:
                self._send(error.reply)
            self._entrance = None
            self._refuse(error)
            return b""
        if admitted.wire:
            self._send(admitted.wire)
        if not entrance.is_waiting or admitted.end is not None:
            self.entering_since_s = None
        elif self.entering_since_s is None:
            self.entering_since_s = self.last_active_s
        if entrance.source and self.peer.address == self.peer.socket_address:
            self.peer = self.peer._replace(address=entrance.source)
        if entrance.is_bare:
            self._entrance = None
        if admitted.end is not None:
            self._has_peer_finished = True
            asyncio.get_running_loop().call_soon(self._go_on)
        return admitted.plain

    def _send(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _refuse(self, error: ProtocolError) -> None:
        self._owner.protocol_error(self, error)
        self.close()

    def eof_received(self) -> bool:
        """Close our side too, once what the peer asked is answered and sent."""
        self._has_peer_finished = True
        return self._task is not None or self._is_paused

    def connection_lost(self, exc: Exception | None) -> None:
        """End: nothing can be sent any more."""
        self._is_closing = True
        self._transport = None
        if self._closing is not None:
            self._closing.cancel()
        if exc is not None:
            logger.debug("connection of %s broke: %s", self.peer.address, exc)
        self._owner.connection_lost(self)

    def pause_writing(self) -> None:
        """Stop reading: the peer does not take its answers."""
        self._is_paused = True
        if self._transport is not None and not self._is_closing:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on: the peer has taken its answers."""
        self._is_paused = False
        self.last_active_s = self._clock()
        if self._transport is None or self._is_closing:
            return
        if self._task is None:
            self._answer_frames()
        self._go_on()

    def close(self) -> None:
        """Close after what was answered is sent; a peer that does not take it within seconds is reset."""
        if self._is_closing or self._transport is None:
            return
        self._is_closing = True
        if self._transport.get_write_buffer_size() > 0 and self._is_paused:
            self.reset()
            return
        if self._entrance is not None:
            self._send(self._entrance.close())
        self._transport.close()
        if self._transport.get_write_buffer_size() > 0:
            self._closing = asyncio.get_running_loop().call_later(_CLOSE_TIMEOUT_S, self.reset)

    def reset(self) -> None:
        """End at once. The peer is told by a reset, even one that does not read: nothing stays in the kernel."""
        self._is_closing = True
        if self._transport is None:
            return
        sock = self._transport.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
        self._transport.abort()

    def _answer_frames(self) -> None:
        """Answer the frames that are here, until one must wait, the peer stops reading, or bytes are missing."""
        answers: list[bytes] = []
        size = 0
        try:
            while self._task is None and not self._is_paused and not self._is_closing:
                frame = self._decoder.next_frame()
                if frame is None:
                    break
                encoded = self._answer(decode_command(frame))
                if encoded is None:
                    continue
                answers.append(encoded)
                size += len(encoded)
                if size >= _FLUSH_BYTES:
                    self._write(answers)
                    answers, size = [], 0
        except ProtocolError as error:
            self._write(answers)
            self._refuse(error)
            return
        self._write(answers)

    def _answer(self, request: RemotingCommand) -> bytes | None:
        """Give the encoded answer; None when there is none (oneway, a response, or one that is still in work)."""
        if request.is_response:
            logger.debug("response %d of %s answers nothing that we asked", request.opaque, self.peer.address)
            return None
        answer = self._owner.dispatch(request, self.peer)
        if not isinstance(answer, RemotingCommand):
            self._wait_for(answer, request)
            return None
        return None if request.is_oneway else self._encode(answer, request)

    def _encode(self, answer: RemotingCommand, request: RemotingCommand) -> bytes:
        """Give the frame of an answer; one that fits no frame, ours or the peer's, becomes an error."""
        try:
            encoded = encode_command(answer)
        except ValueError as error:
            remark = f"the answer cannot be written: {error}"[:_LONGEST_REMARK]
            return encode_command(response_to(request, ResponseCode.SYSTEM_ERROR, remark))
        if len(encoded) > self._options.max_frame_bytes:
            remark = (
                f"the answer has {len(encoded)} bytes, more than the frame limit of {self._options.max_frame_bytes}"
            )
            return encode_command(response_to(request, ResponseCode.SYSTEM_ERROR, remark))
        return encoded

    def _wait_for(self, answer: Awaitable[RemotingCommand], request: RemotingCommand) -> None:
        """Hold back the peer's later requests until this one is answered."""
        if self._transport is not None:
            self._transport.pause_reading()
        self._task = asyncio.ensure_future(self._finish(answer, request))

    async def _finish(self, answer: Awaitable[RemotingCommand], request: RemotingCommand) -> None:
        response = await answer
        self._task = None
        if self._is_closing:
            return
        if not request.is_oneway:
            self._write([self._encode(response, request)])
        if not self._is_paused:
            self._answer_frames()
        self._go_on()

    def _go_on(self) -> None:
        """Read again, or close if the peer has said all it wanted to, unless something still holds us back."""
        if self._transport is None or self._task is not None or self._is_paused or self._is_closing:
            return
        if self._has_peer_finished:
            self.close()
        else:
            self._transport.resume_reading()

    def _write(self, answers: list[bytes]) -> None:
        if not answers:
            return
        self.last_active_s = self._clock()
        data = answers[0] if len(answers) == 1 else b"".join(answers)
        self._send(data if self._entrance is None else self._entrance.send(data))


def _set_socket_options(sock: socket.socket, options: ConnectionOptions) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if options.send_buffer_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
    if options.receive_buffer_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)


def format_address(name: object) -> str:
    """Give a socket name as `host:port`, IPv6 hosts in brackets, IPv4 ones that came over IPv6 as IPv4."""
    if not isinstance(name, tuple) or len(name) < 2:
        return "unknown"
    host, port = str(name[0]).split("%")[0].removeprefix("::ffff:"), name[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
