"""The brokers that a command talks to.

Owns: which brokers a cluster, an address or a route means; asking many at once; how their outcomes add up.
Must not know: what they are asked.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from cosmodrome.admin.name_servers import NameServers, Outcome
from cosmodrome.admin.output import Output
from cosmodrome.admin.topics import unknown_cluster
from cosmodrome.client.addresses import parse_addresses
from cosmodrome.client.admin.reach import read_with
from cosmodrome.client.requests import BrokerRequests
from cosmodrome.errors import AdminError, AnswerError, MissingError, RemotingError, UsageError
from cosmodrome.protocol.bodies.route import MASTER_ID, BrokerData, TopicRouteData
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.json_structs import decode_body

ValueT = TypeVar("ValueT")
BodyT = TypeVar("BodyT", bound=msgspec.Struct)

MOST_AT_ONCE: Final = 32
_PORT_AT_END: Final = re.compile(r":[0-9]+/?\s*$")
PARTLY_FAILED: Final = 1


class Place(NamedTuple):
    """A broker: `cluster` and `name` are empty when only its address was given."""

    cluster: str
    name: str
    id: int
    address: str


class Brokers:
    """Asks brokers over the connections of a run.

    Args:
        servers: Where brokers are looked for.
        output: Where the progress of long work shows.
    """

    def __init__(self, servers: NameServers, output: Output) -> None:
        self._servers = servers
        self._output = output
        self._requests = BrokerRequests(servers.remoting, servers.timeout_s)
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)

    async def chosen(
        self, broker_addr: str | None, cluster: str | None, *, with_slaves: bool = False
    ) -> tuple[Place, ...]:
        """Give the broker of an address, else the masters of a cluster (all clusters if it is None), or all brokers.

        Raises:
            UsageError: The address cannot be one, or has no port.
            MissingError: There is no such cluster, or no master in it.
        """
        if broker_addr is not None:
            return (Place("", "", MASTER_ID, await self.address(broker_addr)),)
        found = tuple(each for each in await self.registered(cluster) if with_slaves or each.id == MASTER_ID)
        if not found:
            raise MissingError(
                f"no {'broker' if with_slaves else 'master'} is registered{f' in {cluster!r}' if cluster else ''}.",
                remedy=f"see which brokers there are: {self._servers.command('admin clusterList')}",
            )
        return found

    async def address(self, given: str) -> str:
        """Give the address that -b names.

        Raises:
            UsageError: It cannot be one, or has no port; a broker of that name is told with its address.
        """
        address = str(parse_addresses(given, "-b")[0])
        if _PORT_AT_END.search(given):
            return address
        try:
            named = [place.address for place in await self.registered() if place.name == given]
        except AdminError:
            named = []
        known = f"the broker of that name has this one: -b {named[0]}" if named else None
        raise UsageError(
            f"-b {given!r} has no port: -b wants HOST:PORT here.",
            remedy=known or f"see the addresses: {self._servers.command('admin clusterList')}",
        )

    async def registered(self, cluster: str | None = None) -> tuple[Place, ...]:
        """Give all brokers that NameServers know, or those of a cluster, in order of cluster, name and id.

        Raises:
            MissingError: There is no such cluster.
        """
        info = await self._servers.first(lambda server: server.cluster_info())
        if cluster is not None and cluster not in info.cluster_addr_table:
            raise unknown_cluster(self._servers, cluster, info.cluster_addr_table)
        return tuple(
            Place(of, name, broker_id, address)
            for of, names in sorted(info.cluster_addr_table.items())
            if cluster in (None, of)
            for name in sorted(names)
            if name in info.broker_addr_table
            for broker_id, address in sorted(info.broker_addr_table[name].broker_addrs.items())
        )

    async def readers(self, cluster: str | None = None) -> tuple[Place, ...]:
        """Give one broker of each name: the master, or the slave with the smallest id. Raises as `registered`."""
        return tuple({(each.cluster, each.name): each for each in reversed(await self.registered(cluster))}.values())[
            ::-1
        ]

    async def route(self, topic: str) -> TopicRouteData:
        """Give the route of a topic.

        Raises:
            MissingError: There is none.
        """
        return await self._servers.first(lambda server: server.topic_route(topic))

    async def of_topic(self, topic: str) -> tuple[Place, ...]:
        """Give one broker of each name in a topic's route, as `readers`. Raises as `route`."""
        return readers_of((await self.route(topic)).broker_datas)

    async def ask(
        self, address: str, code: int, header: Any = None, body: bytes = b"", *, timeout_s: float | None = None
    ) -> RemotingCommand:
        """Give the answer of one broker, for `each` and `one`. Raises as BrokerRequests.ask."""
        async with self._at_once:
            return await self._requests.ask(address, code, header, body, timeout_s=timeout_s)

    async def read(self, address: str, code: int, header: Any, kind: type[BodyT]) -> BodyT:
        """Give the body of a broker's answer. Raises as `ask`, and UnreadableAnswerError."""
        answer = await self.ask(address, code, header)
        return read_with(address, lambda body: decode_body(kind, body), answer)

    async def each(self, places: Sequence[Place], ask: Callable[[Place], Awaitable[ValueT]]) -> list[Outcome[ValueT]]:
        """Ask several at once, and give their outcomes in the order of the places."""
        with self._output.progress("brokers", len(places)) as progress:
            return list(await asyncio.gather(*(progress.counting(self._outcome(each, ask)) for each in places)))

    async def each_asked(
        self, places: Sequence[Place], code: int, header: Any = None, body: bytes = b""
    ) -> list[Outcome[RemotingCommand]]:
        """Ask several the same at once, as `each`."""
        return await self.each(places, lambda place: self.ask(place.address, code, header, body))

    async def one(self, address: str, work: Awaitable[ValueT]) -> ValueT:
        """Give the result of asking one broker.

        Raises:
            AdminError: It failed.
        """
        try:
            return await work
        except (RemotingError, AnswerError) as error:
            raise await self.explained(address, error) from error

    async def explained(self, address: str, error: RemotingError | AnswerError) -> AdminError:
        """Give the error of a broker as a person reads it."""
        return await self._servers.explained(address, error, peer="broker")

    async def _outcome(self, place: Place, ask: Callable[[Place], Awaitable[ValueT]]) -> Outcome[ValueT]:
        try:
            return Outcome(address=place.address, value=await ask(place))
        except (RemotingError, AnswerError) as error:
            return Outcome(address=place.address, error=await self.explained(place.address, error))


