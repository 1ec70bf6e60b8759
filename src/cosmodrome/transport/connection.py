"""One accepted connection.

Owns: bytes in and out of one socket; requests of one peer in order; back-pressure; how it ends.
Must not know: what requests mean; the other connections.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from cosmodrome.errors import GreetingRefusedError, PeerLimitError, ProtocolError
from cosmodrome.protocol.codes import LanguageCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command, response_to
from cosmodrome.protocol.frame import DEFAULT_MAX_FRAME_BYTES, DEFAULT_MAX_HEADER_BYTES, FrameDecoder
from cosmodrome.transport.dispatch import LATER, Answer, Express, Peer
from cosmodrome.transport.entrance import Entrance, EntrancePolicy
from cosmodrome.transport.limits import PeerLimits
from cosmodrome.transport.lingering import Lingering
from cosmodrome.transport.presence import Presence, presence_of
from cosmodrome.transport.read_budget import ReadBudget
from cosmodrome.transport.sockets import format_address, has_unread_bytes, reset_when_closed, set_socket_options
from cosmodrome.transport.standing_answers import StandingAnswers

logger = logging.getLogger(__name__)

_FLUSH_BYTES: Final = 64 * 1024
BURST_FRAMES: Final = 32
"""Requests of one peer that are answered before others have their turn: about a millisecond."""
_EXPRESS_FRAMES: Final = 4
"""Frames that are taken on the express way in the time of one other."""
_BIG_READ_BYTES: Final = 64 * 1024
"""A piece that only comes when more waits to be read."""
_LONG_READ_BYTES: Final = 1024 * 1024
"""So much of a frame is read before others have their turn: about a millisecond."""
_CLOSE_TIMEOUT_S: Final = 5.0
_LONGEST_REMARK: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """The limits of one connection. Sizes of 0 leave the system's or asyncio's default."""

    max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES
    max_header_bytes: int = DEFAULT_MAX_HEADER_BYTES
    send_buffer_bytes: int = 0
    receive_buffer_bytes: int = 0
    high_water_bytes: int = 0
    low_water_bytes: int = 0
    entrance: EntrancePolicy = field(default_factory=EntrancePolicy)


class ConnectionOwner(Protocol):
    """What a connection needs of its server."""

    @property
    def reads(self) -> ReadBudget:
        """How much all connections may answer before others have their turn."""

    @property
    def standing(self) -> StandingAnswers | None:
        """Answers that need no dispatching, if there are any."""

    @property
    def express(self) -> Express | None:
        """Who takes frames before anything is read of them, if anybody does now."""

    def dispatch(self, request: RemotingCommand, peer: Peer) -> Answer:
        """Answer a request."""

    def connection_made(self, connection: "Connection") -> None:
        """Take note of a connection."""

    def connection_lost(self, connection: "Connection") -> None:
        """Take note that a connection is gone."""

    def protocol_error(self, connection: "Connection", error: ProtocolError) -> None:
        """Take note that a peer does not speak the protocol."""

    def still_unproven(self, connection: "Connection") -> None:
        """Take note of bytes of a peer that has not sent a request that is served yet."""

    def is_served(self, code: int) -> bool:
        """Whether requests of this code are served."""

    def proven(self, connection: "Connection") -> None:
        """Take note that a peer has sent its first request that is served."""

    def response_received(self, connection: "Connection", response: RemotingCommand) -> None:
        """Take what a peer answers to what was sent to it."""

    def writing_paused(self, connection: "Connection") -> None:
        """Take note that a peer does not take its answers."""

    def writing_resumed(self, connection: "Connection") -> None:
        """Take note that a peer takes its answers again."""


class Connection(asyncio.Protocol):
    """Requests of one peer, answered in the order in which they came, but for those that are answered LATER.

    While the peer does not read, nothing more is read from it and nothing more is answered: what it costs is
    the transport's high-water mark, one burst of answers (64 KiB and one answer), and what it had sent by then.
    There is no timer of each connection: its owner asks those that are `is_awaited` from time to time.
    """

    __slots__ = (
        "_clock",
        "_closing",
        "_decoder",
        "_entrance",
        "_has_peer_finished",
        "_is_closing",
        "_is_finishing",
        "_is_held",
        "_is_paused",
        "_is_proven",
        "_options",
        "_out",
        "_out_bytes",
        "_owner",
        "_pace_base",
        "_pace_since_s",
        "_reads",
        "_standing",
        "_task",
        "_transport",
        "entering_since_s",
        "is_lingering",
        "language",
        "last_active_s",
        "peer",
        "version",
    )

    def __init__(self, owner: ConnectionOwner, connection_id: int, options: ConnectionOptions) -> None:
        self._owner = owner
        self._options = options
        self._decoder = FrameDecoder(options.max_frame_bytes, options.max_header_bytes)
        self._entrance: Entrance | None = Entrance(options.entrance)
        self._transport: asyncio.Transport | None = None
        self._clock: Callable[[], float] = asyncio.get_running_loop().time
        self._task: asyncio.Task[None] | None = None
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._closing: asyncio.TimerHandle | None = None
        self._reads = owner.reads
        self._standing = owner.standing
        self._is_held = False
        self._is_paused = False
        self._is_closing = False
        self._is_finishing = False
        self.is_lingering = False
        """Whether everything is said, and the peer has not closed."""
        self._is_proven = False
        self._pace_since_s: float | None = None
        self._pace_base = 0
        """From when on progress is measured (of taking answers while paused, else of a frame), and bytes by then."""
        self._has_peer_finished = False
        self.peer = Peer(connection_id, "unknown")
        self.language: LanguageCode | None = None
        self.version: int | None = None
        """What the peer said of itself with its first request that is served; None before."""
        self.last_active_s = self._clock()
        self.entering_since_s: float | None = None
        """Since when its first bytes wait for the rest of a greeting or handshake; None when they do not."""

    @property
    def work(self) -> asyncio.Task[None] | None:
        """The request that is being worked on, if any; its end is the end of its answer."""
        return self._task

    @property
    def presence(self) -> Presence:
        """Whether the peer still waits for its answers; looked up, since nothing is read while one is in work."""
        sock = None if self._transport is None else self._transport.get_extra_info("socket")
        return Presence.GONE if sock is None else presence_of(sock)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        stream = cast("asyncio.Transport", transport)  # uvloop's is one in all but its base class
        self._transport = stream
        address = format_address(stream.get_extra_info("peername"))
        self.peer = Peer(self.peer.connection_id, address, address)
        sock = stream.get_extra_info("socket")
        if sock is not None:
            set_socket_options(sock, self._options.send_buffer_bytes, self._options.receive_buffer_bytes)
        if self._options.high_water_bytes and self._options.low_water_bytes:
            stream.set_write_buffer_limits(self._options.high_water_bytes, self._options.low_water_bytes)
        self._owner.connection_made(self)

    def data_received(self, data: bytes) -> None:
        """Take what the peer sent. Pieces of a greeting, a handshake or a TLS record are no sign of activity."""
        now_s = self._clock()
        if self._entrance is not None:
            data = self._let_in(self._entrance, data, now_s)
        if data:
            self.last_active_s = now_s
            if not self._is_proven:
                self._owner.still_unproven(self)
            elif self._standing is not None and self._has_answered(data, self._standing):
                return
            self._decoder.feed(data)
            if self._is_held:
                if self._transport is not None:  # more than one read is not kept
                    self._transport.pause_reading()
            elif self._task is None and not self._is_paused:
                self._reads.left -= 1
                if self._reads.left < 0:
                    self._is_held = True
                    self._reads.hold(self)
                    return
                self._answer_frames()
                if len(data) >= _BIG_READ_BYTES and self._task is None:
                    self._let_others(len(data))

    def _has_answered(self, data: bytes, standing: StandingAnswers) -> bool:
        """Answer at once what are just questions that are known, unless something comes before them.

        Whoever waits for nothing and is paced by nothing has no frame begun (`_await_rest`).
        """
        if self._task is not None or self._pace_since_s is not None or self._is_held or self._entrance is not None:
            return False
        if self._reads.left <= 0 or self._is_closing or self._is_paused or self._transport is None:
            return False
        answer = standing.answer(data)
        if answer is None:
            return False
        self._reads.left -= 1
        self._transport.write(answer)
        return True

    def _let_others(self, read_bytes: int) -> None:
        """Let others have their turn if these last bytes of a long frame that is not whole completed a part of it."""
        begun = self._decoder.buffered_bytes
        if begun >= _LONG_READ_BYTES and begun % _LONG_READ_BYTES < read_bytes:
            self._hold_back(self._rest_of_burst())

    def _let_in(self, entrance: Entrance, data: bytes, now_s: float) -> bytes:
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
            self.entering_since_s = now_s
        if entrance.source and self.peer.address == self.peer.socket_address:
            self.peer = self.peer._replace(address=entrance.source)
        elif entrance.source == "" and not self.peer.is_source_withheld:
            self.peer = self.peer._replace(is_source_withheld=True)
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
        return self._task is not None or self._is_paused or self._is_held

    def connection_lost(self, exc: Exception | None) -> None:
        """End: nothing can be sent any more."""
        self._is_closing = True
        self._transport = None
        self._out.clear()
        if self._closing is not None:
            self._closing.cancel()
        if exc is not None:
            logger.debug("connection of %s broke: %s", self.peer.address, exc)
        self._owner.connection_lost(self)

    def answer_held(self) -> None:
        """Answer what came when it was the turn of others."""
        self._is_held = False
        if self._is_closing:
            return
        if self._task is None and not self._is_paused:
            self._answer_frames()
        self._go_on()

    def pause_writing(self) -> None:
        """Stop reading: the peer does not take its answers."""
        self._is_paused = True
        self._pace_since_s, self._pace_base = self._clock(), self.unsent_bytes
        self._owner.writing_paused(self)
        if self._transport is not None and not self._is_closing:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on: the peer has taken its answers."""
        self._is_paused = False
        self._pace_since_s = None
        self.last_active_s = self._clock()
        self._owner.writing_resumed(self)
        if self._transport is None or self._is_closing:
            return
        if self._task is None:
            self._answer_frames()
        self._go_on()

    def send(self, command: RemotingCommand) -> None:
        """Send a request of ours, or an answer that was to come later, with all others of this turn of the loop.

        When that is much it is written at once: `is_writable` tells then whether the peer takes it. Dropped when the
        connection is closing.
        """
        if self._transport is None or self._is_closing:
            return
        if not self._out:
            asyncio.get_running_loop().call_soon(self._flush)
        encoded = self._encode(command, command)
        self._out.append(encoded)
        self._out_bytes += len(encoded)
        if self._out_bytes >= _FLUSH_BYTES:
            self._flush()

    def send_frames(self, frames: list[bytes]) -> None:
        """Send frames at once. Dropped when the connection is closing."""
        if self._transport is None or self._is_closing:
            return
        if self._is_paused:
            self._pace_base += sum(map(len, frames))
        self.last_active_s = self._clock()
        self._write(frames)

    @property
    def is_writable(self) -> bool:
        """Whether the peer takes what it is sent."""
        return self._transport is not None and not self._is_paused and not self._is_closing

    @property
    def is_busy(self) -> bool:
        """Whether something that was read is still to be answered, or the peer has not taken all its answers."""
        if self._transport is None or self._is_closing:
            return False
        return self._task is not None or self._is_held or self._is_paused or self.unsent_bytes > 0

    def finish(self) -> None:
        """Read nothing more; what was read is answered. `end` follows."""
        self._is_finishing = True
        if self._transport is not None and not self._is_closing:
            self._transport.pause_reading()

    def drop_unanswered(self) -> None:
        """Forget what was read but for the request that is being worked on: there is no time for more."""
        self._decoder = FrameDecoder(self._options.max_frame_bytes, self._options.max_header_bytes)

    def end(self) -> None:
        """Close after what was answered is sent, as `close`; unread requests do not cost the peer any of it.

        A socket that is closed with unread bytes resets the connection, and answers that are still on their way are lost.
        So where there are some, the peer is told that nothing more comes, and what it sends is thrown away until it
        closes, too. Whoever calls this resets it when it does not.
        """
        transport = self._transport
        if self._is_closing or transport is None or self._has_peer_finished or self._is_paused:
            self.close()
            return
        self._flush()
        sock = transport.get_extra_info("socket")
        if sock is None or not (has_unread_bytes(sock) or transport.get_write_buffer_size()):
            self.close()
            return
        self._is_closing = True
        if self._entrance is not None:
            self._send(self._entrance.close())
        self.is_lingering = True
        transport.set_protocol(Lingering(self.connection_lost))
        transport.write_eof()
        transport.resume_reading()

    def close(self) -> None:
        """Close after what was answered is sent; a peer that does not take it within seconds is reset."""
        if self._is_closing or self._transport is None:
            return
        self._is_closing = True
        if self._transport.get_write_buffer_size() > 0 and self._is_paused:
            self.reset()
            return
        self._flush()
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
            reset_when_closed(sock)
        self._transport.abort()

    @property
    def is_awaited(self) -> bool:
        """Whether the peer is in the middle of something that it should come to the end of."""
        return self._pace_since_s is not None or self.entering_since_s is not None

    @property
    def unsent_bytes(self) -> int:
        """How many bytes of answers wait for the peer to take them."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    @property
    def held_bytes(self) -> int:
        """How many bytes of its peer's, or for its peer, are kept; for the latter, as many as when it stopped reading."""
        return self._decoder.buffered_bytes + (self._pace_base if self._is_paused else 0)

    def check_pace(self, now_s: float, limits: PeerLimits) -> PeerLimitError | None:
        """Say what the peer takes too long for, if anything. A frame or answers that move on get as long again."""
        if self.entering_since_s is not None and not self._is_closing:
            return limits.check_greeting(now_s - self.entering_since_s)
        if self._pace_since_s is None or self._is_closing:
            return None
        elapsed_s = now_s - self._pace_since_s
        if self._is_paused:
            left = self.unsent_bytes
            timeout_s, error = limits.write_timeout_s, limits.check_taking(elapsed_s, self._pace_base - left, left)
        else:
            left = self._decoder.buffered_bytes
            timeout_s, error = limits.frame_timeout_s, limits.check_frame(elapsed_s, left - self._pace_base)
        if error is None and 0 < timeout_s < elapsed_s:
            self._pace_since_s, self._pace_base = now_s, left
            self.last_active_s = now_s
        return error

    def forgive_pause(self, pause_s: float, now_s: float) -> None:
        """Count a time in which this process did not run for nothing here; it is over now."""
        self.last_active_s = max(self.last_active_s, min(self.last_active_s + pause_s, now_s))
        if self.entering_since_s is not None:
            self.entering_since_s = min(self.entering_since_s + pause_s, now_s)
        if self._pace_since_s is not None:
            self._pace_since_s = min(self._pace_since_s + pause_s, now_s)

    def _answer_frames(self) -> None:
        """Answer the frames that are here, until one must wait, the peer stops reading, or bytes are missing.

        A peer that has sent many takes turns with the others.
        """
        answers: list[bytes] = []
        size = count = 0
        express = self._owner.express if self._is_proven else None
        try:
            while self._task is None and not self._is_paused and not self._is_closing:
                frame = self._decoder.next_frame()
                if frame is None:
                    self._await_rest()
                    break
                self._pace_since_s = None
                if express is not None and express(frame, self.peer):
                    count += 1
                    if count >= BURST_FRAMES * _EXPRESS_FRAMES and self._decoder.buffered_bytes:
                        self._hold_back(self._rest_of_burst())
                    continue
                request = decode_command(frame)
                encoded = self._answer(request)
                count += _EXPRESS_FRAMES
                if count >= BURST_FRAMES * _EXPRESS_FRAMES and self._task is None and self._decoder.buffered_bytes:
                    self._hold_back(self._rest_of_burst())
                if encoded is None:
                    continue
                if self._standing is not None and request.code == self._standing.code and self._entrance is None:
                    self._standing.learn(request, frame, encoded)
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

    def _await_rest(self) -> None:
        """Note since when a frame that has begun waits for its rest, unless that is noted already."""
        if self._pace_since_s is None and (begun := self._decoder.buffered_bytes):
            self._pace_since_s, self._pace_base = self.last_active_s, begun

    def _answer(self, request: RemotingCommand) -> bytes | None:
        """Give the encoded answer; None when there is none (oneway, a response, or one that is still in work)."""
        if not self._is_proven and not request.is_response and self._owner.is_served(request.code):
            self._is_proven = True
            self.language, self.version = request.language, request.version
            self._owner.proven(self)
        if request.is_response:
            self._owner.response_received(self, request)
            return None
        answer = self._owner.dispatch(request, self.peer)
        if answer is LATER:
            return None
        if not isinstance(answer, RemotingCommand):
            self._hold_back(self._finish(answer, request))
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

    def _hold_back(self, work: Coroutine[None, None, None]) -> None:
        """Read and answer nothing more until some work is done, which goes on with both."""
        if self._transport is not None:
            self._transport.pause_reading()
        self._task = asyncio.ensure_future(work)

    async def _rest_of_burst(self) -> None:
        await asyncio.sleep(0)
        self._task = None
        if self._is_closing:
            return
        if not self._is_paused:
            self._answer_frames()
        self._go_on()

    async def _finish(self, answer: Awaitable[RemotingCommand], request: RemotingCommand) -> None:
        response = await answer
        self._task = None
        if self._is_closing:
            return
        if not request.is_oneway:
            encoded = self._encode(response, request)
            if self._is_paused:
                self._pace_base += len(encoded)
            self.last_active_s = self._clock()
            self._write([encoded])
        if not self._is_paused:
            self._answer_frames()
        self._go_on()

    def _go_on(self) -> None:
        """Read again, or close if the peer has said all it wanted to, unless something still holds us back."""
        if self._transport is None or self._task is not None or self._is_paused or self._is_held or self._is_closing:
            return
        if self._has_peer_finished:
            self.close()
        elif not self._is_finishing:
            self._transport.resume_reading()

    def _flush(self) -> None:
        out, self._out, self._out_bytes = self._out, [], 0
        if out and self._transport is not None:
            if self._is_paused:
                self._pace_base += sum(map(len, out))
            self.last_active_s = self._clock()
            self._write(out)

    def _write(self, answers: list[bytes]) -> None:
        if not answers:
            return
        data = answers[0] if len(answers) == 1 else b"".join(answers)
        self._send(data if self._entrance is None else self._entrance.send(data))
