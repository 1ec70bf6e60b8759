"""Commands about the route of one topic: topicRoute, topicClusterList, allocateMQ.

Owns: their layouts, and how queues are dealt out to consumers.
Must not know: how a server is asked.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from cosmodrome.admin.java_json import java_pretty
from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.output import Output, snake_case
from cosmodrome.protocol.bodies.route import PERM_READ, TopicQueueMappingInfo, TopicRouteData
from cosmodrome.protocol.json_dialects import encode_json
from cosmodrome.shown_text import shown

_RULE: Final = "-" * 158
_LOGICAL_BROKER: Final = "__syslo__"
_GLOBAL_SCOPE: Final = "__global__"


class MessageQueue(NamedTuple):
    """One queue that a consumer can be given."""

    broker_name: str
    queue_id: int


async def topic_route(servers: NameServers, output: Output, topic: str, *, as_table: bool) -> int:
    """Print a route: as Java's JSON, or as a table."""
    route = await servers.first(lambda server: server.topic_route(topic))
    output.text(*(_table(route) if as_table else [java_pretty(route)]))
    output.document({"topic": topic, **snake_case(route)})
    return 0


async def topic_cluster_list(servers: NameServers, output: Output, topic: str) -> int:
    """Print the clusters that serve a topic; mqadmin prints only that of the first broker."""
    route = await servers.first(lambda server: server.topic_route(topic))
    for cluster in sorted({data.cluster for data in route.broker_datas}):
        output.row({"cluster": cluster}, shown(cluster))
    output.end("clusters", topic=topic)
    return 0


async def allocate_mq(servers: NameServers, output: Output, topic: str, clients: Sequence[str]) -> int:
    """Print which queues each consumer would get from AllocateMessageQueueAveragely."""
    route = await servers.first(lambda server: server.topic_route(topic))
    dealt = allocated_averagely(message_queues(route), clients)
    result = {
        client: [{"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": topic} for queue in queues]
        for client, queues in dealt.items()
    }
    output.text(encode_json({"result": result}).decode())
    for client, queues in dealt.items():
        output.row({"client": client, "queues": [queue._asdict() for queue in queues]})
    output.end("allocation", topic=topic)
    return 0


def message_queues(route: TopicRouteData) -> list[MessageQueue]:
    """Give the queues that consumers see, in the order in which they sort them."""
    if route.topic_queue_mapping_by_broker:
        return _logical_queues(route.topic_queue_mapping_by_broker.values())
    return sorted(
        MessageQueue(data.broker_name, queue_id)
        for data in route.queue_datas
        if data.perm & PERM_READ
        for queue_id in range(data.read_queue_nums)
    )


def allocated_averagely(queues: Sequence[MessageQueue], clients: Sequence[str]) -> dict[str, list[MessageQueue]]:
    """Deal queues out in runs of about equal length; the first clients get one more."""
    size, rest = divmod(len(queues), len(clients))
    dealt: dict[str, list[MessageQueue]] = {}
    start = 0
    for index, client in enumerate(clients):
        end = start + size + (1 if index < rest else 0)
        dealt[client] = list(queues[start:end])
        start = end
    return dealt


def _logical_queues(infos: Iterable[TopicQueueMappingInfo]) -> list[MessageQueue]:
    """Give the queues of a static topic, which have numbers of their own; the newest mapping of a scope counts."""
    newest: dict[str, TopicQueueMappingInfo] = {}
    for info in infos:
        scope = info.scope or _GLOBAL_SCOPE
        known = newest.get(scope)
        if known is None or (info.epoch, info.total_queues) > (known.epoch, known.total_queues):
            newest[scope] = info
    return sorted(
        MessageQueue(_LOGICAL_BROKER + scope.removeprefix("__"), queue_id)
        for scope, info in newest.items()
        for queue_id in range(info.total_queues)
    )


def _table(route: TopicRouteData) -> list[str]:
    queues = {data.broker_name: data for data in route.queue_datas}
    lines = [_line("#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm")]
    reads = writes = 0
    for broker in sorted(route.broker_datas, key=lambda data: data.broker_name):
        addrs = ", ".join(f"{id_}={addr}" for id_, addr in broker.broker_addrs.items())
        data = queues.get(broker.broker_name)
        numbers = (data.read_queue_nums, data.write_queue_nums, data.perm) if data else ("", "", "")
        reads += data.read_queue_nums if data else 0
        writes += data.write_queue_nums if data else 0
        lines.append(_line(shown(broker.cluster), shown(broker.broker_name), f"{{{shown(addrs)}}}", *numbers))
    return [*lines, _RULE, _line("Total:", len(queues), "", reads, writes, "")]


def _line(*cells: object) -> str:
    cluster, broker, addrs, read, write, perm = map(str, cells)
    return f"{cluster:<45} {broker:<32} {addrs:<50} {read:<10} {write:<11} {perm:<5}"
