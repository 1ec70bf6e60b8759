"""The routing tables as the specification tells them, with plain lists and no thought of speed.

Owns: sections 7.1 to 7.9 of the specification, with the fixes F4 to F8, F10, F23 and F24 of its section 11.2.
Must not know: the package under test, beyond the values that it is given to register.

No caches, no indexes, no sharing: every table is a list of rows, every question walks them all.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Final

from cosmodrome.namesrv.routing.registration import BrokerRegistration
from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.route import QueueData, TopicQueueMappingInfo

WRITE: Final = 2
READ_WRITE: Final = 6
SYNC_PREFIX: Final = "rmq_sys_SYNC_BROKER_MEMBER_"


@dataclass
class Queue:
    """A row of topicQueueTable."""

    topic: str
    broker: str
    perm: int
    read: int
    write: int
    flag: int


@dataclass
class Mapping:
    """A row of topicQueueMappingInfoTable."""

    topic: str
    broker: str
    info: TopicQueueMappingInfo


@dataclass
class Group:
    """A row of brokerAddrTable."""

    name: str
    cluster: str
    addrs: dict[int, str]
    acting: bool
    zone: str | None


@dataclass
class Live:
    """A row of brokerLiveTable, and of filterServerTable."""

    cluster: str
    addr: str
    name: str
    connection: int
    last_ms: int
    timeout_ms: int
    version: DataVersion
    ha: str
    filters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Notice:
    """A 905 that is due."""

    broker: str
    receivers: tuple[str, ...]
    min_id: int
    min_addr: str
    offline: str | None
    ha: str | None


@dataclass
class Outcome:
    """How a registration ended: `accepted`, `conflict` or `single`; and where the master is."""

    status: str
    master: str | None = None
    ha: str | None = None
    notices: list[Notice] = field(default_factory=list)


class Model:
    """All tables."""

    def __init__(self) -> None:
        self.deletes_omitted = False
        self.supports_acting = False
        self.notifies = False
        self.queues: list[Queue] = []
        self.mappings: list[Mapping] = []
        self.groups: list[Group] = []
        self.members: list[tuple[str, str]] = []
        """Cluster and broker name: a row of clusterAddrTable."""
        self.live: list[Live] = []

    # -- finding

    def group(self, name: str) -> Group | None:
        return next((group for group in self.groups if group.name == name), None)

    def alive(self, cluster: str, addr: str) -> Live | None:
        return next((row for row in self.live if (row.cluster, row.addr) == (cluster, addr)), None)

    def queue(self, topic: str, broker: str) -> Queue | None:
        return next((row for row in self.queues if (row.topic, row.broker) == (topic, broker)), None)

    # -- 7.3

    def register(self, registration: BrokerRegistration, now_ms: int) -> Outcome:
        who, table = registration.identity, registration.table
        refusal = self._refusal(registration)
        if refusal is not None:
            return Outcome(refusal)
        notices: list[Notice] = []
        former = self.alive(who.cluster, who.addr)
        if former is not None and former.name != who.broker_name:  # F23
            notices += self._leave(former.name, who.addr)
        known = self.alive(who.cluster, who.addr)
        group = self.group(who.broker_name)
        if group is None:
            group = Group(who.broker_name, who.cluster, {}, acting=False, zone=None)
            self.groups.append(group)
        if (who.cluster, who.broker_name) not in self.members:
            self.members.append((who.cluster, who.broker_name))
        group.acting, group.zone = bool(who.enable_acting_master), who.zone_name
        previous_min = min(group.addrs, default=0)
        group.addrs = {id_: addr for id_, addr in group.addrs.items() if addr != who.addr or id_ == who.broker_id}
        replaced = group.addrs.get(who.broker_id)
        if replaced not in (None, who.addr):  # F4
            self.live = [row for row in self.live if (row.name, row.addr) != (who.broker_name, replaced)]
        group.addrs[who.broker_id] = who.addr
        is_prime = who.enable_acting_master is not None and who.broker_id != 0 and who.broker_id == min(group.addrs)
        if who.broker_id == 0 or is_prime:
            is_new = replaced is None or known is None or known.version != table.data_version
            self._take_topics(registration, group, is_prime=is_prime, is_new=is_new)
        self._put_live(registration, known, now_ms)
        if who.broker_id < previous_min:
            notices += self._notice(group, offline=None, ha=who.ha_server_addr)
        master = self._master(registration)
        return Outcome("accepted", *master, notices)

    def _refusal(self, registration: BrokerRegistration) -> str | None:
        """F8: everything is decided before anything is changed."""
        who, table = registration.identity, registration.table
        group = self.group(who.broker_name)
        addrs = {} if group is None else group.addrs
        holder = next((addr for id_, addr in addrs.items() if id_ == who.broker_id), None)
        if holder is not None and holder != who.addr:
            row = self.alive(who.cluster, holder)
            if row is not None and row.version.state_version > table.data_version.state_version:
                return "conflict"
        if holder is None and len(table.topic_configs) == 1:
            return "single"
        return None

    def _take_topics(self, registration: BrokerRegistration, group: Group, *, is_prime: bool, is_new: bool) -> None:
        who, table = registration.identity, registration.table
        if self.deletes_omitted and not table.topic_queue_mapping_infos:
            for row in [row for row in self.queues if row.broker == group.name]:
                if row.topic not in table.topic_configs:
                    self._drop(row.topic, group.name)
        for config in table.topic_configs.values():
            if not is_new and self.queue(config.topic_name, group.name) is not None:
                continue
            perm = config.perm & ~WRITE if is_prime and group.acting else config.perm
            numbers = (config.read_queue_nums, config.write_queue_nums, config.topic_sys_flag)
            self._put_queue(Queue(config.topic_name, group.name, perm, *numbers))
        if is_new:
            for topic, info in table.topic_queue_mapping_infos.items():
                if info.bname == who.broker_name:  # own-mappings-only
                    self.mappings = [row for row in self.mappings if (row.topic, row.broker) != (topic, info.bname)]
                    self.mappings.append(Mapping(topic, info.bname, info))

    def _put_live(self, registration: BrokerRegistration, known: Live | None, now_ms: int) -> None:
        who = registration.identity
        filters = registration.filter_servers
        row = Live(
            who.cluster,
            who.addr,
            who.broker_name,
            registration.connection,
            now_ms,
            who.heartbeat_timeout_ms,
            registration.table.data_version,
            who.ha_server_addr,
            filters if filters is not None else () if known is None else known.filters,
        )
        if known is None:
            self.live.append(row)
        else:
            self.live[self.live.index(known)] = row

    def _master(self, registration: BrokerRegistration) -> tuple[str | None, str | None]:
        who = registration.identity
        group = self.group(who.broker_name)
        if who.broker_id == 0 or group is None or 0 not in group.addrs:
            return None, None
        row = self.alive(who.cluster, group.addrs[0])
        return (None, None) if row is None else (row.addr, row.ha)

    def _put_queue(self, row: Queue) -> None:
        old = self.queue(row.topic, row.broker)
        if old is None:
            self.queues.append(row)
        else:
            self.queues[self.queues.index(old)] = row

    # -- 7.5

    def register_topic(self, topic: str, datas: tuple[QueueData, ...]) -> None:
        exists = any(row.topic == topic for row in self.queues)
        if not exists and any(self.group(data.broker_name) is None for data in datas):
            return
        for data in datas:
            if self.group(data.broker_name) is None:
                return
            numbers = (data.read_queue_nums, data.write_queue_nums, data.topic_sys_flag)
            self._put_queue(Queue(topic, data.broker_name, data.perm, *numbers))

    def delete_topic(self, topic: str, cluster: str | None) -> None:
        brokers = {group.name for group in self.groups}
        if cluster:
            brokers = {name for of, name in self.members if of == cluster}
        for name in brokers:
            self._drop(topic, name)

    def change_perm(self, broker: str, *, wipe: bool) -> int:
        rows = [row for row in self.queues if row.broker == broker]
        for row in rows:
            row.perm = row.perm & ~WRITE if wipe else READ_WRITE
        return len(rows)

    def _drop(self, topic: str, broker: str) -> None:
        """F10: what is known of a topic's mappings goes with it."""
        is_served = self.queue(topic, broker) is not None
        self.queues = [row for row in self.queues if (row.topic, row.broker) != (topic, broker)]
        self.mappings = [row for row in self.mappings if (row.topic, row.broker) != (topic, broker)]
        if is_served:
            self._forget_lost_topics({topic})

    def _forget_lost_topics(self, topics: set[str]) -> None:
        lost = topics - {row.topic for row in self.queues}
        self.mappings = [row for row in self.mappings if row.topic not in lost]

    # -- 7.6, 7.8

    def unregister(self, name: str, addr: str) -> list[Notice]:
        return self._leave(name, addr)

    def expire(self, now_ms: int) -> tuple[list[Notice], set[int]]:
        """Give the notices, and the connections to close: those over which nobody speaks any more."""
        expired = [row for row in self.live if row.last_ms + row.timeout_ms < now_ms]
        return self._leave_together(expired), {row.connection for row in expired} - {
            row.connection for row in self.live
        }

    def connection_closed(self, connection: int) -> list[Notice]:
        """F6: all of them, in the order of their keys."""
        rows = sorted(
            (row for row in self.live if row.connection == connection), key=lambda row: (row.cluster, row.addr)
        )
        return self._leave_together(rows)

    def heartbeat(self, cluster: str, addr: str, now_ms: int) -> Live | None:
        row = self.alive(cluster, addr)
        if row is not None:
            row.last_ms = now_ms
        return row

    def _leave_together(self, rows: list[Live]) -> list[Notice]:
        """Who leaves at one instant is one change: a group is told of its last state alone."""
        notices = [notice for row in rows for notice in self._leave(row.name, row.addr)]
        groups = list(dict.fromkeys(notice.broker for notice in notices))
        return [[notice for notice in notices if notice.broker == name][-1] for name in groups]

    def _leave(self, name: str, addr: str) -> list[Notice]:
        """F24: only what lives under this name."""
        self.live = [row for row in self.live if (row.name, row.addr) != (name, addr)]
        group = self.group(name)
        if group is None:
            return []
        before = dict(group.addrs)
        group.addrs = {id_: other for id_, other in before.items() if other != addr}
        if not group.addrs:
            self.groups.remove(group)
            self.members = [row for row in self.members if row[1] != name]
            served = {row.topic for row in self.queues if row.broker == name}
            self.queues = [row for row in self.queues if row.broker != name]
            self.mappings = [row for row in self.mappings if row.broker != name]
            self._forget_lost_topics(served)
            return []
        if group.acting and min(group.addrs) > 0:
            self.change_perm(name, wipe=True)
        if group.acting and min(group.addrs) != min(before):
            return self._notice(group, offline=addr, ha=None)
        return []

    # -- 7.9

    def _notice(self, group: Group, *, offline: str | None, ha: str | None) -> list[Notice]:
        if not self.notifies:
            return []
        smallest = min(group.addrs)
        everybody = offline is not None or len(group.addrs) == 1
        receivers = tuple(group.addrs[id_] for id_ in sorted(group.addrs) if everybody or id_ != smallest)
        return [Notice(group.name, receivers, smallest, group.addrs[smallest], offline, ha)]

    # -- questions, as JSON values

    def topics(self) -> set[str]:
        return {row.topic for row in self.queues}

    def topics_of_cluster(self, cluster: str) -> set[str]:
        brokers = {name for of, name in self.members if of == cluster}
        return {row.topic for row in self.queues if row.broker in brokers}

    def topics_with_flags(self, wanted: int, unwanted: int) -> tuple[set[str], set[str]]:
        """Give the topics that must be listed and those that may: which queue data is the first is not specified."""
        fits = [row for row in self.queues if row.flag & wanted == wanted and row.flag & unwanted == 0]
        may = {row.topic for row in fits}
        return may - {row.topic for row in self.queues if row not in fits}, may

    def route(self, topic: str, order: str | None = None) -> dict[str, Any] | None:
        """7.7."""
        rows = [row for row in self.queues if row.topic == topic]
        groups = [group for row in rows if (group := self.group(row.broker)) is not None]
        if not groups:
            return None
        lives = {(row.cluster, row.addr): row.filters for row in self.live if row.filters}
        route: dict[str, Any] = {
            "brokerDatas": sorted(
                (self._broker_data(self._shown(group, rows, topic)) for group in groups),
                key=lambda data: str(data["brokerName"]),
            ),
            "filterServerTable": {
                addr: list(lives[group.cluster, addr])
                for group in groups
                for addr in group.addrs.values()
                if (group.cluster, addr) in lives
            },
            "queueDatas": sorted((_queue_data(row) for row in rows), key=lambda data: str(data["brokerName"])),
        }
        if order is not None:
            route["orderTopicConf"] = order
        mappings = {row.broker: _mapping(row.info) for row in self.mappings if row.topic == topic}
        return route | ({"topicQueueMappingByBroker": mappings} if mappings else {})

    def _shown(self, group: Group, rows: list[Queue], topic: str) -> Group:
        """7.7 step 5."""
        is_read_only = any(row.broker == group.name and not row.perm & WRITE for row in rows)
        is_masterless = bool(group.addrs) and 0 not in group.addrs and group.acting
        if not self.supports_acting or topic.startswith(SYNC_PREFIX) or not is_read_only or not is_masterless:
            return group
        addrs = dict(group.addrs)
        return replace(group, addrs={0: addrs.pop(min(addrs))} | addrs)

    def _broker_data(self, group: Group) -> dict[str, Any]:
        data: dict[str, Any] = {
            "brokerAddrs": {str(id_): addr for id_, addr in group.addrs.items()},
            "brokerName": group.name,
            "cluster": group.cluster,
            "enableActingMaster": group.acting,
        }
        return data if group.zone is None else data | {"zoneName": group.zone}

    def cluster_info(self) -> dict[str, Any]:
        return {
            "brokerAddrTable": {group.name: self._broker_data(group) for group in self.groups},
            "clusterAddrTable": {
                cluster: sorted(name for of, name in self.members if of == cluster) for cluster, _ in self.members
            },
        }


def _queue_data(row: Queue) -> dict[str, Any]:
    return {
        "brokerName": row.broker,
        "perm": row.perm,
        "readQueueNums": row.read,
        "topicSysFlag": row.flag,
        "writeQueueNums": row.write,
    }


def _mapping(info: TopicQueueMappingInfo) -> dict[str, Any]:
    members: dict[str, Any] = {
        "bname": info.bname,
        "currIdMap": None if info.curr_id_map is None else {str(key): id_ for key, id_ in info.curr_id_map.items()},
        "dirty": info.dirty,
        "epoch": info.epoch,
        "scope": info.scope,
        "topic": info.topic,
        "totalQueues": info.total_queues,
    }
    return {name: value for name, value in members.items() if value is not None}
