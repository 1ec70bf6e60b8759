"""The connection of a slave.

Owns: sending the log as far as the slave takes it, without copying it; signs of life; ending what makes no sense.
Must not know: which other slaves there are; who waits for an acknowledgement.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol, cast

from cosmodrome.broker.replication.slave import SlaveRefusedError, SlaveState
from cosmodrome.protocol.replication import ReportReader, encode_transfer_header

logger = logging.getLogger(__name__)

BUFFER_BYTES: Final = 64 * 1024
"""What a slave that does not read may be owed, beside one transfer and what the system buffers."""
_AT_ONCE_BYTES: Final = 1024 * 1024
"""Sent to one slave before others have their turn."""
_FEW: Final = 4
_RECENT_BYTES: Final = 1024 * 1024
"""What is so near the end of the log was written just now, and is in memory."""


class Log(Protocol):
    """The log that slaves follow."""

    @property
    def start(self) -> int:
        """Where it starts."""

    @property
    def end(self) -> int:
        """Where it ends."""

    def bytes_from(self, position: int, limit: int) -> memoryview | None:
        """Give bytes of one file from there; None where there are none. Raises OSError."""

    def reading_from(self, position: int, limit: int) -> Callable[[], object] | None:
        """Give what reads these bytes into memory, to be called in any thread; None where there are none. Raises OSError."""


class Owner(Protocol):
    """Who has all connections."""

    def connected(self, connection: "SlaveConnection") -> None:
        """Take note of a connection."""

    def following(self, connection: "SlaveConnection") -> None:
        """Take note of the first report of its slave; `begin` is to be called, at once or later."""

    def reported(self, connection: "SlaveConnection") -> None:
        """Take note of a report of its slave."""

    def refused(self, connection: "SlaveConnection", cause: str, reason: str) -> None:
        """Take note of why it is ended."""

    def lost(self, connection: "SlaveConnection") -> None:
        """Take note of its end."""


class SlaveConnection(asyncio.Protocol):
    """One connection, whoever is at the other end.

    Attributes:
        state: What is known of the slave.
        paused_ms: Since when it takes nothing; None while it does.
    """

    def __init__(
        self, owner: Owner, log: Log, state: SlaveState, batch_bytes: int, clock_ms: Callable[[], int]
    ) -> None:
        """Send `log` in transfers of at most `batch_bytes`."""
        self.state = state
        self.paused_ms: int | None = None
        self._owner = owner
        self._log = log
        self._batch_bytes = batch_bytes
        self._clock_ms = clock_ms
        self._reports = ReportReader()
        self._transport: asyncio.Transport | None = None
        self._sent_ms = state.since_ms
        self._in_memory_to = 0
        self._reading: asyncio.Future[object] | None = None
        self._is_sending_soon = False
        self._has_begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        stream = cast("asyncio.Transport", transport)  # uvloop's is one in all but its base class
        stream.set_write_buffer_limits(high=BUFFER_BYTES)
        self._transport = stream
        self._owner.connected(self)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self._transport is None:
            return
        is_first = self.state.sent_to < 0
        try:
            for offset in _telling(self._reports.feed(data)):
                self.state.report(offset, (self._log.start, self._log.end), self._clock_ms())
        except SlaveRefusedError as error:
            self.refuse(error.cause, error.reason)
            return
        if self.state.sent_to < 0:
            return
        if is_first:
            self._owner.following(self)
        self._owner.reported(self)

    def begin(self) -> None:
        """Answer the first report, so that the slave looks whether it and this log agree on the place; go on from there."""
        self._has_begun = True
        self.send()
        if not self.state.was_sent_something and self._reading is None:
            self._transfer(memoryview(b""))

    def send(self) -> None:
        """Send what there is, as far as the slave takes it."""
        budget = _AT_ONCE_BYTES
        while (position := self._next()) is not None:
            try:
                if self._is_read_first(position):
                    return
                piece = self._log.bytes_from(position, self._batch_bytes)
            except OSError as error:
                self.refuse("unreadable", f"the log cannot be read at {position}: {error.strerror or error}")
                return
            if piece is None:
                self._refuse_place(position)
                return
            self._transfer(piece)
            budget -= len(piece)
            if budget <= 0:
                self._send_soon()
                return

    def _refuse_place(self, position: int) -> None:
        if position > self._log.end:
            reason = f"it was sent what is before {position}, and this log ends at {self._log.end} after a failure"
            self.refuse("ahead", reason)
        else:
            self.refuse("too_slow", f"it is at {position}, and what was there is deleted: copy this store to it")

    def _next(self) -> int | None:
        """Give from where to send now; None when there is nothing, or the slave takes nothing."""
        if not self._has_begun or self._transport is None or self._reading is not None or self.paused_ms is not None:
            return None
        position = self.state.sent_to
        return position if position != self._log.end else None

    def _is_read_first(self, position: int) -> bool:
        """Have what may be on disk only read into memory in another thread; tell whether to wait for it."""
        if self._log.end - position <= _RECENT_BYTES or position < self._in_memory_to:
            return False
        reading = self._log.reading_from(position, _AT_ONCE_BYTES)
        if reading is None:
            return False
        self._in_memory_to = position + _AT_ONCE_BYTES
        self._reading = asyncio.get_running_loop().run_in_executor(None, reading)
        self._reading.add_done_callback(self._was_read)
        return True

    def _was_read(self, reading: "asyncio.Future[object]") -> None:
        self._reading = None
        if not reading.cancelled() and reading.exception() is not None:
            logger.warning("reading the log for the slave %s: %s", self.state.address, reading.exception())
        self.send()

    def _send_soon(self) -> None:
        if not self._is_sending_soon:
            self._is_sending_soon = True
            asyncio.get_running_loop().call_soon(self._send_more)

    def _send_more(self) -> None:
        self._is_sending_soon = False
        self.send()

    def _transfer(self, piece: memoryview) -> None:
        if self._transport is None:
            return
        header = encode_transfer_header(self.state.sent_to, len(piece))
        self._sent_ms = self._clock_ms()
        self.state.sent(len(piece), self._sent_ms)
        if len(piece):
            self._transport.writelines((header, piece))
        else:
            self._transport.write(header)

    def give_sign(self, interval_ms: int) -> None:
        """Say that the master is there, if nothing was sent for so long."""
        is_silent = self._clock_ms() - self._sent_ms >= interval_ms
        if is_silent and self._has_begun and self.paused_ms is None:
            self._transfer(memoryview(b""))

    def refuse(self, cause: str, reason: str) -> None:
        """End the connection at once, and say why. May be called again."""
        if self._transport is not None:
            self._owner.refused(self, cause, reason)
            self.close()

    def close(self) -> None:
        """End the connection at once. May be called again."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    def pause_writing(self) -> None:
        """See asyncio."""
        self.paused_ms = self._clock_ms()

    def resume_writing(self) -> None:
        """See asyncio."""
        self.paused_ms = None
        self._send_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        if exc is not None:
            logger.debug("connection of the slave %s: %s", self.state.address, exc)
        self._transport = None
        self._owner.lost(self)


def _telling(reports: tuple[int, ...]) -> tuple[int, ...]:
    """Give those that say all that many say: whoever floods a master with reports has it read four of each piece."""
    return reports if len(reports) <= _FEW else (reports[0], min(reports), max(reports), reports[-1])
