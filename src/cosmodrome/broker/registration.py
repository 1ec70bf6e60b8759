"""How a broker is known to NameServers.

Owns: telling each of them of the broker and its topics, in time; leaving them.
Must not know: how a topic comes to be; who asks for a route.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cosmodrome.errors import RemotingError
from cosmodrome.protocol.bodies.register_broker import masked_crc32
from cosmodrome.protocol.bodies.topics import BrokerTopicTable
from cosmodrome.protocol.codes import RequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, request
from cosmodrome.protocol.ext_fields import encode_ext_fields
from cosmodrome.protocol.headers.broker import RegisterBrokerRequestHeader, UnregisterBrokerRequestHeader
from cosmodrome.protocol.json_dialects import encode_json
from cosmodrome.protocol.json_structs import to_json
from cosmodrome.transport.client import RemotingClient

logger = logging.getLogger(__name__)

RETRY_S: Final = 1.0
"""After a failure."""
LEAVE_S: Final = 1.0
_MIN_PERIOD_S: Final = 10.0
_MAX_PERIOD_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What NameServers know a broker by."""

    cluster: str
    name: str
    broker_id: int
    address: str
    ha_address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """How often the whole table is sent, and how long an answer may take."""

    period_s: float
    timeout_s: float

    @property
    def used_period_s(self) -> float:
        """As Java bounds it."""
        return min(max(self.period_s, _MIN_PERIOD_S), _MAX_PERIOD_S)


Table = Callable[[Iterable[str] | None], BrokerTopicTable]
"""Give the whole table of topics, or some of them."""


class Registrar:
    """Registers one broker with every NameServer, each for itself: one that is away holds up nobody."""

    def __init__(
        self, identity: Identity, name_servers: Iterable[str], table: Table, periods: Periods, client: RemotingClient
    ) -> None:
        """Register with these; `client` belongs to whoever made it."""
        self._identity = identity
        self._table = table
        self._periods = periods
        self._client = client
        self._servers = {address: _Server() for address in name_servers}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, wait_s: float) -> None:
        """Register, and keep registered; wait for first answers, but not long."""
        self._tasks = [
            asyncio.create_task(self._keep(address, server), name=f"registration with {address}")
            for address, server in self._servers.items()
        ]
        if self._servers:
            first = [asyncio.ensure_future(server.tried.wait()) for server in self._servers.values()]
            _, late = await asyncio.wait(first, timeout=wait_s)
            for each in late:
                each.cancel()

    def topics_changed(self, topics: Iterable[str]) -> None:
        """Tell of topics that were made or changed, at once."""
        for server in self._servers.values():
            server.changed.update(dict.fromkeys(topics))
            server.wake.set()

    def refresh(self) -> None:
        """Tell of everything anew, at once: what is published of topics has changed."""
        for server in self._servers.values():
            server.is_stale = True
            server.wake.set()

    def connection_lost(self, address: str) -> None:
        """Register anew with a NameServer whose connection has ended: it may have forgotten this broker."""
        server = self._servers.get(address)
        if server is not None:
            server.is_stale = True
            server.wake.set()

    async def stop(self) -> None:
        """Leave every NameServer that can be reached now. May be called again."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if tasks:
            await asyncio.gather(*(self._leave(address) for address in self._servers))

    async def _keep(self, address: str, server: "_Server") -> None:
        loop = asyncio.get_running_loop()
        whole_at_s = loop.time()
        while True:
            is_whole = server.is_stale or loop.time() >= whole_at_s
            server.wake.clear()
            server.is_stale = False
            changed, server.changed = tuple(server.changed), {}
            is_done = await self._register(address, None if is_whole else changed)
            server.tried.set()
            if is_done:
                if is_whole:
                    whole_at_s = loop.time() + self._periods.used_period_s
            else:
                server.wake.clear()
                server.is_stale = False
                whole_at_s = loop.time() + RETRY_S
            try:
                async with asyncio.timeout_at(whole_at_s):
                    await server.wake.wait()
            except TimeoutError:
                continue

    async def _register(self, address: str, topics: Iterable[str] | None) -> bool:
        body = _body(self._table(topics))
        identity = self._identity
        header = RegisterBrokerRequestHeader(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            ha_server_addr=identity.ha_address,
            broker_id=identity.broker_id,
            compressed=False,
            body_crc32=masked_crc32(body),
        )
        command = request(RequestCode.REGISTER_BROKER, encode_ext_fields(header), body)
        return await self._ask(address, command, self._periods.timeout_s)

    async def _leave(self, address: str) -> None:
        identity = self._identity
        header = UnregisterBrokerRequestHeader(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            broker_id=identity.broker_id,
        )
        await self._ask(address, request(RequestCode.UNREGISTER_BROKER, encode_ext_fields(header)), LEAVE_S)

    async def _ask(self, address: str, command: RemotingCommand, timeout_s: float) -> bool:
        try:
            answer = await self._client.request(address, command, timeout_s)
        except RemotingError as error:
            logger.warning("the NameServer %s did not take request %d: %s", address, command.code, error)
            return False
        if answer.code != ResponseCode.SUCCESS:
            logger.warning("the NameServer %s refuses request %d: %s", address, command.code, answer.remark)
        return answer.code == ResponseCode.SUCCESS


class _Server:
    """One NameServer: what it has not been told yet."""

    def __init__(self) -> None:
        self.changed: dict[str, None] = {}
        self.is_stale = False
        self.wake = asyncio.Event()
        self.tried = asyncio.Event()


def _body(table: BrokerTopicTable) -> bytes:
    wrapper: Mapping[str, Any] = to_json(table)
    return encode_json({"filterServerList": [], "topicConfigSerializeWrapper": wrapper})
