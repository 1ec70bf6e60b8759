"""Whom an administrator asks, and how: NameServers in turn, brokers at once.

Owns: connections; finding brokers by cluster, name, address or topic; asking many at a time; reading bodies.
Must not know: what is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from cosmodrome.client.admin.answers import Answers, advised
from cosmodrome.client.config import ClientConfig
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.client.requests import BrokerRequests, refusal
from cosmodrome.client.server_list import ServerList
from cosmodrome.errors import (
    ClientClosedError,
    MalformedBodyError,
    NoRouteError,
    NotFoundError,
    NotReadyError,
    RemotingError,
    RocketMQError,
    UnreadableAnswerError,
)
from cosmodrome.protocol.bodies.cluster import ClusterInfo
from cosmodrome.protocol.bodies.route import MASTER_ID, TopicRouteData
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.json_structs import decode_body
from cosmodrome.transport.channel import Links
from cosmodrome.transport.client import RemotingClient

ValueT = TypeVar("ValueT")
BodyT = TypeVar("BodyT", bound=msgspec.Struct)

MOST_AT_ONCE: Final = 32
RELAYED_S: Final = 15.0
"""For what a broker asks a client, for which it takes up to 10 s."""


class Target(NamedTuple):
    """A broker to be asked: under what name results have it, and where it is."""

    name: str
    address: str


class Broker(NamedTuple):
    """A broker that is registered. `id` 0 is the master's."""

    cluster: str
    name: str
    id: int
    address: str


