"""`cosmodrome why` for any NameServer: what can be told from what it answers over the wire.

Owns: which questions are asked; what is printed, and the exit code.
Must not know: what follows from the facts (cosmodrome.why); the HTTP API, which knows more.
"""

import asyncio
import time
from typing import Final, TypeVar

import msgspec

from cosmodrome.admin.name_servers import NameServers, Outcome
from cosmodrome.admin.output import Output
from cosmodrome.client.name_server import ORDER_TOPIC_CONFIG, NameServerClient
from cosmodrome.errors import AdminError, MissingError, NotFoundError, NotSupportedError, WarmingUpError
from cosmodrome.protocol.bodies.cluster import ClusterInfo
from cosmodrome.protocol.bodies.route import TopicRouteData
from cosmodrome.protocol.slices import at_once
from cosmodrome.shown_text import shown
from cosmodrome.why.broker_rules import diagnose_broker
from cosmodrome.why.causes import DEFAULT_TOPIC
from cosmodrome.why.diagnosis import Diagnosis, lines_of
from cosmodrome.why.facts import BrokerFacts, Member, Peer, Queues, Server, TopicFacts
from cosmodrome.why.near_names import near_names
from cosmodrome.why.topic_rules import diagnose_topic

EXIT_ILL: Final = 1
_SEVERAL: Final = 2
FactsT = TypeVar("FactsT", TopicFacts, BrokerFacts)


async def why(
    servers: NameServers,
    output: Output,
    topic: str | None,
    broker: str | None,
    known: TopicFacts | BrokerFacts | None = None,
) -> int:
    """Explain a topic or a broker: the first server that answers is the one it is about, the others are its peers.

    `known` is what the first of them says of itself over HTTP, if it does.
    """
    if topic is not None:
        about = await _of_topic(servers, topic, known)
        return _printed(output, diagnose_topic(about), is_there=bool(about.queues))
    found = await _of_broker(servers, broker or "", known)
    return _printed(output, diagnose_broker(found), is_there=bool(found.members))


async def _of_topic(servers: NameServers, topic: str, known: TopicFacts | BrokerFacts | None) -> TopicFacts:
    if not isinstance(known, TopicFacts):
        return await _topic_facts(servers, topic, await servers.each(lambda server: _route(server, topic)))
    if len(servers.addresses) < _SEVERAL:
        return known
    _, *others = await servers.each(lambda server: _route(server, topic))
    return _with_peers(known, [_peer(each.address, each.error, knows=each.value is not None) for each in others])


async def _of_broker(servers: NameServers, broker: str, known: TopicFacts | BrokerFacts | None) -> BrokerFacts:
    if not isinstance(known, BrokerFacts):
        return _broker_facts(broker, await servers.each(lambda server: server.cluster_info()))
    if len(servers.addresses) < _SEVERAL:
        return known
    _, *others = await servers.each(lambda server: server.cluster_info())
    return _with_peers(
        known,
        [
            _peer(each.address, each.error, knows=each.value is not None and broker in each.value.broker_addr_table)
            for each in others
        ],
    )


def _with_peers(facts: FactsT, peers: list[Peer]) -> FactsT:
    """Add what other servers say to what the server knows of its peers."""
    named = {each.address: each for each in facts.peers} | {each.address: each for each in peers}
    return msgspec.structs.replace(facts, peers=tuple(named.values()))


def _printed(output: Output, diagnosis: Diagnosis, *, is_there: bool) -> int:
    """Print a diagnosis, and give the exit code: 0 when all is well, 66 when it is not there, 1 when something is wrong."""
    output.text(*(shown(line) for line in lines_of(diagnosis)))
    output.document(msgspec.to_builtins(diagnosis))
    if diagnosis.is_well:
        return 0
    return EXIT_ILL if is_there else MissingError.exit_code


async def _route(server: NameServerClient, topic: str) -> TopicRouteData | None:
    try:
        return await server.topic_route(topic)
    except NotFoundError:
        return None


async def _topic_facts(servers: NameServers, topic: str, routes: list[Outcome[TopicRouteData | None]]) -> TopicFacts:
    first, others = _first_of(routes)
    unready = str(first.error) if isinstance(first.error, WarmingUpError) else ""
    queues = _queues(first.value)
    default, cluster, names, order = await asyncio.gather(
        servers.first(lambda server: _route(server, DEFAULT_TOPIC)),
        servers.first(lambda server: server.cluster_info()),
        servers.first(_names),
        servers.first(lambda server: _order_conf(server, topic)),
    )
    return TopicFacts(
        topic=topic,
        server=_server(first.address, cluster, unready),
        queues=queues,
        near=() if queues else at_once(near_names(topic, names)),
        default_topic=_queues(default),
        peers=tuple(_peer(each.address, each.error, knows=each.value is not None) for each in others),
        order_conf=order,
    )


def _first_of(
    outcomes: list[Outcome[TopicRouteData | None]],
) -> tuple[Outcome[TopicRouteData | None], list[Outcome[TopicRouteData | None]]]:
    answered = [each for each in outcomes if each.error is None or isinstance(each.error, WarmingUpError)]
    if not answered:
        raise outcomes[0].error or AdminError(outcomes[0].address)
    return answered[0], [each for each in outcomes if each is not answered[0]]


async def _names(server: NameServerClient) -> tuple[str, ...]:
    try:
        return await server.all_topics()
    except NotSupportedError:
        return ()


async def _order_conf(server: NameServerClient, topic: str) -> str | None:
    try:
        return await server.kv_get(ORDER_TOPIC_CONFIG, topic)
    except NotFoundError:
        return None


def _server(address: str, cluster: ClusterInfo, unready: str = "") -> Server:
    brokers = sum(len(group.broker_addrs) for group in cluster.broker_addr_table.values())
    return Server(address=address, now_s=time.time(), unready=unready, brokers=brokers)


def _queues(route: TopicRouteData | None) -> tuple[Queues, ...]:
    if route is None:
        return ()
    groups = {data.broker_name: data for data in route.broker_datas}
    return tuple(
        Queues(
            broker=data.broker_name,
            cluster=groups[data.broker_name].cluster,
            read=data.read_queue_nums,
            write=data.write_queue_nums,
            perm=data.perm,
            addresses=dict(groups[data.broker_name].broker_addrs),
        )
        for data in route.queue_datas
        if data.broker_name in groups
    )


def _peer(address: str, error: AdminError | None, *, knows: bool) -> Peer:
    if error is not None:
        return Peer(address=address, knows=None, fault=error.what)
    return Peer(address=address, knows=knows)


def _broker_facts(broker: str, clusters: list[Outcome[ClusterInfo]]) -> BrokerFacts:
    first = next((each for each in clusters if each.value is not None), None)
    if first is None or first.value is None:
        raise clusters[0].error or AdminError(clusters[0].address)
    found = first.value
    names = sorted(found.broker_addr_table)
    group = found.broker_addr_table.get(broker)
    of = {name: cluster for cluster, members in found.cluster_addr_table.items() for name in members}
    return BrokerFacts(
        broker=broker,
        server=_server(first.address, found),
        members=tuple(
            Member(cluster=of.get(broker, group.cluster), broker=broker, broker_id=number, addr=addr)
            for number, addr in sorted(group.broker_addrs.items())
        )
        if group is not None
        else (),
        near=() if broker in names else at_once(near_names(broker, names)),
        peers=tuple(
            _peer(each.address, each.error, knows=each.value is not None and broker in each.value.broker_addr_table)
            for each in clusters
            if each is not first
        ),
        clusters=tuple(found.cluster_addr_table),
    )
