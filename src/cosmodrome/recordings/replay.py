"""Play the requests of a recording to a server, and compare its answers with the recorded ones.

Owns: the order and pace of what is asked; which recorded answer belongs to which request.
Must not know: how differences are shown.

One request at a time, in the order in which they were recorded, over as many connections as there were: what an answer
depends on has then happened. Requests that the other side made are left out, and so are those that were redacted.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from cosmodrome.errors import ProtocolError
from cosmodrome.protocol.answer_differences import Difference, differences
from cosmodrome.protocol.command import RemotingCommand, decode_command
from cosmodrome.protocol.frame import DEFAULT_MAX_FRAME_BYTES, FrameDecoder
from cosmodrome.recordings.questions import command_of
from cosmodrome.recordings.recorded import Recorded

_PORTION_BYTES: Final = 65536


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the recording, and the answer that it got then; None when none was recorded."""

    recorded: Recorded
    command: RemotingCommand
    answer: RemotingCommand | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request came to now. `fault` is why there is no answer."""

    asked: Asked
    answer: RemotingCommand | None = None
    fault: str | None = None
    differences: list[Difference] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether the server answered as it was recorded; a request that wants no answer is the same once it is sent."""
        return self.fault is None and not self.differences


def requests_of(recording: Iterable[Recorded], only: Collection[int] | None = None) -> tuple[list[Asked], int]:
    """Give what can be asked again, in order, and how many requests were left out because they were redacted.

    Args:
        recording: All of it, in its order.
        only: Codes of the requests that are wanted; None means all.
    """
    wanted: list[Asked] = []
    waiting: dict[tuple[int, int], int] = {}
    redacted = 0
    for recorded in recording:
        if not recorded.is_frame:
            continue
        try:
            command = command_of(recorded.data)
        except ProtocolError:
            continue
        key = (recorded.connection, command.opaque)
        if command.is_response:
            place = waiting.pop(key, None)
            if place is not None:
                wanted[place] = Asked(wanted[place].recorded, wanted[place].command, command)
        elif recorded.direction == "request" and (only is None or command.code in only):
            if recorded.is_redacted:
                redacted += 1
                continue
            if not command.is_oneway:
                waiting[key] = len(wanted)
            wanted.append(Asked(recorded, command))
    return wanted, redacted


class Player:
    """Plays to one server. Use it as a context manager."""

    def __init__(self, host: str, port: int, *, timeout_s: float, is_timed: bool = False) -> None:
        """Wait `timeout_s` for each answer; keep the pauses of the recording if `is_timed`."""
        self._host = host
        self._port = port
        self._timeout_s = timeout_s
        self._is_timed = is_timed
        self._open: dict[int, _Connection] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._open.values():
            await connection.close()

    async def play(self, requests: Iterable[Asked]) -> AsyncIterator[Outcome]:
        """Ask one after another. A connection that ends is opened again for the next request that needs it."""
        loop = asyncio.get_running_loop()
        begin_s, first_ms = loop.time(), None
        for asked in requests:
            first_ms = asked.recorded.t_ms if first_ms is None else first_ms
            if self._is_timed:
                await asyncio.sleep(max(0.0, begin_s + (asked.recorded.t_ms - first_ms) / 1000 - loop.time()))
            yield await self._ask(asked)

    async def _ask(self, asked: Asked) -> Outcome:
        number = asked.recorded.connection
        try:
            async with asyncio.timeout(self._timeout_s):
                if number not in self._open:
                    self._open[number] = await _Connection.opened(self._host, self._port)
                answer = await self._open[number].exchange(asked)
        except TimeoutError:
            fault = f"no answer in {self._timeout_s:g} s"
        except ProtocolError as error:
            fault = f"what came is no answer: {error}"
        except OSError as error:
            fault = error.strerror or str(error) or type(error).__name__
        else:
            if answer is None or asked.answer is None:
                return Outcome(asked, answer)
            return Outcome(asked, answer, differences=differences(answer, asked.answer))
        if number in self._open:
            await self._open.pop(number).close()
        return Outcome(asked, fault=fault)


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = FrameDecoder(DEFAULT_MAX_FRAME_BYTES)

    @classmethod
    async def opened(cls, host: str, port: int) -> Self:
        return cls(*await asyncio.open_connection(host, port))

    async def exchange(self, asked: Asked) -> RemotingCommand | None:
        """Send the recorded bytes, and give what is answered; None of a request that wants no answer."""
        self._writer.write(asked.recorded.data)
        await self._writer.drain()
        while not asked.command.is_oneway:
            command = await self._next()
            if command.is_response and command.opaque == asked.command.opaque:
                return command
        return None

    async def _next(self) -> RemotingCommand:
        while (frame := self._decoder.next_frame()) is None:
            data = await self._reader.read(_PORTION_BYTES)
            if not data:
                raise ConnectionResetError("the server closed the connection")
            self._decoder.feed(data)
        return decode_command(frame)

    async def close(self) -> None:
        """Close at once; nothing that was sent waits any more."""
        self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
