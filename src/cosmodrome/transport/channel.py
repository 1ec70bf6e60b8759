"""One connection that we opened, to one address.

Owns: frames of one turn of the loop in one write; which answer belongs to which request, and until when it may come;
    idle close.
Must not know: who wants the connection (client.py); what requests mean.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from cosmodrome.errors import ConnectError, ProtocolError, RequestTimeoutError
from cosmodrome.protocol.codes import FLAG_RESPONSE
from cosmodrome.protocol.command import RemotingCommand, decode_command, encode_command
from cosmodrome.protocol.exchange import TICKS_PER_S, Exchange
from cosmodrome.protocol.frame import FrameDecoder
from cosmodrome.protocol.send_answer import SendAnswer, read_send_answers

logger = logging.getLogger(__name__)

_WRITE_BYTES: Final = 64 * 1024
"""When this much waits for the end of the turn, it is written at once: what the peer does not take must show."""

Answer = RemotingCommand | SendAnswer
"""The second is how the usual answer to a send is read; its `command()` is the same as the first."""
Waiter = asyncio.Future[Answer]


class Channel(asyncio.Protocol):
    """One connection to one address. Made by RemotingClient."""

    def __init__(self, address: str, idle_limit_s: float, links: "Links", on_lost: Callable[["Channel"], None]) -> None:
        self.address = address
        self.is_writable = False
        """Whether bytes are taken now: connected, not closing, and the peer keeps up."""
        self._loop = asyncio.get_running_loop()
        self.lost: asyncio.Future[None] = self._loop.create_future()
        """Done when the connection has ended."""
        self._idle_limit_s = idle_limit_s
        self._links = links
        self._on_lost = on_lost
        self._decoder = FrameDecoder()
        self._exchange: Exchange[Waiter] = Exchange()
        self.next_opaque = self._exchange.next_opaque
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sweeps = False
        self._used_s = 0.0
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._may_write: asyncio.Future[None] | None = None
        self._has_sends = False

    def ask(self, opaque: int, frame: bytes, deadline_s: float, sender: object = None) -> Waiter:
        """Send a frame that carries this opaque of `next_opaque`, and give what its answer will be.

        It leaves with all others of this turn of the loop. The future ends with ConnectError when the connection
        breaks and with RequestTimeoutError after the deadline (of the loop's clock), at most 200 ms late. Whoever
        gives up calls `forget`. A send names who sends, see `abandon`.
        """
        waiter: Waiter = self._loop.create_future()
        if self._transport is None:  # it ended between the wait for it and now: nobody would sweep or abandon this one
            waiter.set_exception(self._broken())
            return waiter
        self._exchange.expect(opaque, waiter, deadline_s, sender)
        if self._out:
            self._out.append(frame)
            self._out_bytes += len(frame)
            if self._out_bytes > _WRITE_BYTES:
                self._flush()
        else:
            self._gather(frame)
        if not self._sweeps:
            self._sweep_soon()
        if sender is not None:
            self._has_sends = True
        return waiter

    def forget(self, opaque: int) -> None:
        """Stop waiting for an answer; one that comes is dropped."""
        self._exchange.settle(opaque)

    def abandon(self, sender: object) -> None:
        """End what waits for answers to this sender's sends, with ConnectError."""
        for waiter in self._exchange.abandon(sender):
            if not waiter.done():
                waiter.set_exception(ConnectError("the producer was closed"))

    async def request(self, command: RemotingCommand, timeout_s: float) -> RemotingCommand:
        """Send a request and give its answer. Raises as the future of `ask`."""
        opaque = self.next_opaque()
        frame = self._frame(command.replaced(opaque=opaque))
        try:
            answer = await self.ask(opaque, frame, self._loop.time() + timeout_s)
        finally:
            self._exchange.settle(opaque)
        return answer.command() if isinstance(answer, SendAnswer) else answer

    def tell(self, command: RemotingCommand) -> None:
        """Send a oneway.

        Raises:
            ConnectError: The connection has ended.
        """
        self._write(self._frame(command.replaced(opaque=self.next_opaque())))

    def tell_frame(self, frame: bytes) -> None:
        """Send the frame of a oneway. Raises as `tell`."""
        self._write(frame)

    def answer(self, command: RemotingCommand) -> None:
        """Send the answer to a request of the peer; dropped when the connection has ended."""
        if self._transport is not None and not self._transport.is_closing():
            self._write(encode_command(command))

    async def wait_writable(self) -> None:
        """Return when bytes are taken.

        Raises:
            ConnectError: The connection has ended.
        """
        while not self.is_writable:
            if self._transport is None or self._transport.is_closing():
                raise self._broken()
            if self._may_write is None:
                self._may_write = self._loop.create_future()
            await asyncio.shield(self._may_write)

    def close(self) -> None:
        """Close when what was written is taken; requests that wait end then with ConnectError."""
        if self._transport is not None:
            self._flush()
            self.is_writable = False
            self._transport.close()
            self._wake_writers()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; called by the loop."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its base class
        self.is_writable = True
        self._used_s = self._loop.time()
        self._timer = self._loop.call_later(self._idle_limit_s, self._tick)

    def data_received(self, data: bytes) -> None:
        """Hand answers to who waits for them, and requests to the owner."""
        self._used_s = self._loop.time()
        decoder = self._decoder
        decoder.feed(data)
        try:
            while True:
                if self._has_sends:
                    settle = self._exchange.settle
                    for answer in decoder.take(read_send_answers):
                        waiter = settle(answer.opaque)
                        if waiter is not None and not waiter.done():
                            waiter.set_result(answer)
                frame = decoder.next_frame()
                if frame is None:
                    return
                command = decode_command(frame)
                if command.flag & FLAG_RESPONSE:
                    self._answered(command)
                else:
                    self._asked(command)
        except ProtocolError as error:
            logger.warning("closing connection to %s: %s", self.address, error)
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's signature
        """End everything that waits."""
        self.is_writable = False
        self._transport = None
        self._out.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._wake_writers()
        for waiter in self._exchange.abandon():
            if not waiter.done():
                waiter.set_exception(self._broken())
        if not self.lost.done():
            self.lost.set_result(None)
        self._on_lost(self)
        if self._links.on_closed is not None:
            self._links.on_closed(self.address)

    def pause_writing(self) -> None:
        """Take no more bytes; the peer does not read them."""
        self.is_writable = False

    def resume_writing(self) -> None:
        """Take bytes again."""
        self.is_writable = self._transport is not None and not self._transport.is_closing()
        self._wake_writers()

    def _frame(self, command: RemotingCommand) -> bytes:
        return encode_command(command if self._links.prepare is None else self._links.prepare(command))

    def _write(self, frame: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            raise self._broken()
        self._gather(frame)

    def _gather(self, frame: bytes) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(frame)
        self._out_bytes += len(frame)
        if self._out_bytes > _WRITE_BYTES:
            self._flush()

    def _flush(self) -> None:
        out, size = self._out, self._out_bytes
        transport = self._transport
        if not out or transport is None:
            return
        self._out, self._out_bytes = [], 0
        self._used_s = self._loop.time()
        last = out.pop() if size > 2 * _WRITE_BYTES else b""  # a big one, which need not be copied
        if out:
            transport.write(out[0] if len(out) == 1 else b"".join(out))
        if last:
            transport.write(last)

    def _answered(self, answer: Answer) -> None:
        waiter = self._exchange.settle(answer.opaque)
        if waiter is not None and not waiter.done():
            waiter.set_result(answer)

    def _asked(self, command: RemotingCommand) -> None:
        if self._links.on_request is None:
            logger.debug("request %d of %s was ignored: this side only asks", command.code, self.address)
        else:
            self._links.on_request(self, command)

    def _sweep_soon(self) -> None:
        """From now on look for overdue requests, every 100 ms, until none is left."""
        self._sweeps = True
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(1 / TICKS_PER_S, self._tick)

    def _tick(self) -> None:
        now_s = self._loop.time()
        for waiter in self._exchange.overdue(now_s):
            if not waiter.done():
                waiter.set_exception(RequestTimeoutError(f"{self.address} did not answer in time"))
        idle_s = now_s - self._used_s
        if idle_s >= self._idle_limit_s:
            self.close()
            return
        self._sweeps = len(self._exchange) > 0
        left_s = self._idle_limit_s - idle_s
        self._timer = self._loop.call_later(min(1 / TICKS_PER_S, left_s) if self._sweeps else left_s, self._tick)

    def _wake_writers(self) -> None:
        if self._may_write is not None and not self._may_write.done():
            self._may_write.set_result(None)
        self._may_write = None

    def _broken(self) -> ConnectError:
        return ConnectError(f"the connection to {self.address} broke")


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """What the owner of connections is told, and does. All are optional, and must not wait."""

    prepare: Callable[[RemotingCommand], RemotingCommand] | None = None
    """The last change of a request before it is encoded; raw frames do not pass here."""
    on_request: Callable[[Channel, RemotingCommand], None] | None = None
    """A request of the peer; `Channel.answer` sends what it gets. None: requests are ignored."""
    on_opened: Callable[[Channel], None] | None = None
    on_closed: Callable[[str], None] | None = None
    """A connection to this address has ended, by whomever."""
