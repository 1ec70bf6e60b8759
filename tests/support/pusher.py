"""A peer that sends requests without waiting for their answers, until the server ends the connection.

Owns: how the connection ended, and every answer that came before.
Must not know: what is asked.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from itertools import islice
from typing import Final

from tests.support import wire

_AT_ONCE: Final = 50
_READ_BYTES: Final = 65_536


class Pusher:
    """Push frames to an address; `answers` has what came, `is_reset` whether the end was a reset.

    Attributes:
        is_in_full_flight: Set when `first_answers` have come; more are owed.
    """

    def __init__(self, frames: Iterator[bytes], first_answers: int = 200) -> None:
        self.answers: list[wire.Answer] = []
        self.is_reset = False
        self.is_in_full_flight = asyncio.Event()
        self._frames = frames
        self._first_answers = first_answers

    async def run(self, address: str) -> None:
        """Return when the server has ended the connection."""
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        sending = asyncio.ensure_future(self._send(writer))
        try:
            await self._read(reader)
        except ConnectionResetError:
            self.is_reset = True
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await sending
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        while frames := list(islice(self._frames, _AT_ONCE)):
            writer.write(b"".join(frames))
            await writer.drain()
            await asyncio.sleep(0)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        rest = b""
        while data := await reader.read(_READ_BYTES):
            answers, rest = wire.split(rest + data)
            self.answers += answers
            if len(self.answers) >= self._first_answers:
                self.is_in_full_flight.set()
