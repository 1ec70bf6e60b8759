"""Questions to the tables.

Owns: how a route and each listing is put together.
Must not know: how the tables change; how an answer is sent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cosmodrome.namesrv.routing.acting_master import with_acting_masters
from cosmodrome.namesrv.routing.broker_addrs import BrokerAddrs
from cosmodrome.namesrv.routing.broker_live import BrokerKey, BrokerLive, BrokerLiveInfo
from cosmodrome.namesrv.routing.effects import ConnectionId
from cosmodrome.namesrv.routing.encoded_routes import EncodedGroups, EncodedRoutes, StandingBody
from cosmodrome.namesrv.routing.listings import KeptListings, Listing, ListingKind
from cosmodrome.namesrv.routing.topic_queues import TopicQueues
from cosmodrome.protocol.bodies.cluster import encode_cluster_info, encode_topic_list
from cosmodrome.protocol.bodies.route import (
    MASTER_ID,
    BrokerData,
    QueueData,
    TopicRouteData,
    encode_route_groups,
    encode_topic_route,
    join_route,
)
from cosmodrome.protocol.json_dialects import JsonDialect

FLAG_UNIT = 1
FLAG_UNIT_SUB = 2
_FLAGS = {
    ListingKind.UNIT_TOPICS: (FLAG_UNIT, 0),
    ListingKind.UNIT_SUB_TOPICS: (FLAG_UNIT_SUB, 0),
    ListingKind.UNIT_SUB_UNUNIT_TOPICS: (FLAG_UNIT_SUB, FLAG_UNIT),
}
"""Which sys-flag bits a topic of a listing has, and which it has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """The configuration that the tables obey (the Java keys in snake case)."""

    support_acting_master: bool = False
    notify_min_broker_id_changed: bool = False
    delete_topic_with_broker_registration: bool = False


class LiveMember(NamedTuple):
    """A live broker: its cluster, its group, its id there, and what it is by that: master, slave or acting_master."""

    cluster: str
    broker_name: str
    broker_id: int
    role: str
    addr: str
    last_update_ms: int
    heartbeat_timeout_ms: int


