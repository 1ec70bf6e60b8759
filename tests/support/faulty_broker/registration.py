"""How the double is known to name servers.

Owns: one connection to each name server, over which the broker registers and unregisters.
Must not know: what the broker does.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from tests.support import wire
from tests.support.faulty_broker.store import Topic

_ANSWER_S: Final = 20.0


class Registrar:
    """Registers one broker with every name server. A route lasts while its connection does."""

    def __init__(self, name_servers: Iterable[str], version: int) -> None:
        self._addresses = tuple(name_servers)
        self._version = version
        self._open: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._opaque = 0
        self._counter = 0
        self._turn = asyncio.Lock()

    async def register(self, broker: wire.Broker, topics: Iterable[Topic]) -> None:
        """Send the whole topic table (103) to every name server."""
        self._counter += 1
        configs = [wire.topic_config(each.name, each.read, each.write, each.perm) for each in topics]
        body = wire.register_body(configs, wire.data_version(self._counter))
        await self._tell(103, wire.registration_ext(broker, crc=wire.crc32_masked(body)), body)

    async def unregister(self, broker: wire.Broker) -> None:
        """Take the broker out of every name server (104)."""
        await self._tell(104, wire.identity_ext(broker))

    async def close(self) -> None:
        """Close the connections; the routes go with them."""
        for _, writer in self._open.values():
            writer.close()
        for _, writer in self._open.values():
            try:
                await writer.wait_closed()
            except ConnectionError:
                continue
        self._open.clear()

    async def _tell(self, code: int, ext: wire.Ext, body: bytes = b"") -> None:
        async with self._turn, asyncio.timeout(_ANSWER_S):
            for address in self._addresses:
                answer = await self._request(address, code, ext, body)
                assert answer.code == 0, answer

    async def _request(self, address: str, code: int, ext: wire.Ext, body: bytes) -> wire.Answer:
        if address in self._open and self._open[address][0].at_eof():
            self._open.pop(address)[1].close()
        if address not in self._open:
            host, _, port = address.rpartition(":")
            self._open[address] = await asyncio.open_connection(host.strip("[]"), int(port))
        reader, writer = self._open[address]
        self._opaque += 1
        writer.write(wire.encode_request(code, ext, body, opaque=self._opaque, version=self._version))
        length = int.from_bytes(await reader.readexactly(4))
        answer = wire.decode(await reader.readexactly(length))
        if answer.flag & wire.FLAG_RESPONSE:
            return answer
        return await self._skip(reader)

    async def _skip(self, reader: asyncio.StreamReader) -> wire.Answer:
        """Pass over what the name server asks of its own accord (905)."""
        while True:
            length = int.from_bytes(await reader.readexactly(4))
            answer = wire.decode(await reader.readexactly(length))
            if answer.flag & wire.FLAG_RESPONSE:
                return answer
