"""RouteTables: the routing state of a NameServer (Java: RouteInfoManager).

Owns: every change of the tables, and what holds after each:
    - a live broker's address is in its group, and every address of a group belongs to a live broker;
    - a topic's queue data names groups that exist; a group's topics leave with it;
    - an encoded route is dropped when anything in it changed;
    - a change that is refused, or raises, left no trace.
Must not know: connections, clocks, configuration files, how an answer is written.

Methods that change something return Effects; none of them awaits, so each answer is the state at one instant.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from sys import intern

import msgspec

from cosmodrome.errors import IrregularTableError
from cosmodrome.namesrv.events import (
    BrokerChanged,
    BrokerRegistered,
    BrokerUnregistered,
    ClusterConflict,
    PermRestored,
    PermWiped,
    TopicsAdded,
    UnknownHeartbeat,
)
from cosmodrome.namesrv.routing.bases import Bases, KnownTable
from cosmodrome.namesrv.routing.broker_addrs import BrokerAddrs
from cosmodrome.namesrv.routing.broker_live import BrokerKey, BrokerLive, BrokerLiveInfo
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects
from cosmodrome.namesrv.routing.effects_told import (
    expiring,
    keep_last_notices,
    note_master,
    note_removed,
    notice_of,
    refused,
)
from cosmodrome.namesrv.routing.encoded_routes import EncodedRoutes
from cosmodrome.namesrv.routing.reader import RouteReader, TableOptions
from cosmodrome.namesrv.routing.registration import (
    BrokerIdentity,
    BrokerRegistration,
    PreparedTopics,
    RegisterBrokerResult,
    RegisterStatus,
    Stance,
    addrs_without_former_ids,
    group_with,
    host_of,
    is_prime_slave,
    moved,
)
from cosmodrome.namesrv.routing.room import TableLimits
from cosmodrome.namesrv.routing.stretch_changes import SentStretches, count_in_stretches
from cosmodrome.namesrv.routing.topic_changes import SentTopics, TopicChanges
from cosmodrome.namesrv.routing.topic_queues import TopicQueues
from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.route import (
    MASTER_ID,
    PERM_READ,
    PERM_WRITE,
    BrokerData,
    QueueData,
    TopicQueueMappingInfo,
)
from cosmodrome.protocol.bodies.topic_stretches import WrittenTable
from cosmodrome.protocol.slices import Slices, at_once


class RouteTables:
    """The tables and their only writer. `read` answers questions. Times are monotonic milliseconds.

    What would make them larger than `limits` allow raises RequestRefusedError.
    """

    def __init__(self, options: TableOptions | None = None, limits: TableLimits | None = None) -> None:
        self._limits = limits or TableLimits()
        self._queues = TopicQueues()
        self._brokers = BrokerAddrs()
        self._live = BrokerLive()
        self._encoded = EncodedRoutes()
        self._bases = Bases()
        self._revisions: dict[str, int] = {}
        self._last_revision = 0
        self._wiped: set[str] = set()
        self.read = RouteReader(self._queues, self._brokers, self._live, self._encoded)
        if options is not None:
            self.read.options = options

    @property
    def options(self) -> TableOptions:
        """The options in force."""
        return self.read.options

    def set_options(self, options: TableOptions) -> None:
        """Obey other options from now on."""
        self.read.options = options
        self._encoded.clear()
        for group in self._brokers:
            self._touch(group.broker_name)

    @property
    def dropped_count(self) -> int:
        """How much was dropped so far: pairs of topic and broker, filter servers, KiB of encoded routes."""
        return self._queues.dropped_count + self._live.dropped_count + self._encoded.dropped_bytes // 1024

    def live_brokers(self) -> Iterable[BrokerLiveInfo]:
        """Give the live brokers."""
        return iter(self._live)

    # -- registration

    def is_live(self, key: BrokerKey) -> bool:
        """Whether a broker of this address lives."""
        return self._live.get(key) is not None

    def renew_unchanged(
        self, identity: BrokerIdentity, digest: bytes, connection: ConnectionId, now_ms: int
    ) -> RegisterBrokerResult | None:
        """Take a registration as a heartbeat if it repeats the broker's last one and nothing touched its group since.

        Returns None, and does nothing, when the registration must be read.
        """
        info = self._live.get(identity.key)
        if info is None or info.digest != digest or info.revision != self._revisions.get(info.broker_name):
            return None
        self._live.renew(info, connection, now_ms)
        return self._result_for(identity)

    def known_table(self, identity: BrokerIdentity) -> KnownTable | None:
        """Give what is known of the table that this broker sent last; None when nothing held rests on it any more."""
        revision = self._revisions.get(identity.broker_name)
        return None if revision is None else self._bases.known(identity, revision)

    def prepare(self, registration: BrokerRegistration) -> Slices[PreparedTopics]:
        """Find in slices what a registration changes in its broker's topics; nothing is changed by that.

        Other changes may be made between two slices.

        Raises:
            IrregularTableError: A written table must be read in another way.
        """
        table, stance = registration.table, self._stance(registration)
        if table.written is not None:
            return (yield from self._prepare_written(registration, table.written, stance))
        name, count = registration.identity.broker_name, len(table.topic_configs)
        if not stance.is_publishing:
            return PreparedTopics(stance, (), TopicChanges(broker_name=name), count)
        omitted: tuple[str, ...] = ()
        if stance.is_omission_deletion:
            held = self._queues.of_broker(name)
            omitted = tuple(topic for topic in held if topic not in table.topic_configs)
        sent = SentTopics(
            broker_name=intern(name),
            configs=table.topic_configs.values(),
            perm_mask=registration.identity.perm_mask,
            is_all_new=stance.is_all_new,
            omitted=frozenset(omitted),
        )
        changes = yield from self._queues.changes_by(sent)
        return PreparedTopics(stance, omitted, changes, count)

    def _prepare_written(
        self, registration: BrokerRegistration, table: WrittenTable, stance: Stance
    ) -> Slices[PreparedTopics]:
        identity = registration.identity
        if table.replaced is not None and stance.revision != registration.basis_revision:
            raise IrregularTableError("what the table rests on has changed")
        if not stance.is_publishing:
            count = yield from count_in_stretches(table)
            return PreparedTopics(stance, (), TopicChanges(broker_name=identity.broker_name), count)
        sent = SentStretches(
            broker_name=intern(identity.broker_name),
            table=table,
            perm_mask=identity.perm_mask,
            is_all_new=stance.is_all_new,
            is_omission_deletion=stance.is_omission_deletion,
        )
        changes = yield from self._queues.changes_by_stretches(sent)
        known = table.known_with(changes.stretches) if changes.is_faithful else None
        return PreparedTopics(stance, changes.omitted, changes, changes.topic_count, known)

    def stands(self, registration: BrokerRegistration, prepared: PreparedTopics) -> bool:
        """Whether what was prepared for a registration is still true."""
        return prepared.stance == self._stance(registration)

    def register_broker(
        self, registration: BrokerRegistration, now_ms: int, prepared: PreparedTopics | None = None
    ) -> tuple[RegisterBrokerResult, Effects]:
        """Take a registration: the broker's address, its topics, its filter servers.

        Topics that are not in it are kept (a registration may be a part of the table), unless the option says
        that omission deletes. What was prepared for it is used if it is still true, else found again.
        """
        effects = Effects()
        identity = registration.identity
        if prepared is None or not self.stands(registration, prepared):
            prepared = at_once(self.prepare(registration))
        status = self._judge(registration, prepared.topic_count)
        if status is not RegisterStatus.ACCEPTED:
            effects.events.append(refused(identity, status))
            return RegisterBrokerResult(status=status), effects
        self._check_room(registration, prepared)
        self._note_move(registration, effects)
        self._leave_former_name(identity, now_ms, effects)
        old_group = self._brokers.group(identity.broker_name)
        old_info = self._live.get(identity.key)
        group = group_with(old_group, identity)
        self._note_group_change(old_group, group, identity, effects)
        if self._brokers.put(group, identity.cluster):
            self._touch(identity.broker_name)
        self._take_topics(registration, prepared, effects)
        self._note_liveness(registration, prepared.topic_count, old_info, effects)
        self._put_live(registration, now_ms)
        if prepared.known is not None:
            self._bases.keep(identity, prepared.known)
        # COMPAT: in a group that was empty an id counts as a change if it is negative.
        if identity.broker_id < (MASTER_ID if old_group is None else min(old_group.broker_addrs)):
            self._notice(group, effects, ha_addr=identity.ha_server_addr)
        return self._result_for(identity), effects

    def _judge(self, registration: BrokerRegistration, topic_count: int) -> RegisterStatus:
        """Decide before anything is changed."""
        identity, table = registration.identity, registration.table
        group = self._brokers.group(identity.broker_name)
        addrs = {} if group is None else addrs_without_former_ids(group, identity)
        holder = addrs.get(identity.broker_id)
        if holder is not None and holder != identity.addr:
            info = self._live.get(BrokerKey(identity.cluster, holder))
            if info is not None and info.data_version.state_version > table.data_version.state_version:
                return RegisterStatus.NEWER_STATE_VERSION_LIVES
        if holder is None and topic_count == 1:
            return RegisterStatus.SINGLE_TOPIC_BEFORE_BROKER
        return RegisterStatus.ACCEPTED

    @property
    def held_bytes(self) -> int:
        """What all entries are taken to cost."""
        return self._queues.held_bytes + self._live.held_bytes

    def _check_room(self, registration: BrokerRegistration, prepared: PreparedTopics) -> None:
        """Refuse what the tables have no room for, before anything is changed."""
        identity, group = registration.identity, self._brokers.group(registration.identity.broker_name)
        is_replacing = group is not None and group.broker_addrs.get(identity.broker_id, identity.addr) != identity.addr
        if self._live.get(identity.key) is None and not is_replacing:
            self._limits.check_brokers(len(self._live))
        self._limits.check_brokers(self._brokers.added_members(identity.cluster, identity.broker_name))
        added = prepared.changes.added_bytes
        if prepared.stance.is_publishing and prepared.stance.is_all_new:
            added += self._queues.added_mapping_bytes(identity.broker_name, _own_mappings(registration))
        added += self._live.added_filter_bytes(identity.key, registration.filter_servers)
        self._limits.check_size(self.held_bytes, added)

    def _leave_former_name(self, identity: BrokerIdentity, now_ms: int, effects: Effects) -> None:
        """An address has one name: leave the one under which it lived before."""
        info = self._live.get(identity.key)
        if info is None or info.broker_name == identity.broker_name:
            return
        reason = f"registered as {identity.broker_name}"
        self._remove_address(info.broker_name, identity.addr, effects, reason=reason, now_ms=now_ms)

    def _note_move(self, registration: BrokerRegistration, effects: Effects) -> None:
        """Tell when an identity that lives is taken by another address, or its address by another host, under any name."""
        identity = registration.identity
        group = self._brokers.group(identity.broker_name)
        holder = None if group is None else group.broker_addrs.get(identity.broker_id)
        for info in () if holder is None else self._live.of_address(identity.broker_name, holder):
            if holder != identity.addr:
                effects.events.append(moved(info, registration))
        own = self._live.get(identity.key)
        if own is not None and host_of(own.peer) != host_of(registration.peer):
            effects.events.append(moved(own, registration))

    def _note_group_change(
        self, old: BrokerData | None, new: BrokerData, identity: BrokerIdentity, effects: Effects
    ) -> None:
        """Forget the address that this one replaced, and tell what an operator wants to know of the group."""
        replaced = None if old is None else old.broker_addrs.get(identity.broker_id)
        if replaced is not None and replaced not in new.broker_addrs.values():
            for info in self._live.of_address(identity.broker_name, replaced):
                self._live.remove(info.key)
        if new.cluster != identity.cluster and identity.broker_name not in self._brokers.brokers_of(identity.cluster):
            effects.events.append(
                ClusterConflict(broker=identity.broker_name, cluster=identity.cluster, other_cluster=new.cluster)
            )
        if old is not None:
            note_master(old, new.broker_addrs.get(MASTER_ID), effects)

    def _stance(self, registration: BrokerRegistration) -> Stance:
        """Give what a comparison of topics rests on."""
        identity, table = registration.identity, registration.table
        group = self._brokers.group(identity.broker_name)
        info = self._live.get(identity.key)
        is_first = group is None or identity.broker_id not in addrs_without_former_ids(group, identity)
        is_other = info is None or info.broker_name != identity.broker_name
        return Stance(
            revision=self._revisions.get(identity.broker_name),
            is_publishing=identity.is_master or is_prime_slave(group_with(group, identity), identity),
            is_all_new=is_first or is_other or (info is not None and info.data_version != table.data_version),
            is_omission_deletion=self.options.delete_topic_with_broker_registration
            and not table.topic_queue_mapping_infos,
        )

    def _take_topics(self, registration: BrokerRegistration, prepared: PreparedTopics, effects: Effects) -> None:
        if not prepared.stance.is_publishing:
            return
        name = registration.identity.broker_name
        self._drop_topics(name, prepared.omitted, effects, reason="omitted from the broker's registration")
        added = self._queues.apply(prepared.changes)
        changed = prepared.changes.changed
        if prepared.stance.is_all_new and (mapped := self._take_mappings(registration)):
            changed = {*changed, *mapped}
        self._note_topics(name, changed, added, effects)

    def _take_mappings(self, registration: BrokerRegistration) -> list[str]:
        """Store static-topic mappings; a broker speaks for itself only."""
        name = registration.identity.broker_name
        mappings = _own_mappings(registration)
        return [topic for topic, info in mappings.items() if self._queues.put_mapping(topic, name, info)]

    def _note_topics(self, broker_name: str, changed: Collection[str], added: list[str], effects: Effects) -> None:
        if changed:
            self._touch(broker_name, changed)
            if broker_name in self._wiped:
                self._wiped.discard(broker_name)
                reason = "a registration with a moved data version overwrote the wipe"
                effects.events.append(PermRestored(broker=broker_name, topics=len(changed), reason=reason))
        if added:
            effects.events.append(TopicsAdded(broker=broker_name, count=len(added), topics=tuple(added)))

    @staticmethod
    def _note_liveness(
        registration: BrokerRegistration, topic_count: int, old: BrokerLiveInfo | None, effects: Effects
    ) -> None:
        identity = registration.identity
        if old is None or old.broker_name != identity.broker_name:
            event = BrokerRegistered(
                cluster=identity.cluster,
                broker=identity.broker_name,
                id=identity.broker_id,
                addr=identity.addr,
                topics=topic_count,
                peer=registration.peer,
            )
            effects.events.append(event)
        elif old.data_version != registration.table.data_version:
            effects.events.append(
                BrokerChanged(
                    cluster=identity.cluster,
                    broker=identity.broker_name,
                    id=identity.broker_id,
                    addr=identity.addr,
                    what=f"{topic_count} topics with a new data version",
                )
            )

    def _put_live(self, registration: BrokerRegistration, now_ms: int) -> None:
        identity = registration.identity
        if self._live.put_filter_servers(identity.key, registration.filter_servers):
            self._touch(identity.broker_name)
        old = self._live.get(identity.key)
        if old is None or old.ha_server_addr != identity.ha_server_addr:
            self._touch(identity.broker_name, ())  # slaves are told another address from now on
        self._live.put(
            BrokerLiveInfo(
                key=identity.key,
                broker_name=identity.broker_name,
                connection=registration.connection,
                last_update_ms=now_ms,
                heartbeat_timeout_ms=identity.heartbeat_timeout_ms,
                data_version=registration.table.data_version,
                ha_server_addr=identity.ha_server_addr,
                digest=registration.digest,
                revision=self._revisions[identity.broker_name],
                peer=registration.peer,
            )
        )

    def _result_for(self, identity: BrokerIdentity) -> RegisterBrokerResult:
        group = self._brokers.group(identity.broker_name)
        if identity.is_master or group is None:
            return RegisterBrokerResult()
        master_addr = group.broker_addrs.get(MASTER_ID)
        master = None if master_addr is None else self._live.get(BrokerKey(identity.cluster, master_addr))
        if master is None:
            return RegisterBrokerResult()
        return RegisterBrokerResult(master_addr=master_addr, ha_server_addr=master.ha_server_addr)

    # -- liveness

    def heartbeat(self, key: BrokerKey, now_ms: int, peer: str | None = None) -> Effects:
        """Renew a live broker; for an unknown one nothing is made, and that is told."""
        info = self._live.get(key)
        if info is None:
            return Effects(events=[UnknownHeartbeat(cluster=key.cluster, addr=key.addr, peer=peer)])
        info.last_update_ms = now_ms
        return Effects()

    def query_data_version(
        self, key: BrokerKey, version: DataVersion | None, now_ms: int
    ) -> tuple[bool, DataVersion | None]:
        """Tell whether a broker's version differs from ours, and ours (None when unknown). Renews a live broker."""
        info = self._live.get(key)
        if info is None:
            return True, None
        info.last_update_ms = now_ms
        return info.data_version != version, info.data_version

    def expire(self, now_ms: int) -> Effects:
        """Unregister the brokers that were silent for longer than they said they would be, and tell of those that nearly were.

        Their connections are to be closed, unless a broker that still speaks came over the same one.
        """
        effects = Effects()
        expired = self._live.expired(now_ms)
        for info in expired:
            self._remove_live(info, effects, reason="heartbeat_expired", now_ms=now_ms)
        effects.events += [
            expiring(info, self._brokers.group(info.broker_name), now_ms) for info in self._live.worrying(now_ms)
        ]
        keep_last_notices(effects)
        connections = dict.fromkeys(info.connection for info in expired)
        effects.close += [connection for connection in connections if not self._live.of_connection(connection)]
        return effects

    def postpone_expiry(self, pause_ms: int, now_ms: int) -> None:
        """Do not count a time in which this process could not listen, and which is over now, as silence of the brokers."""
        for info in self._live:
            info.last_update_ms = max(info.last_update_ms, min(info.last_update_ms + pause_ms, now_ms))

    def is_broker_connection(self, connection: ConnectionId) -> bool:
        """Whether a live broker registered over this connection."""
        return self._live.has_connection(connection)

    def connection_closed(self, connection: ConnectionId, now_ms: int, *, is_idle: bool = False) -> Effects:
        """Unregister the brokers whose latest registration came over a connection that is gone: was closed for silence, or lost."""
        effects = Effects()
        reason = "connection_idle" if is_idle else "connection_closed"
        for info in self._live.of_connection(connection):
            self._remove_live(info, effects, reason=reason, now_ms=now_ms)
        keep_last_notices(effects)
        return effects

    def unregister_broker(self, broker_name: str, key: BrokerKey, now_ms: int) -> Effects:
        """Forget the address under this name; unknown names and addresses change nothing.

        The address decides, whatever id it has: a late request of a former master must not remove the new one.
        """
        effects = Effects()
        self._remove_address(broker_name, key.addr, effects, reason="unregistered", now_ms=now_ms)
        return effects

    def _remove_live(self, info: BrokerLiveInfo, effects: Effects, *, reason: str, now_ms: int) -> None:
        self._remove_address(info.broker_name, info.key.addr, effects, reason=reason, now_ms=now_ms)

    def _remove_address(self, broker_name: str, addr: str, effects: Effects, *, reason: str, now_ms: int) -> None:
        infos = self._live.of_address(broker_name, addr)
        for info in infos:
            self._live.remove(info.key)
        group = self._brokers.group(broker_name)
        if group is None:
            return
        remaining = {id_: other for id_, other in group.broker_addrs.items() if other != addr}
        if len(remaining) == len(group.broker_addrs):
            self._stop_writes_without_master(group)
            return
        topics_lost = self._shrink_group(group, remaining)
        effects.events.append(
            BrokerUnregistered(
                cluster=infos[0].key.cluster if infos else group.cluster,
                broker=broker_name,
                id=next(id_ for id_, other in group.broker_addrs.items() if other == addr),
                addr=addr,
                reason=reason,
                last_heartbeat_s=round((now_ms - infos[0].last_update_ms) / 1000, 1) if infos else None,
                topics_lost=len(topics_lost),
            )
        )
        note_removed(topics_lost, effects, reason=f"{broker_name} left")
        note_master(group, remaining.get(MASTER_ID), effects)
        if remaining and group.enable_acting_master and min(remaining) != min(group.broker_addrs):
            self._notice(msgspec.structs.replace(group, broker_addrs=remaining), effects, offline_addr=addr)

    def _shrink_group(self, group: BrokerData, remaining: dict[int, str]) -> list[str]:
        """Leave a group these addresses, and give the topics that lost their last route by that."""
        name = group.broker_name
        self._touch(name)
        if remaining:
            shrunk = msgspec.structs.replace(group, broker_addrs=remaining)
            self._brokers.put(shrunk, group.cluster)
            self._stop_writes_without_master(shrunk)
            return []
        self._brokers.remove(name)
        self._wiped.discard(name)
        del self._revisions[name]
        self._bases.forget(name)
        return self._queues.drop_broker(name)

    def _stop_writes_without_master(self, group: BrokerData) -> None:
        if group.enable_acting_master and min(group.broker_addrs) > MASTER_ID:
            self._change_perms(group.broker_name, lambda perm: perm & ~PERM_WRITE)

    # -- topics

    def register_topic(self, topic: str, queue_datas: Sequence[QueueData]) -> Effects:
        """Add a topic to brokers that are registered, as far as `RouteReader.accepted` goes."""
        effects = Effects()
        accepted = self.read.accepted(topic, queue_datas)
        added = self._queues.added_bytes(topic, {data.broker_name for data in accepted})
        self._limits.check_size(self.held_bytes, added)
        for data in accepted:
            is_new = topic not in self._queues
            if self._queues.put(topic, data):
                self._note_topics(data.broker_name, [topic], [topic] if is_new else [], effects)
        return effects

    def delete_topic(self, topic: str, cluster: str | None) -> Effects:
        """Forget a topic, everywhere or for the brokers of one cluster; unknown names change nothing."""
        effects = Effects()
        if cluster:
            brokers = self._brokers.brokers_of(cluster)
        else:
            brokers = (*self._queues.of_topic(topic), *(self._queues.mappings_of(topic) or ()))
        for broker_name in dict.fromkeys(brokers):
            if self._queues.has(topic, broker_name):
                self._drop_topics(broker_name, [topic], effects, reason="deleted by request")
        return effects

    def wipe_write_perm(self, broker_name: str, peer: str | None = None) -> tuple[int, Effects]:
        """Take write permission from all topics of a broker, and give how many there are."""
        touched = self._change_perms(broker_name, lambda perm: perm & ~PERM_WRITE)
        if not touched:
            return 0, Effects()
        self._wiped.add(broker_name)
        return touched, Effects(events=[PermWiped(broker=broker_name, topics=touched, peer=peer)])

    def add_write_perm(self, broker_name: str, peer: str | None = None) -> tuple[int, Effects]:
        """Give read and write permission to all topics of a broker, and give how many there are.

        COMPAT: the permission becomes exactly read and write, whatever it was.
        """
        touched = self._change_perms(broker_name, lambda _: PERM_READ | PERM_WRITE)
        self._wiped.discard(broker_name)
        if not touched:
            return 0, Effects()
        return touched, Effects(events=[PermRestored(broker=broker_name, topics=touched, peer=peer)])

    def restore_perms(
        self, broker_name: str, perms: Mapping[str, int], reason: str, peer: str | None = None
    ) -> Effects:
        """Give topics of a broker the permissions that they had once; topics that it does not serve any more stay away."""
        held = self._queues.of_broker(broker_name)
        changes = {
            topic: msgspec.structs.replace(held[topic], perm=perm) for topic, perm in perms.items() if topic in held
        }
        changed = [topic for topic, data in changes.items() if self._queues.put(topic, data)]
        if not changed:
            return Effects()
        self._touch(broker_name, changed)
        if all(perms[topic] & PERM_WRITE for topic in changed):
            self._wiped.discard(broker_name)
            return Effects(events=[PermRestored(broker=broker_name, topics=len(changed), peer=peer, reason=reason)])
        self._wiped.add(broker_name)
        return Effects(events=[PermWiped(broker=broker_name, topics=len(changed), peer=peer, reason=reason)])

    def _change_perms(self, broker_name: str, change: Callable[[int], int]) -> int:
        count = len(self._queues.of_broker(broker_name))
        if count:
            self._queues.replace_all(broker_name, lambda data: msgspec.structs.replace(data, perm=change(data.perm)))
            self._touch(broker_name)
        return count

    def _drop_topics(self, broker_name: str, topics: Sequence[str], effects: Effects, *, reason: str) -> None:
        if not topics:
            return
        self._touch(broker_name, topics)
        lost = [topic for topic in topics if self._queues.drop(topic, broker_name)]
        note_removed(lost, effects, reason=reason)

    # -- what every change ends with

    def _touch(self, broker_name: str, topics: Collection[str] | None = None) -> None:
        """Drop the encoded routes of these topics (None: of all the broker's), and make repeats be read again."""
        if topics is None:
            self._encoded.drop(self._queues.of_broker(broker_name))
            self._encoded.drop(self._queues.mapped_by(broker_name))
        else:
            self._encoded.drop(topics)
        self._bases.touch(broker_name, topics)
        self._last_revision += 1
        self._revisions[broker_name] = self._last_revision
        self.read.revision = self._last_revision

    def _notice(
        self, group: BrokerData, effects: Effects, *, offline_addr: str | None = None, ha_addr: str | None = None
    ) -> None:
        """Tell a group that its smallest id changed, if that is told."""
        if self.options.notify_min_broker_id_changed:
            effects.notices.append(notice_of(group, offline_addr=offline_addr, ha_addr=ha_addr))


def _own_mappings(registration: BrokerRegistration) -> dict[str, TopicQueueMappingInfo]:
    name = registration.identity.broker_name
    infos = registration.table.topic_queue_mapping_infos
    return {topic: info for topic, info in infos.items() if info.bname == name}
