"""A slave that says and reads exactly what a test wants.

Owns: one connection to a replication port; cutting the master's stream into transfers.
Must not know: what a master should do.
"""

import asyncio
from typing import Final, NamedTuple, Self

from cosmodrome.protocol.replication import TRANSFER_HEADER_BYTES, decode_transfer_header, encode_report

WITHIN_S: Final = 20.0


class Transfer(NamedTuple):
    """What a master sent; no data is a sign of life."""

    offset: int
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


class SlaveDouble:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.log = b""
        self.transfers: list[Transfer] = []
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, port: int, host: str = "127.0.0.1") -> Self:
        return cls(*await asyncio.open_connection(host, port))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._writer.close()

    def say(self, data: bytes) -> None:
        """Send any bytes."""
        self._writer.write(data)

    def report(self, offset: int) -> None:
        self.say(encode_report(offset))

    async def transfer(self) -> Transfer:
        """Read one transfer."""
        async with asyncio.timeout(WITHIN_S):
            offset, size = decode_transfer_header(await self._reader.readexactly(TRANSFER_HEADER_BYTES))
            found = Transfer(offset, await self._reader.readexactly(size))
        self.transfers.append(found)
        self.log += found.data
        return found

    async def follow(self, end: int, *, is_reporting: bool = True) -> None:
        """Read, and report after each transfer, until everything before `end` is here."""
        while not self.transfers or self.transfers[-1].end < end:
            found = await self.transfer()
            if is_reporting and found.data:
                self.report(found.end)

    async def is_closed(self) -> bool:
        """Wait until the master has closed the connection; what it sends before that is thrown away."""
        async with asyncio.timeout(WITHIN_S):
            try:
                while await self._reader.read(65_536):
                    continue
            except ConnectionError:
                return True
        return True
