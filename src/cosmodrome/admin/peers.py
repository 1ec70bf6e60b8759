"""peers diff: what NameServers disagree about.

Owns: a comparable summary of one NameServer, of any release; the differences between several.
Must not know: how a server is asked.

NameServers do not talk to each other, so a broker that reaches only some of them shows nowhere else.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cosmodrome.admin.name_servers import NameServers, Outcome, conclude
from cosmodrome.admin.output import Output
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.errors import NotFoundError, UsageError
from cosmodrome.protocol.bodies.cluster import ClusterInfo
from cosmodrome.protocol.route_digest import NO_ROUTE, TableDigest, route_digest
from cosmodrome.shown_text import shown

DIFFERENT: Final = 1
"""Exit code when the servers disagree."""

_AT_ONCE: Final = 64
_SHOWN_TOPICS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerView:
    """What one NameServer says. Addresses are by (cluster, broker name, broker id), route digests by topic."""

    address: str
    brokers: Mapping[tuple[str, str, int], str]
    routes: Mapping[str, str]

    @property
    def digest(self) -> str:
        """A text that is equal for equal content, whatever the order in which it was registered."""
        digest = TableDigest()
        for place, addr in self.brokers.items():
            digest.add_broker(place, addr)
        for topic, route in self.routes.items():
            digest.add_route(topic, route)
        return digest.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not the same everywhere.

    Attributes:
        kind: `broker`, `topic` (it is missing somewhere) or `route` (it is everywhere, and not the same).
        name: Of the broker (`cluster/name id N`) or the topic.
        values: What each server says, by its address; None where it is missing. Addresses, or digests.
    """

    kind: str
    name: str
    values: Mapping[str, str | None]

    @property
    def missing_at(self) -> tuple[str, ...]:
        """The servers that do not have it."""
        return tuple(address for address, value in self.values.items() if value is None)

    def __str__(self) -> str:
        """Say it in one line."""
        if self.missing_at:
            return f"{self.kind} {shown(self.name)}: missing at {', '.join(self.missing_at)}"
        said = ", ".join(f"{value} at {address}" for address, value in self.values.items())
        return f"{self.kind} {shown(self.name)}: {shown(said)}"


async def peers_diff(servers: NameServers, output: Output) -> int:
    """Compare all NameServers with each other, and print a line for each and for each difference.

    Their tables are read one topic after another; what changes meanwhile may show as a difference.

    Raises:
        UsageError: There is only one.
    """
    outcomes = await servers.each(peer_view)
    if len(outcomes) < 2:
        raise UsageError(
            "one NameServer has nothing to be compared with.", remedy="name at least two: -n A:9876,B:9876"
        )
    views = [outcome.value for outcome in outcomes if outcome.value is not None]
    output.text(f"{'#NameServer':<24}  {'#Clusters':>9}  {'#Brokers':>8}  {'#Topics':>8}  #Digest")
    output.text(*map(_summary_line, views))
    found = list(differences(views))
    for difference in found:
        output.row({"kind": difference.kind, "name": difference.name, "values": difference.values})
    is_compared = len(views) > 1
    if is_compared:
        output.text(*_difference_lines(found, shows_all=output.is_detailed))
    is_equal = not found if is_compared else None
    output.end("differences", servers=[_summary(outcome) for outcome in outcomes], is_equal=is_equal)
    code = conclude(output, outcomes)
    return code or (DIFFERENT if found else 0)


async def peer_view(server: NameServerClient) -> PeerView:
    """Read all of a NameServer: brokers, topics, and the route of each topic."""
    info = await server.cluster_info()
    topics = await server.all_topics()
    routes: dict[str, str] = {}
    left = iter(topics)

    async def read_some() -> None:
        for topic in left:
            try:
                routes[topic] = route_digest(await server.topic_route(topic))
            except NotFoundError:
                routes[topic] = NO_ROUTE

    await asyncio.gather(*(read_some() for _ in range(_AT_ONCE)))
    return PeerView(address=server.address, brokers=_brokers(info), routes=routes)


def differences(views: Sequence[PeerView]) -> Iterator[Difference]:
    """Give what is not the same in all views: brokers, then topics, each in order of names."""
    for key in sorted({key for view in views for key in view.brokers}):
        cluster, name, broker_id = key
        values = {view.address: view.brokers.get(key) for view in views}
        if len(set(values.values())) > 1:
            yield Difference(kind="broker", name=f"{cluster}/{name} id {broker_id}", values=values)
    for topic in sorted({topic for view in views for topic in view.routes}):
        values = {view.address: view.routes.get(topic) for view in views}
        if len(set(values.values())) > 1:
            yield Difference(kind="topic" if None in values.values() else "route", name=topic, values=values)


def _brokers(info: ClusterInfo) -> Mapping[tuple[str, str, int], str]:
    return {
        (cluster, name, id_): addr
        for cluster, names in info.cluster_addr_table.items()
        for name in names
        if name in info.broker_addr_table
        for id_, addr in info.broker_addr_table[name].broker_addrs.items()
    }


def _counts(view: PeerView) -> tuple[int, int, int]:
    groups = {(cluster, name) for cluster, name, _ in view.brokers}
    return len({cluster for cluster, _ in groups}), len(groups), len(view.routes)


def _summary_line(view: PeerView) -> str:
    clusters, brokers, topics = _counts(view)
    return f"{view.address:<24}  {clusters:>9}  {brokers:>8}  {topics:>8}  {view.digest}"


def _summary(outcome: Outcome[PeerView]) -> Mapping[str, Any]:
    if outcome.value is None:
        return outcome.row()
    clusters, brokers, topics = _counts(outcome.value)
    return outcome.row(clusters=clusters, brokers=brokers, topics=topics, digest=outcome.value.digest)


def _difference_lines(found: Sequence[Difference], *, shows_all: bool) -> Iterable[str]:
    if not found:
        return ["no difference"]
    brokers = [difference for difference in found if difference.kind == "broker"]
    topics = [difference for difference in found if difference.kind != "broker"]
    kept = topics if shows_all else topics[:_SHOWN_TOPICS]
    rest = len(topics) - len(kept)
    return [
        f"{len(found)} differences" if len(found) > 1 else "1 difference",
        *(f"  {difference}" for difference in (*brokers, *kept)),
        *([f"  and {rest} more topics (-v shows them)"] if rest else []),
    ]
