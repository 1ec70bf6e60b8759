"""Commands about all topics: topicList.

Owns: their layouts; what kind of topic a name stands for.
Must not know: how a server is asked.
"""

import asyncio
import itertools
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from typing import Final

from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output
from cosmodrome.client.broker import BrokerClient
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import AnswerError, MissingError, RemotingError
from cosmodrome.protocol.bodies.route import BrokerData, TopicRouteData
from cosmodrome.shown_text import shown

RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
_SYSTEM_PREFIX: Final = "rmq_sys_"
_REPLY_SUFFIX: Final = "_REPLY_TOPIC"
_SYSTEM_NAMES: Final = frozenset(
    {
        "TBW102",
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "RMQ_SYS_TRACE_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
    }
)
_AT_ONCE: Final = 32
"""How many routes are asked for at the same time."""


class TopicKind(Enum):
    """What a topic is for."""

    USER = "user"
    SYSTEM = "system"
    RETRY = "retry"
    DLQ = "dlq"


def kind_of(topic: str, own_names: Collection[str]) -> TopicKind:
    """Tell what a topic is for; `own_names` are those of clusters and brokers, which have topics of these names."""
    if topic.startswith(RETRY_PREFIX):
        return TopicKind.RETRY
    if topic.startswith(DLQ_PREFIX):
        return TopicKind.DLQ
    is_reply = topic.endswith(_REPLY_SUFFIX) and topic.removesuffix(_REPLY_SUFFIX) in own_names
    is_system = topic in _SYSTEM_NAMES or topic.startswith(_SYSTEM_PREFIX) or topic in own_names or is_reply
    return TopicKind.SYSTEM if is_system else TopicKind.USER


async def listed(servers: NameServers, output: Output, *, by_cluster: bool, **chosen: bool) -> int:
    """Print the topics of the chosen kinds; `chosen` has the value of each TopicKind."""
    kinds = frozenset(kind for kind in TopicKind if chosen[kind.value])
    return await (topic_list_by_cluster if by_cluster else topic_list)(servers, output, kinds)


async def topic_list(servers: NameServers, output: Output, kinds: Collection[TopicKind]) -> int:
    """Print topic names, each whole and on a line of its own; all of them when `kinds` is empty."""
    if output.is_text and not kinds:
        names = await servers.first(lambda server: server.all_topics())
        output.text(*map(shown, sorted(names)))
        return 0
    names, own_names = await servers.first(_named)
    for name in sorted(names):
        kind = kind_of(name, own_names)
        if not kinds or kind in kinds:
            output.row({"topic": name, "kind": kind.value}, shown(name))
    output.end("topics")
    return 0


async def topic_list_by_cluster(servers: NameServers, output: Output, kinds: Collection[TopicKind]) -> int:
    """Print topics with their clusters and consumer groups; groups are asked of brokers.

    Without `kinds` as mqadmin does: all but retry and dead-letter topics. Routes are asked for a few at a time.
    """
    wanted = kinds or {TopicKind.USER, TopicKind.SYSTEM}
    server, names, own_names = await servers.first(_named_by)
    groups = _Groups(servers)
    output.text(f"{'#Cluster Name':<20}  {'#Topic':<48}  {'#Consumer Group':<48}")
    chosen = (name for name in sorted(names) if kind_of(name, own_names) in wanted)
    for batch in _batches(chosen, _AT_ONCE):
        routes = await asyncio.gather(*(_route_or_none(server, topic) for topic in batch))
        of_topics = await asyncio.gather(*(groups.of(topic, route) for topic, route in zip(batch, routes, strict=True)))
        for topic, route, found in zip(batch, routes, of_topics, strict=True):
            clusters = sorted({data.cluster for data in route.broker_datas}) if route else [""]
            for cluster, group in itertools.product(clusters, found or [""]):
                row = {"cluster": cluster or None, "topic": topic, "consumer_group": group or None}
                output.row(row, f"{shown(cluster):<20}  {shown(topic):<64}  {shown(group):<64}")
    output.end("topics")
    for address in sorted(groups.silent):
        output.note(f"broker {address} did not answer: consumer groups of its topics are missing")
    return 0


def unknown_cluster(servers: NameServers, cluster: str, known: Iterable[str]) -> MissingError:
    """Give the error for a cluster that is not there; it names those that are."""
    names = ", ".join(sorted(known))
    return MissingError(
        f"there is no cluster {cluster!r}.",
        why=f"known are: {names}." if names else "no broker is registered.",
        remedy=f"check the spelling: {servers.command('admin clusterList')}",
    )


class _Groups:
    """Asks brokers for the consumer groups of topics, a silent broker only once."""

    def __init__(self, servers: NameServers) -> None:
        self._servers = servers
        self.silent: set[str] = set()

    async def of(self, topic: str, route: TopicRouteData | None) -> tuple[str, ...]:
        """Give the groups that a broker of the route names; the first that answers."""
        for data in route.broker_datas if route else ():
            address = _best_address(data)
            if address is None or address in self.silent:
                continue
            try:
                broker = BrokerClient(self._servers.remoting, address, self._servers.timeout_s)
                return tuple(sorted(await broker.consumer_groups(topic)))
            except RemotingError:
                self.silent.add(address)
            except AnswerError:
                continue
        return ()


def _best_address(data: BrokerData) -> str | None:
    """Give the master's address, else that of the smallest id."""
    return next(iter(data.broker_addrs.values()), None)


async def _named(server: NameServerClient) -> tuple[tuple[str, ...], Collection[str]]:
    names = await server.all_topics()
    return names, frozenset((await server.system_topics()).topic_list)


async def _named_by(server: NameServerClient) -> tuple[NameServerClient, tuple[str, ...], Collection[str]]:
    return (server, *await _named(server))


async def _route_or_none(server: NameServerClient, topic: str) -> TopicRouteData | None:
    """Give a route; None when there is none (any more), or the server will not say now."""
    try:
        return await server.topic_route(topic)
    except AnswerError:
        return None


def _batches(items: Iterable[str], size: int) -> Iterator[list[str]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
