"""Questions to NameServers that mqadmin cannot put: topics of clusters, systems and units, broker groups, versions.

Owns: their layouts.
Must not know: how a server is asked.
"""

from collections.abc import Awaitable, Callable, Collection

from cosmodrome.admin.moments import rfc3339
from cosmodrome.admin.name_servers import NameServers, conclude
from cosmodrome.admin.output import Output
from cosmodrome.admin.topics import unknown_cluster
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import MissingError
from cosmodrome.shown_text import shown


async def topics_of_cluster(servers: NameServers, output: Output, *, cluster: str) -> int:
    """Print the topics of a cluster (224).

    Raises:
        MissingError: There is no such cluster.
    """
    names = await servers.first(lambda server: server.topics_of_cluster(cluster))
    if not names:
        info = await servers.first(lambda server: server.cluster_info())
        if cluster not in info.cluster_addr_table:
            raise unknown_cluster(servers, cluster, info.cluster_addr_table)
    return _print_topics(output, names, cluster=cluster)


async def system_topics(servers: NameServers, output: Output) -> int:
    """Print the topics that have the names of clusters and brokers (304)."""
    found = await servers.first(lambda server: server.system_topics())
    return _print_topics(output, found.topic_list, broker_addr=found.broker_addr)


async def unit_topics(servers: NameServers, output: Output) -> int:
    """Print the topics that are units' (311)."""
    return await _listed(servers, output, lambda server: server.unit_topics())


async def unit_sub_topics(servers: NameServers, output: Output) -> int:
    """Print the topics that units subscribe to (312)."""
    return await _listed(servers, output, lambda server: server.unit_sub_topics())


async def unit_sub_ununit_topics(servers: NameServers, output: Output) -> int:
    """Print the topics that units subscribe to, and that are no units' (313)."""
    return await _listed(servers, output, lambda server: server.unit_sub_ununit_topics())


async def _listed(
    servers: NameServers, output: Output, ask: Callable[[NameServerClient], Awaitable[Collection[str]]]
) -> int:
    return _print_topics(output, await servers.first(ask))


def _print_topics(output: Output, names: Collection[str], **facts: str | None) -> int:
    for name in sorted(names):
        output.row({"topic": name}, shown(name))
    output.end("topics", **facts)
    return 0


async def broker_members(servers: NameServers, output: Output, *, cluster: str, broker_name: str) -> int:
    """Print the ids and addresses of a broker group, as every NameServer knows them (901, 5.x).

    Raises:
        MissingError: None knows it.
    """
    outcomes = await servers.each(lambda server: server.member_group(cluster, broker_name))
    output.text(f"{'#NameServer':<24}  {'#BID':<4}  #Addr")
    for outcome in outcomes:
        addrs = {} if outcome.value is None else dict(sorted(outcome.value.broker_addrs.items()))
        output.row(outcome.row(broker_addrs={str(broker_id): addr for broker_id, addr in addrs.items()}))
        output.text(*(f"{outcome.address:<24}  {broker_id:<4}  {shown(addr)}" for broker_id, addr in addrs.items()))
    output.end("servers", cluster=cluster, broker_name=broker_name)
    code = conclude(output, outcomes)
    if code == 0 and not any(outcome.value and outcome.value.broker_addrs for outcome in outcomes):
        raise MissingError(
            f"no NameServer knows a broker {broker_name!r}.",
            remedy=f"check the spelling: {servers.command('admin clusterList')}",
        )
    return code


async def data_versions(servers: NameServers, output: Output, *, broker_name: str) -> int:
    """Print which state of a broker's topics every NameServer has (322): where it differs, one was not reached.

    Raises:
        MissingError: None knows the broker.
    """

    async def ask(server: NameServerClient) -> list[tuple[int, str, int | None, int | None]]:
        info = await server.cluster_info()
        data = info.broker_addr_table.get(broker_name)
        found = []
        for broker_id, addr in sorted(data.broker_addrs.items()) if data else ():
            version = await server.data_version(data.cluster or "", broker_name, broker_id, addr) if data else None
            found.append(
                (broker_id, addr, version.counter if version else None, version.timestamp if version else None)
            )
        return found

    outcomes = await servers.each(ask)
    output.text(f"{'#NameServer':<24}  {'#BID':<4}  {'#Addr':<22}  {'#Counter':<8}  #Timestamp")
    for outcome in outcomes:
        rows = [
            {"broker_id": broker_id, "addr": addr, "counter": counter, "time": None if ms is None else rfc3339(ms)}
            for broker_id, addr, counter, ms in outcome.value or ()
        ]
        output.row(outcome.row(versions=rows))
        output.text(
            *(
                f"{outcome.address:<24}  {row['broker_id']:<4}  {shown(str(row['addr'])):<22}  "
                f"{'-' if row['counter'] is None else row['counter']:<8}  {row['time'] or '-'}"
                for row in rows
            )
        )
    output.end("servers", broker_name=broker_name)
    code = conclude(output, outcomes)
    if code == 0 and not any(outcome.value for outcome in outcomes):
        raise MissingError(
            f"no NameServer knows a broker {broker_name!r}.",
            remedy=f"check the spelling: {servers.command('admin clusterList')}",
        )
    return code
