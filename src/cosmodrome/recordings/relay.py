"""Record what passes between peers and a server.

Owns: connections that are passed on; cutting what passes into frames.
Must not know: what a frame says; where recordings are kept.

Bytes are passed on as they arrive and are never held back or changed. What is no frame, such as TLS, is passed on
too; of each side of a connection its first bytes are recorded.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from cosmodrome.errors import BindError, MalformedFrameError
from cosmodrome.protocol.frame import WORD_BYTES
from cosmodrome.recordings.recorded import Direction, Recorded, whole_frame_bytes

_PORTION_BYTES: Final = 65536
_KEPT_BYTES: Final = 4096
_CONNECT_S: Final = 10.0
_END_S: Final = 5.0

Keep = Callable[[Recorded], None]
Say = Callable[[str], None]


class Relay:
    """Passes connections on to `upstream` (host, port). Use it as a context manager, or `start` and `stop`."""

    def __init__(self, upstream: tuple[str, int], keep: Keep, say: Say) -> None:
        """Give frames to `keep` in the order in which they pass, and say with `say` what goes wrong."""
        self._upstream = upstream
        self._keep = keep
        self._say = say
        self._begin_s = time.monotonic()
        self._connections = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> str:
        """Listen, and give where, as `host:port`.

        Raises:
            BindError: Nobody can listen there.
        """
        try:
            self._server = await asyncio.start_server(self._take, host, port)
        except OSError as error:
            raise BindError(
                f"cannot listen on {host}:{port}: {error.strerror or error}",
                remedy="choose another address with --listen, 127.0.0.1:0 for any free port",
            ) from error
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    async def stop(self) -> None:
        """Stop listening and end all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        task = asyncio.ensure_future(self._pass_on(self._connections, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with _ending(writer):
            await self._both_ways(number, reader, writer)

    async def _both_ways(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_CONNECT_S):
                far_reader, far_writer = await asyncio.open_connection(*self._upstream)
        except OSError as error:
            host, port = self._upstream
            self._say(f"connection {number} was closed: {host}:{port} is not reached: {error.strerror or error}")
            return
        async with _ending(far_writer):
            there = _Side(number, "request", self)
            back = _Side(number, "response", self)
            ways = [
                asyncio.ensure_future(there.pump(reader, far_writer)),
                asyncio.ensure_future(back.pump(far_reader, writer)),
            ]
            try:
                await asyncio.gather(*ways)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)

    def record(self, number: int, direction: Direction, data: bytes, *, is_frame: bool) -> None:
        """Keep what has passed."""
        t_ms = (time.monotonic() - self._begin_s) * 1000
        self._keep(Recorded(t_ms, number, direction, data, is_frame))


@contextlib.asynccontextmanager
async def _ending(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Close it in the end: at once after a fault, else when what was written has gone."""
    try:
        yield
    except BaseException:
        writer.transport.abort()
        raise
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            async with asyncio.timeout(_END_S):
                await writer.wait_closed()


class _Side:
    """One direction of one connection."""

    def __init__(self, number: int, direction: Direction, relay: Relay) -> None:
        self._number = number
        self._direction: Direction = direction
        self._relay = relay
        self._buffer = bytearray()
        self._is_cut = True
        """Whether frames can still be told apart."""

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on until one side closes; then the other side is told that nothing more comes."""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_PORTION_BYTES):
                writer.write(data)
                if self._is_cut:
                    self._cut(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()

    def _cut(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= WORD_BYTES:
            try:
                size = whole_frame_bytes(self._buffer, 0)
            except MalformedFrameError:
                self._is_cut = False
                self._record(bytes(self._buffer[:_KEPT_BYTES]), is_frame=False)
                self._buffer.clear()
                return
            if len(self._buffer) < size:
                return
            self._record(bytes(self._buffer[:size]), is_frame=True)
            del self._buffer[:size]

    def _record(self, data: bytes, *, is_frame: bool) -> None:
        self._relay.record(self._number, self._direction, data, is_frame=is_frame)