class Reach:
    """Connections of an administrator. `open` before use, `close` after it; both belong to one event loop."""

    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self._remoting: RemotingClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._current = 0
        self._servers = ServerList(config.name_servers, config.address_server, config.request_timeout_s)
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)

    def open(self) -> None:
        """Begin; nothing is connected yet."""
        sign = None if self.config.credentials is None else self.config.credentials.signed
        self._remoting = RemotingClient(tls=self.config.tls_maker(), links=Links(prepare=sign))
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        """End all connections; what waits for answers ends with ConnectError. May be called again."""
        self._servers.close()
        remoting, self._remoting = self._remoting, None
        if remoting is not None:
            await remoting.close()

    @property
    def requests(self) -> BrokerRequests:
        """By which brokers are asked.

        Raises:
            ClientClosedError: It is not open.
            RuntimeError: It was opened in another event loop.
        """
        return BrokerRequests(self._opened(), self.config.request_timeout_s)

    async def name_servers(self) -> tuple[NameServerClient, ...]:
        """Give all NameServers. Raises as `requests`, and AddressServerError."""
        remoting, timeout_s = self._opened(), self.config.request_timeout_s
        return tuple(NameServerClient(remoting, str(each), timeout_s) for each in await self._servers.current())

    async def name_server(self, ask: Callable[[NameServerClient], Awaitable[ValueT]]) -> ValueT:
        """Ask NameServers in turn until one answers; the next question goes to that one first.

        Raises:
            RocketMQError: What the last one did, if none answers; a refusal that says no is an answer.
        """
        servers = await self.name_servers()
        for number in range(len(servers)):
            server = servers[self._current % len(servers)]
            try:
                return await ask(server)
            except (RemotingError, NotReadyError, UnreadableAnswerError) as error:
                self._current += 1
                if number == len(servers) - 1:
                    raise advised(f"NameServer {server.address}", error) from None
        raise AssertionError("there is at least one NameServer")

    async def cluster_info(self) -> ClusterInfo:
        """Give all clusters, brokers and addresses."""
        return await self.name_server(lambda server: server.cluster_info())

    async def route(self, topic: str) -> TopicRouteData:
        """Give the route of a topic.

        Raises:
            NoRouteError: No NameServer has one.
        """
        try:
            return await self.name_server(lambda server: server.topic_route(topic))
        except NotFoundError as error:
            raise NoRouteError(topic, "no broker has registered it") from error

    async def brokers(self, cluster: str | None = None) -> tuple[Broker, ...]:
        """Give all brokers, or those of a cluster, masters before slaves.

        Raises:
            ValueError: There is no such cluster; the text names those that there are.
        """
        info = await self.cluster_info()
        if cluster is not None and cluster not in info.cluster_addr_table:
            known = ", ".join(sorted(info.cluster_addr_table)) or "none"
            raise ValueError(f"there is no cluster {cluster!r}; there are: {known}")
        found = [
            Broker(data.cluster or "", name, broker_id, address)
            for name, data in info.broker_addr_table.items()
            if cluster is None or name in info.cluster_addr_table[cluster]
            for broker_id, address in data.broker_addrs.items()
        ]
        return tuple(sorted(found))

    async def targets(self, cluster: str | None, broker: str | None) -> tuple[Target, ...]:
        """Give the masters of a cluster, of all clusters, or the broker of a name or an address.

        Raises:
            ValueError: Both are given, or there is no such cluster or broker, or no broker at all.
        """
        if cluster is not None and broker is not None:
            raise ValueError("name a cluster or a broker, not both")
        if broker is not None and ":" in broker:
            return (Target(broker, broker),)
        known = await self.brokers(cluster)
        masters = [Target(each.name, each.address) for each in known if each.id == MASTER_ID]
        found = tuple(each for each in masters if broker is None or each.name == broker)
        if not found:
            names = ", ".join(each.name for each in masters) or "none"
            what = "no master is registered" if broker is None else f"there is no master of broker {broker!r}"
            raise ValueError(f"{what}; there are: {names}")
        return found

    async def targets_of_topic(self, topic: str, cluster: str | None = None) -> tuple[Target, ...]:
        """Give the brokers of a topic's route: of each group the master, or the slave with the smallest id.

        Raises:
            NoRouteError: There is none, or none in this cluster.
        """
        data = await self.route(topic)
        found = tuple(
            Target(each.broker_name, _reader(each.broker_addrs))
            for each in data.broker_datas
            if each.broker_addrs and cluster in (None, each.cluster)
        )
        if not found:
            raise NoRouteError(
                topic, "no broker has it" if cluster is None else f"no broker of cluster {cluster} has it"
            )
        return found

    async def address_of(self, broker_name: str, topic: str) -> str:
        """Give where a broker of a topic is read.

        Raises:
            NoRouteError: It is not in the topic's route.
        """
        for each in await self.targets_of_topic(topic):
            if each.name == broker_name:
                return each.address
        raise NoRouteError(topic, f"broker {broker_name} does not have it")

    async def each(self, targets: Iterable[Target], ask: Callable[[str], Awaitable[ValueT]]) -> Answers[ValueT]:
        """Ask several servers at once, each by its address, and give what they answered and what failed."""
        asked: Sequence[Target] = tuple(targets)
        outcomes = await asyncio.gather(*(self._outcome(each, ask) for each in asked))
        values: dict[str, ValueT] = {}
        failures: dict[str, RocketMQError] = {}
        for target, (value, failure) in zip(asked, outcomes, strict=True):
            if failure is not None:
                failures[target.name] = failure
            else:
                values[target.name] = value[0]
        return Answers(values=values, failures=failures)

    async def _outcome(
        self, target: Target, ask: Callable[[str], Awaitable[ValueT]]
    ) -> tuple[tuple[ValueT, ...], RocketMQError | None]:
        async with self._at_once:
            try:
                return (await ask(target.address),), None
            except RocketMQError as error:
                return (), advised(target.name, error)

    async def single(self, address: str, code: int, header: Any = None, body: bytes = b"") -> RemotingCommand:
        """Ask one broker; what it refuses is raised with advice."""
        try:
            return await self.requests.ask(address, code, header, body)
        except RocketMQError as error:
            raise advised(address, error) from None

    @staticmethod
    def accept(address: str, answer: RemotingCommand) -> None:
        """Raise RefusedError, or a subclass, for an answer that is not SUCCESS."""
        if answer.code != ResponseCode.SUCCESS:
            raise refusal(address, answer)

    async def read(self, address: str, code: int, header: Any, kind: type[BodyT]) -> BodyT:
        """Ask one broker and read the answer's body."""
        return read_with(address, lambda body: decode_body(kind, body), await self.requests.ask(address, code, header))

    def _opened(self) -> RemotingClient:
        if self._remoting is None:
            raise ClientClosedError("the admin client is not open: use `async with`, or start it")
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("this admin client was opened in another event loop; open one in each loop and process")
        return self._remoting


def read_with(address: str, decode: Callable[[bytes], ValueT], answer: RemotingCommand) -> ValueT:
    """Read the body of an answer.

    Raises:
        UnreadableAnswerError: It is not what was asked for.
    """
    try:
        return decode(answer.body)
    except MalformedBodyError as error:
        raise UnreadableAnswerError(address, f"cannot read its answer: {error}") from error


def _reader(addresses: Mapping[int, str]) -> str:
    return addresses[min(addresses)]