def readers_of(datas: Iterable[BrokerData]) -> tuple[Place, ...]:
    """Give the broker to be read of each name that has an address: the master, or the slave with the smallest id."""
    return tuple(
        Place(data.cluster or "", data.broker_name, min(data.broker_addrs), data.broker_addrs[min(data.broker_addrs)])
        for data in sorted(datas, key=lambda data: data.broker_name)
        if data.broker_addrs
    )


def conclude_brokers(output: Output, outcomes: Sequence[Outcome[Any]], *, is_change: bool = True) -> int:
    """Report what failed, and give the exit code of a command that all brokers had to answer."""
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    for outcome in failed:
        output.error(outcome.error or AdminError(outcome.address))
    if not failed:
        return 0
    if len(failed) == len(outcomes):
        return failed[0].error.exit_code if failed[0].error else PARTLY_FAILED
    output.error(
        AdminError(
            f"{len(failed)} of {len(outcomes)} brokers failed: {', '.join(outcome.address for outcome in failed)}. "
            f"{'The others have done it' if is_change else 'What the others say is shown'}.",
            remedy="when these are well, repeat the command for each of them alone: "
            + " ; ".join(f"-b {outcome.address}" for outcome in failed),
        )
    )
    return PARTLY_FAILED


def tell_each(
    output: Output, places: Sequence[Place], outcomes: Sequence[Outcome[Any]], line: str, **facts: Any
) -> int:
    """Say what each broker did, and what failed; give the exit code."""
    for place, outcome in zip(places, outcomes, strict=True):
        output.row(outcome.row(cluster=place.cluster or None, broker_name=place.name or None, **facts))
        if outcome.error is None:
            output.confirm(line.format(place.address))
    return conclude_brokers(output, outcomes)
