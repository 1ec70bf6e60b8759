"""One connection of the estate: requests go out, answers come back in order.

Owns: frames, opaque numbers, the noticing of a lost connection.
Must not know: what is asked; how many connections there are.
"""

import asyncio
from typing import Final, Self, cast

from tests.support.wire import Answer, decode, encode_request

CONNECT_PAUSE_S: Final = 0.05
_MOST_FRAME: Final = 64 * 1024 * 1024


class LineLostError(Exception):
    """The server closed the connection, or never let it in."""


class Line(asyncio.Protocol):
    """A connection to the server. One request is outstanding at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._have = 0
        self._need = 4
        self._opaque = 0
        self._waiting: asyncio.Future[Answer] | None = None
        self.is_lost = False

    @classmethod
    async def open(cls, address: str, within_s: float) -> Self:
        """Connect; while nobody listens it is tried again.

        Raises:
            LineLostError: Nobody let us in for so long.
        """
        loop = asyncio.get_running_loop()
        host, _, port = address.rpartition(":")
        until_s = loop.time() + within_s
        while True:
            try:
                return (await loop.create_connection(cls, host, int(port)))[1]
            except OSError as error:
                if loop.time() > until_s:
                    raise LineLostError(f"cannot connect: {error}") from None
            await asyncio.sleep(CONNECT_PAUSE_S)

    async def request(self, code: int, ext: dict[str, str | None], body: bytes = b"") -> Answer:
        """Send a request and wait for its answer, for as long as the connection lasts.

        Raises:
            LineLostError: The connection ended first.
        """
        if self.is_lost or self._transport is None:
            raise LineLostError("the connection is closed")
        assert self._waiting is None, "one at a time"
        self._opaque += 1
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(encode_request(code, ext, body, opaque=self._opaque))
        try:
            answer = await self._waiting
        finally:
            self._waiting = None
        if answer.opaque != self._opaque:
            raise LineLostError(f"an answer to {answer.opaque}, not to {self._opaque}")
        return answer

    def close(self) -> None:
        """Close it. A second call does nothing."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._parts.append(data)
        self._have += len(data)
        while self._have >= self._need:
            whole = b"".join(self._parts)
            length = 4 + int.from_bytes(whole[:4], "big")
            if length > _MOST_FRAME:
                self._fail(f"a frame of {length} bytes")
                return
            self._parts, self._need = [whole], length
            if self._have >= length:
                self._parts, self._need = [whole[length:]], 4
                self._have -= length
                self._take(whole[4:length])

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._fail(f"the connection ended: {exc}")

    def _take(self, content: bytes) -> None:
        if self._waiting is None or self._waiting.done():
            self._fail("an answer to nothing")
        else:
            self._waiting.set_result(decode(content))

    def _fail(self, why: str) -> None:
        self.is_lost = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(LineLostError(why))
        self.close()
