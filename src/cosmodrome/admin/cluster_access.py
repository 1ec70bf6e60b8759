"""The brokers behind the NameServers, as a command reaches them.

Owns: how clients are opened with the options of every command; which NameServer they ask; what an error of theirs is
    to a person.
Must not know: what is asked.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from cosmodrome.admin.name_servers import NameServers
from cosmodrome.admin.topics import unknown_cluster
from cosmodrome.client.admin.admin import AdminClient
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import MissingError, RocketMQError
from cosmodrome.protocol.bodies.cluster import ClusterInfo
from cosmodrome.protocol.bodies.route import PERM_READ, TopicRouteData


class Routed(NamedTuple):
    """A route, and the NameServer that gave it."""

    route: TopicRouteData
    name_server: str


class Placed(NamedTuple):
    """All clusters, and the NameServer that gave them."""

    info: ClusterInfo
    name_server: str


async def routed(servers: NameServers, topic: str) -> Routed:
    """Give the route of a topic, of the first NameServer that answers.

    Raises:
        AdminError: It has none, or none answers.
    """

    async def ask(server: NameServerClient) -> Routed:
        return Routed(await server.topic_route(topic), server.address)

    return await servers.first(ask)


async def placed(servers: NameServers, cluster: str | None = None) -> Placed:
    """Give where all brokers are, of the first NameServer that answers.

    Raises:
        AdminError: There is no such cluster, or none answers.
    """

    async def ask(server: NameServerClient) -> Placed:
        return Placed(await server.cluster_info(), server.address)

    found = await servers.first(ask)
    if cluster is not None and cluster not in found.info.cluster_addr_table:
        raise unknown_cluster(servers, cluster, found.info.cluster_addr_table)
    return found


@asynccontextmanager
async def administered(servers: NameServers, name_server: str) -> AsyncIterator[AdminClient]:
    """Open a client for administration that asks this NameServer, and explain what fails inside.

    Raises:
        OperatorError: Something did.
    """
    async with explained(servers), AdminClient(**client_options(servers, name_server)) as admin:
        yield admin


@asynccontextmanager
async def explained(servers: NameServers) -> AsyncIterator[None]:
    """Turn an error of a client of ours into one that a person reads.

    Raises:
        OperatorError: There was one.
    """
    try:
        yield
    except RocketMQError as error:
        from cosmodrome.admin.client_errors import explained_by_client  # noqa: PLC0415  # most commands succeed

        raise await explained_by_client(servers, error) from error


def client_options(servers: NameServers, name_server: str) -> dict[str, Any]:
    """Give the settings of any client: the NameServer, time, TLS and keys of the command line."""
    options: dict[str, Any] = {"namesrv": name_server, "request_timeout_s": servers.timeout_s}
    access = servers.access
    if access.tls_trust is not None:
        import ssl  # noqa: PLC0415  # most clusters speak plainly

        from cosmodrome.transport.tls import TlsFiles  # noqa: PLC0415

        options["tls"] = TlsFiles(trust_path=access.tls_trust, verify=ssl.CERT_REQUIRED)
    elif access.tls:
        options["tls"] = True
    if access.keys is not None:
        from cosmodrome.client.credentials import Credentials  # noqa: PLC0415

        options["credentials"] = Credentials(*access.keys)
    return options


def queue_of(route: TopicRouteData, topic: str, broker_name: str, queue_id: int) -> MessageQueue:
    """Give a queue that can be read.

    Raises:
        MissingError: The topic has no such broker, or the broker no such queue.
    """
    readable = readable_queues(route)
    if broker_name not in readable:
        names = ", ".join(sorted(readable)) or "no broker"
        raise MissingError(f"topic {topic} is not read at a broker {broker_name!r}.", why=f"it is at: {names}.")
    if not 0 <= queue_id < readable[broker_name]:
        raise MissingError(
            f"topic {topic} has no queue {queue_id} at broker {broker_name}.",
            why=f"it has the queues 0 to {readable[broker_name] - 1} there.",
        )
    return MessageQueue(topic, broker_name, queue_id)


def queues_of(route: TopicRouteData, topic: str, broker_name: str | None = None) -> list[MessageQueue]:
    """Give the queues that can be read, of all brokers or one, in order."""
    return [
        MessageQueue(topic, name, number)
        for name, count in sorted(readable_queues(route).items())
        if broker_name in (None, name)
        for number in range(count)
    ]


def readable_queues(route: TopicRouteData) -> Mapping[str, int]:
    """Give how many queues of each broker can be read."""
    return {data.broker_name: data.read_queue_nums for data in route.queue_datas if data.perm & PERM_READ}