class RouteReader:
    """Reads of one instant; nothing here changes a table, except that what was made is kept."""

    def __init__(self, queues: TopicQueues, brokers: BrokerAddrs, live: BrokerLive, encoded: EncodedRoutes) -> None:
        self._queues = queues
        self._brokers = brokers
        self._live = live
        self._encoded = encoded
        self._encoded_groups = EncodedGroups()
        self._kept = KeptListings()
        self.reused_count = 0
        """How often an encoded route was there already, for those who asked `encoded_route`."""
        self.made_count = 0
        """How often one was made."""
        self.options = TableOptions()
        self.revision = 0
        """Moves with every change of the tables."""

    def topic_route(self, topic: str, order_topic_conf: str | None = None) -> TopicRouteData | None:
        """Give the route of a topic, or None when no registered broker serves it (Java: pickupTopicRouteData)."""
        queues = self._queues.of_topic(topic)
        groups = tuple(group for name in queues if (group := self._brokers.group(name)) is not None)
        if not groups:
            return None
        route = TopicRouteData(
            broker_datas=groups,
            queue_datas=tuple(queues.values()),
            filter_server_table=self._filter_server_table(groups),
            order_topic_conf=order_topic_conf,
            topic_queue_mapping_by_broker=self._queues.mappings_of(topic),
        )
        return with_acting_masters(topic, route) if self.options.support_acting_master else route

    def encoded_route(self, topic: str, dialect: JsonDialect, order_topic_conf: str | None = None) -> bytes | None:
        """Give the route of a topic as a body, or None. Made once, then kept until the route changes."""
        body = self._encoded.get(topic, dialect, order_topic_conf)
        if body is None:
            if self.options.support_acting_master:
                route = self.topic_route(topic, order_topic_conf)
                body = None if route is None else encode_topic_route(route, dialect)
            else:
                body = self._joined_route(topic, dialect, order_topic_conf)
            if body is None:
                return None
            self.made_count += 1
            self._encoded.put(topic, dialect, order_topic_conf, body)
        else:
            self.reused_count += 1
        return body

    def standing_body(self, topic: str, dialect: JsonDialect) -> StandingBody | None:
        """Give the kept body of a route without order configuration, which is withdrawn when the route changes."""
        return self._encoded.standing(topic, dialect, None)

    def _joined_route(self, topic: str, dialect: JsonDialect, order_topic_conf: str | None) -> bytes | None:
        """Write a route from the part that it has in common with other topics, and its own."""
        names = self._queues.brokers_of(topic)
        encoded = self._encoded_groups.get(names, dialect, self.revision)
        if encoded is None:
            groups = tuple(group for name in names if (group := self._brokers.group(name)) is not None)
            if not groups:
                return None
            encoded = encode_route_groups(groups, self._filter_server_table(groups), dialect)
            self._encoded_groups.put(names, dialect, self.revision, encoded)
        route = TopicRouteData(
            broker_datas=(),
            queue_datas=tuple(self._queues.of_topic(topic).values()),
            filter_server_table={},
            order_topic_conf=order_topic_conf,
            topic_queue_mapping_by_broker=self._queues.mappings_of(topic),
        )
        return join_route(encoded, route, dialect)

    def listing(self, listing: Listing) -> bytes:
        """Give a listing as a body. Making one walks whole tables."""
        body = self._kept.get(listing, self.revision)
        if body is None:
            body = self._encoded_listing(listing)
            self._kept.put(listing, self.revision, body)
        return body

    def _encoded_listing(self, listing: Listing) -> bytes:
        if listing.kind is ListingKind.CLUSTER_INFO:
            return encode_cluster_info(self._brokers, self._brokers.clusters)
        if listing.kind is ListingKind.SYSTEM_TOPICS:
            return encode_topic_list(*self.system_topics())
        if listing.kind is ListingKind.TOPICS_OF_CLUSTER:
            return encode_topic_list(() if listing.cluster is None else self.topics_of_cluster(listing.cluster))
        if listing.kind is ListingKind.ALL_TOPICS:
            return encode_topic_list(self._queues)
        wanted, unwanted = _FLAGS[listing.kind]
        return encode_topic_list(self.topics_with_flags(wanted=wanted, unwanted=unwanted))

    def broker_addrs(self, broker_name: str | None) -> Mapping[int, str]:
        """Give the true addresses of a group by id; empty for an unknown one."""
        group = None if broker_name is None else self._brokers.group(broker_name)
        return {} if group is None else group.broker_addrs

    def topic_count(self) -> int:
        """Give how many topics there are."""
        return len(self._queues)

    def all_topics(self) -> list[str]:
        """Give the names of all topics."""
        return list(self._queues)

    def topics_of_cluster(self, cluster: str) -> list[str]:
        """Give the topics that a broker of this cluster serves; empty for an unknown cluster."""
        topics: dict[str, None] = {}
        for broker_name in self._brokers.brokers_of(cluster):
            topics.update(dict.fromkeys(self._queues.of_broker(broker_name)))
        return list(topics)

    def system_topics(self) -> tuple[list[str], str | None]:
        """Give every cluster name and broker name, and the address of one broker (lowest id of the first group)."""
        names = dict.fromkeys(self._brokers.clusters)
        for brokers in self._brokers.clusters.values():
            names.update(brokers)
        first = next(iter(self._brokers), None)
        return list(names), None if first is None else first.broker_addrs[min(first.broker_addrs)]

    def topics_with_flags(self, *, wanted: int, unwanted: int = 0) -> list[str]:
        """Give the topics whose first queue data has all wanted sys-flag bits and none of the unwanted."""
        found: list[str] = []
        for topic in self._queues:
            flags = self._queues.first_of_topic(topic).topic_sys_flag
            if flags & wanted == wanted and not flags & unwanted:
                found.append(topic)
        return found

    def queue_datas(self, topic: str) -> Mapping[str, QueueData]:
        """Give what each broker has for a topic, by broker name."""
        return self._queues.of_topic(topic)

    def likeness(self, topic: str) -> tuple[object, ...] | None:
        """Give a value that topics have in common whose routes differ in nothing, in one state of the tables; None of a topic that is alone."""
        if self._queues.mappings_of(topic) is not None:
            return None
        return tuple(self._queues.of_topic(topic).items())

    def accepted(self, topic: str, queue_datas: Sequence[QueueData]) -> Sequence[QueueData]:
        """Give those of the queue data that 217 registers for a topic.

        For a topic that exists, the entries before the first unknown broker are taken; for a new one all or none.
        """
        unknown = next((i for i, data in enumerate(queue_datas) if data.broker_name not in self._brokers), None)
        if unknown is None:
            return queue_datas
        return queue_datas[:unknown] if topic in self._queues else ()

    def brokers_of(self, cluster: str) -> tuple[str, ...]:
        """Give the broker names of a cluster; empty for an unknown one."""
        return self._brokers.brokers_of(cluster)

    def perms_of(self, broker_name: str) -> Mapping[str, int]:
        """Give the permission of each topic of a broker. It walks all of them."""
        held = self._queues.of_broker(broker_name)
        return {topic: data.perm for topic, data in held.items()}

    def cluster_count(self) -> int:
        """Give how many clusters have a broker."""
        return len(self._brokers.clusters)

    def topic_count_of(self, broker_name: str) -> int:
        """Give how many topics a broker serves."""
        return len(self._queues.of_broker(broker_name))

    def encoded_bytes(self) -> int:
        """Give how many bytes of encoded routes are kept."""
        return self._encoded.size_bytes

    def invalidated_count(self) -> int:
        """Give how many encoded routes were dropped because something in them changed."""
        return self._encoded.invalidated_count

    def counting_queues(self) -> Iterator[None]:
        """Count the queues of the brokers that changed since, one broker a step, so that `queue_counts` has less to do."""
        for name in self._queues.uncounted():
            self._queues.count_queues(name)
            yield

    def queue_counts(self) -> tuple[int, int]:
        """Give how many queues can be read and how many written, of all topics. Walks the topics of brokers that changed."""
        return self._queues.queue_counts()

    def live_members(self) -> Iterator[LiveMember]:
        """Give the live brokers with their place in their group."""
        for info in self._live:
            group = self._brokers.group(info.broker_name)
            ids = {} if group is None else {addr: id_ for id_, addr in group.broker_addrs.items()}
            broker_id = ids.get(info.key.addr)
            if group is not None and broker_id is not None:
                role = _role(group, broker_id, has_acting=self.options.support_acting_master)
                yield LiveMember(
                    cluster=info.key.cluster,
                    broker_name=info.broker_name,
                    broker_id=broker_id,
                    role=role,
                    addr=info.key.addr,
                    last_update_ms=info.last_update_ms,
                    heartbeat_timeout_ms=info.heartbeat_timeout_ms,
                )

    def names_over(self, connection: ConnectionId) -> frozenset[str]:
        """Give the names of the live brokers whose latest registration came over a connection."""
        return frozenset(info.broker_name for info in self._live.of_connection(connection))

    def lives(self, broker_name: str, addr: str) -> Sequence[BrokerLiveInfo]:
        """Give the live entries of an address under a broker name: one, or one for each cluster that it named."""
        return self._live.of_address(broker_name, addr)

    def _filter_server_table(self, groups: tuple[BrokerData, ...]) -> dict[str, tuple[str, ...]]:
        table: dict[str, tuple[str, ...]] = {}
        for group in groups:
            for addr in group.broker_addrs.values():
                servers = self._live.filter_servers(BrokerKey(group.cluster, addr))
                if servers:
                    table[addr] = servers
        return table


def _role(group: BrokerData, broker_id: int, *, has_acting: bool) -> str:
    if broker_id == MASTER_ID:
        return "master"
    is_acting = has_acting and group.enable_acting_master and broker_id == min(group.broker_addrs)
    return "acting_master" if is_acting else "slave"
