"""After any history the tables say what a slow, obvious model says."""

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.support import builders, wire
from tests.support.model import Model, Notice

from cosmodrome.namesrv.routing.broker_live import BrokerKey
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects
from cosmodrome.namesrv.routing.encoded_routes import PLACE_BYTES, StandingBody
from cosmodrome.namesrv.routing.listings import Listing, ListingKind
from cosmodrome.namesrv.routing.reader import FLAG_UNIT, FLAG_UNIT_SUB, TableOptions
from cosmodrome.namesrv.routing.registration import (
    BrokerIdentity,
    BrokerRegistration,
    PreparedTopics,
    RegisterBrokerResult,
)
from cosmodrome.namesrv.routing.room import ENTRY_BYTES, mapping_bytes, texts_bytes, topic_bytes
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.route import TopicQueueMappingInfo, encode_topic_route
from cosmodrome.protocol.bodies.topic_config import TopicConfig
from cosmodrome.protocol.json_dialects import JsonDialect
from cosmodrome.protocol.slices import at_once

NAMES = ("a", "b", "c")
CLUSTERS = ("C", "D")
ADDRS = ("w:1", "x:1", "y:1", "z:1")
TOPICS = ("T1", "T2", "T3", "T4", "rmq_sys_SYNC_BROKER_MEMBER_a")
CONNECTIONS = (1, 2, 3)
FLAGGED = {
    ListingKind.UNIT_TOPICS: (FLAG_UNIT, 0),
    ListingKind.UNIT_SUB_TOPICS: (FLAG_UNIT_SUB, 0),
    ListingKind.UNIT_SUB_UNUNIT_TOPICS: (FLAG_UNIT_SUB, FLAG_UNIT),
}

names = st.sampled_from(NAMES)
clusters = st.sampled_from(CLUSTERS)
addrs = st.sampled_from(ADDRS)
topics = st.sampled_from(TOPICS)
connections = st.sampled_from(CONNECTIONS)
versions = st.builds(
    builders.version, counter=st.integers(1, 2), state_version=st.sampled_from([0, 0, 0, 1]), timestamp=st.just(7)
)
perms = st.sampled_from([6, 6, 7, 4, 2])
flags = st.integers(0, 3)
queue_datas = st.builds(builders.queue_data, names, perms, st.sampled_from([4, 8]), flags)

identities = st.builds(
    BrokerIdentity,
    cluster=st.sampled_from(["C", "C", "C", "D"]),
    broker_name=names,
    broker_id=st.sampled_from([0, 0, 0, 1, 1, 2, -1]),
    addr=addrs,
    ha_server_addr=st.sampled_from(["ha:1", "ha:2"]),
    heartbeat_timeout_ms=st.sampled_from([100, 1000]),
    enable_acting_master=st.sampled_from([None, False, True, True]),
    zone_name=st.sampled_from([None, None, "z"]),
)


@st.composite
def topic_tables(draw: st.DrawFn) -> dict[str, TopicConfig]:
    chosen = draw(st.lists(topics, unique=True, max_size=5))
    return {
        # The key is not always the name: what registers is the name, what counts as sent is the key.
        draw(st.sampled_from([topic] * 9 + ["T1"])): TopicConfig(
            topic_name=topic,
            perm=draw(perms),
            read_queue_nums=4,
            write_queue_nums=draw(st.sampled_from([4, 8])),
            topic_sys_flag=draw(flags),
        )
        for topic in chosen
    }


@st.composite
def registrations(draw: st.DrawFn) -> BrokerRegistration:
    who = draw(identities)
    mapped = draw(st.lists(topics, unique=True, max_size=2)) if draw(st.integers(0, 3)) == 0 else []
    infos: dict[str, TopicQueueMappingInfo] = {}
    for topic in mapped:
        infos[topic] = builders.mapping(topic, draw(st.sampled_from([who.broker_name] * 3 + ["b"])), {0: draw(flags)})
    return builders.registration(
        who,
        draw(topic_tables()),
        data_version=draw(versions),
        mappings=infos,
        filter_servers=draw(st.sampled_from([None, (), (), ("f:1",), ("f:1", "f:2")])),
        connection=draw(connections),
    )


def snapshot(tables: RouteTables) -> str:
    """Give all that is in the tables, what is only kept for speed included."""
    parts = (tables._queues, tables._brokers, tables._live)
    return repr([vars(part) for part in parts]) + repr((tables._revisions, tables._wiped, tables.options))


def told(effects: Effects) -> list[Notice]:
    return [
        Notice(
            notice.broker_name,
            notice.receivers,
            notice.header.min_broker_id or 0,
            notice.header.min_broker_addr or "",
            notice.header.offline_broker_addr,
            notice.header.ha_broker_addr,
        )
        for notice in effects.notices
    ]


def as_value(body: bytes) -> dict[str, Any]:
    value = wire.parse_body(body)
    for name in ("brokerDatas", "queueDatas"):
        value[name].sort(key=lambda data: str(data["brokerName"]))
    return dict(value)


class Histories(RuleBasedStateMachine):
    """Everything that can happen to the tables, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = RouteTables()
        self.model = Model()
        self.now_ms = 1_000_000
        self.sent: list[BrokerRegistration] = []
        self.prepared: tuple[BrokerRegistration, PreparedTopics] | None = None
        self.standing: list[tuple[str, JsonDialect, StandingBody]] = []
        self.renewed = 0

    @initialize(acting=st.booleans(), notify=st.booleans(), delete=st.booleans())
    def begin(self, *, acting: bool, notify: bool, delete: bool) -> None:
        self.options(acting=acting, notify=notify, delete=delete)

    @rule(acting=st.booleans(), notify=st.booleans(), delete=st.booleans())
    def options(self, *, acting: bool, notify: bool, delete: bool) -> None:
        self.tables.set_options(
            TableOptions(
                support_acting_master=acting,
                notify_min_broker_id_changed=notify,
                delete_topic_with_broker_registration=delete,
            )
        )
        self.model.supports_acting, self.model.notifies, self.model.deletes_omitted = acting, notify, delete

    @rule(registration=registrations())
    def register(self, registration: BrokerRegistration) -> None:
        self.sent.append(registration)
        self._register(registration)

    @rule(data=st.data(), connection=connections)
    def register_again(self, data: st.DataObject, connection: int) -> None:
        """What brokers do most of the time."""
        if self.sent:
            said = data.draw(st.sampled_from(self.sent[-4:]))
            self._register(_from(said, connection))

    @rule(data=st.data(), table=topic_tables(), version=versions)
    def register_more(self, data: st.DataObject, table: dict[str, TopicConfig], version: Any) -> None:
        """A part of the table, or the table changed."""
        if self.sent:
            said = data.draw(st.sampled_from(self.sent[-4:]))
            changed = builders.registration(
                said.identity, table, data_version=version, filter_servers=None, connection=said.connection
            )
            self.sent.append(changed)
            self._register(changed)

    @rule(registration=registrations(), data=st.data(), is_known=st.booleans())
    def prepare(self, registration: BrokerRegistration, data: st.DataObject, *, is_known: bool) -> None:
        """What long registrations do; anything may happen before they are applied."""
        if is_known and self.sent:
            registration = data.draw(st.sampled_from(self.sent[-4:]))
        before = snapshot(self.tables)
        self.prepared = (registration, at_once(self.tables.prepare(registration)))
        assert snapshot(self.tables) == before

    @precondition(lambda self: self.prepared is not None)
    @rule()
    def register_prepared(self) -> None:
        assert self.prepared is not None
        registration, prepared = self.prepared
        self.prepared = None
        self.sent.append(registration)
        self._register(registration, prepared)

    @rule(data=st.data(), new_id=st.sampled_from([0, 1, 2]))
    def switch_role(self, data: st.DataObject, new_id: int) -> None:
        """The same address under another id, its table unchanged."""
        if self.sent:
            said = data.draw(st.sampled_from(self.sent[-4:]))
            who = builders.identity(
                said.identity.broker_name, new_id, addr=said.identity.addr, cluster=said.identity.cluster,
                acting=said.identity.enable_acting_master,
            )  # fmt: skip
            changed = builders.registration(
                who, said.table.topic_configs, data_version=said.table.data_version, connection=said.connection
            )
            self.sent.append(changed)
            self._register(changed)

    @rule(name=names, cluster=clusters, addr=addrs)
    def unregister(self, name: str, cluster: str, addr: str) -> None:
        effects = self.tables.unregister_broker(name, BrokerKey(cluster, addr), self.now_ms)
        assert told(effects) == self.model.unregister(name, addr)
        assert not effects.close

    @rule(cluster=clusters, addr=addrs)
    def heartbeat(self, cluster: str, addr: str) -> None:
        effects = self.tables.heartbeat(BrokerKey(cluster, addr), self.now_ms)
        known = self.model.heartbeat(cluster, addr, self.now_ms)
        assert [event.NAME for event in effects.events] == ([] if known else ["heartbeat.unknown"])

    @rule(cluster=clusters, addr=addrs, version=versions)
    def query(self, cluster: str, addr: str, version: Any) -> None:
        changed, stored = self.tables.query_data_version(BrokerKey(cluster, addr), version, self.now_ms)
        row = self.model.heartbeat(cluster, addr, self.now_ms)
        assert (changed, stored) == ((True, None) if row is None else (row.version != version, row.version))

    @rule(ms=st.sampled_from([1, 60, 101, 1001]))
    def wait_and_expire(self, ms: int) -> None:
        self.now_ms += ms
        effects = self.tables.expire(self.now_ms)
        notices, closed = self.model.expire(self.now_ms)
        assert told(effects) == notices
        assert set(effects.close) == closed
        assert len(effects.close) == len(closed)

    @rule(ms=st.sampled_from([1, 500]))
    def pause(self, ms: int) -> None:
        """This process was stopped: nobody is blamed for it."""
        self.now_ms += ms
        self.tables.postpone_expiry(ms, self.now_ms)
        for row in self.model.live:
            row.last_ms += ms

    @rule(connection=connections)
    def close_connection(self, connection: int) -> None:
        effects = self.tables.connection_closed(ConnectionId(connection), self.now_ms)
        assert told(effects) == self.model.connection_closed(connection)

    @rule(name=names)
    def wipe(self, name: str) -> None:
        assert self.tables.wipe_write_perm(name)[0] == self.model.change_perm(name, wipe=True)

    @rule(name=names)
    def add(self, name: str) -> None:
        assert self.tables.add_write_perm(name)[0] == self.model.change_perm(name, wipe=False)

    @rule(topic=topics, datas=st.lists(queue_datas, max_size=3))
    def register_topic(self, topic: str, datas: list[Any]) -> None:
        self.tables.register_topic(topic, tuple(datas))
        self.model.register_topic(topic, tuple(datas))

    @rule(topic=topics, cluster=st.sampled_from([None, "", "C", "D", "?"]))
    def delete_topic(self, topic: str, cluster: str | None) -> None:
        self.tables.delete_topic(topic, cluster)
        self.model.delete_topic(topic, cluster)

    def _register(self, registration: BrokerRegistration, prepared: PreparedTopics | None = None) -> None:
        """As the processor does: a registration that repeats itself is a heartbeat, else it is read."""
        self.now_ms += 1
        before = snapshot(self.tables)
        assert registration.digest is not None
        effects = Effects()
        result = self.tables.renew_unchanged(
            registration.identity, registration.digest, registration.connection, self.now_ms
        )
        if result is None:
            result, effects = self.tables.register_broker(registration, self.now_ms, prepared)
        else:
            self.renewed += 1
        expected = self.model.register(registration, self.now_ms)
        assert told(effects) == expected.notices
        assert (_status(result), result.master_addr, result.ha_server_addr) == (
            expected.status,
            expected.master,
            expected.ha,
        )
        if expected.status != "accepted":
            assert snapshot(self.tables) == before, "a refusal left a trace"
            assert [event.NAME for event in effects.events] == ["broker.refused"]

    # -- what is asked

    @invariant()
    def routes_agree(self) -> None:
        self.standing_bodies_agree()
        for topic in TOPICS:
            for order in (None, "a:4"):
                route = self.tables.read.topic_route(topic, order)
                expected = self.model.route(topic, order)
                for dialect in JsonDialect:
                    kept = self.tables.read.encoded_route(topic, dialect, order)
                    assert kept == (None if route is None else encode_topic_route(route, dialect)), "a stale route"
                    assert (None if kept is None else as_value(kept)) == expected

        self.standing = [
            (topic, dialect, standing)
            for topic in TOPICS
            for dialect in JsonDialect
            if self.tables.read.encoded_route(topic, dialect) is not None
            and (standing := self.tables.read.standing_body(topic, dialect)) is not None
        ]

    def standing_bodies_agree(self) -> None:
        """What was kept before this step is withdrawn, or still the route."""
        for topic, dialect, standing in self.standing:
            if standing.body is not None:
                route = self.tables.read.topic_route(topic)
                assert route is not None, "a topic that has no route any more"
                assert standing.body == encode_topic_route(route, dialect), "a stale route is not withdrawn"

    @invariant()
    def listings_agree(self) -> None:
        read, model = self.tables.read, self.model
        info = wire.parse_body(read.listing(Listing(ListingKind.CLUSTER_INFO)))
        info["clusterAddrTable"] = {name: sorted(brokers) for name, brokers in info["clusterAddrTable"].items()}
        assert info == model.cluster_info()
        assert sorted(read.all_topics()) == sorted(model.topics())
        datas = [data for topic in read.all_topics() for data in read.queue_datas(topic).values()]
        counted = sum(data.read_queue_nums for data in datas), sum(data.write_queue_nums for data in datas)
        assert read.queue_counts() == counted
        for cluster in (*CLUSTERS, "?"):
            listed = read.topics_of_cluster(cluster)
            assert sorted(listed) == sorted(model.topics_of_cluster(cluster))
        for wanted, unwanted in FLAGGED.values():
            listed = read.topics_with_flags(wanted=wanted, unwanted=unwanted)
            must, may = model.topics_with_flags(wanted, unwanted)
            assert must <= set(listed) <= may
            assert len(listed) == len(set(listed))
        expected = {
            Listing(ListingKind.ALL_TOPICS): model.topics(),
            Listing(ListingKind.TOPICS_OF_CLUSTER): set(),
            Listing(ListingKind.SYSTEM_TOPICS): {of for of, _ in model.members}
            | {group.name for group in model.groups},
            **{
                Listing(ListingKind.TOPICS_OF_CLUSTER, name): model.topics_of_cluster(name) for name in (*CLUSTERS, "?")
            },
        }
        for listing, names_expected in expected.items():
            kept = wire.parse_body(read.listing(listing))["topicList"]
            assert sorted(kept) == sorted(names_expected), f"a stale {listing}"
        for kind, (wanted, unwanted) in FLAGGED.items():
            kept = wire.parse_body(read.listing(Listing(kind)))["topicList"]
            assert sorted(kept) == sorted(read.topics_with_flags(wanted=wanted, unwanted=unwanted)), f"a stale {kind}"
        listed, addr = read.system_topics()
        assert sorted(listed) == sorted({of for of, _ in model.members} | {group.name for group in model.groups})
        first = model.groups[0].addrs if model.groups else None
        assert addr == (None if first is None else first[min(first)])

    @invariant()
    def groups_and_live_brokers_agree(self) -> None:
        for name in (*NAMES, "?"):
            group = self.model.group(name)
            assert self.tables.read.broker_addrs(name) == ({} if group is None else group.addrs)
        live = {
            (info.key.cluster, info.key.addr): (
                info.broker_name, info.connection, info.last_update_ms, info.data_version, info.ha_server_addr,
            )
            for info in self.tables.live_brokers()
        }  # fmt: skip
        assert live == {
            (row.cluster, row.addr): (row.name, row.connection, row.last_ms, row.version, row.ha)
            for row in self.model.live
        }
        for connection in CONNECTIONS:
            is_used = any(row.connection == connection for row in self.model.live)
            assert self.tables.is_broker_connection(ConnectionId(connection)) == is_used

    # -- what the tables promise of themselves

    @invariant()
    def every_address_lives_and_every_live_address_is_in_its_group(self) -> None:
        grouped = {(group.broker_name, addr) for group in self.tables._brokers for addr in group.broker_addrs.values()}
        assert grouped == {(info.broker_name, info.key.addr) for info in self.tables.live_brokers()}
        for group in self.tables._brokers:
            assert len(set(group.broker_addrs.values())) == len(group.broker_addrs), "one id for an address"

    @invariant()
    def topics_name_groups_that_exist_and_both_directions_agree(self) -> None:
        queues = self.tables._queues
        forward = {(topic, name) for topic in queues for name in queues.of_topic(topic)}
        assert {name for _, name in forward} <= {group.broker_name for group in self.tables._brokers}
        assert forward == {(topic, name) for name in NAMES for topic in queues.topics_of(name)}
        assert all(queues.of_topic(topic) for topic in queues)
        mapped = {(topic, name) for topic, infos in queues._mappings.items() for name in infos}
        assert mapped == {(topic, name) for name, of in queues._mapped_topics_by_broker.items() for topic in of}
        assert set(queues._shared) <= set(queues._queues)
        assert all(queues._queues.values())

    @invariant()
    def what_it_costs_is_counted(self) -> None:
        queues, live = self.tables._queues, self.tables._live
        entries = sum(len(queues.of_topic(topic)) for topic in queues)
        mapped = [mapping_bytes(topic, info) for topic, of in queues._mappings.items() for info in of.values()]
        assert queues.held_bytes == ENTRY_BYTES * entries + sum(map(topic_bytes, queues)) + sum(mapped)
        assert live.held_bytes == sum(map(texts_bytes, live._filter_servers.values()))

    @invariant()
    def a_revision_is_kept_for_each_group_and_no_other(self) -> None:
        assert set(self.tables._revisions) == {group.broker_name for group in self.tables._brokers}
        assert self.tables._wiped <= set(self.tables._revisions)

    @invariant()
    def kept_routes_are_counted(self) -> None:
        kept = self.tables._encoded
        bodies = [entry.body for entries in kept._entries for entry in entries.values() if entry.body is not None]
        assert kept.size_bytes == sum(map(len, set(bodies))) + PLACE_BYTES * len(bodies)
        assert {body: shared.users for body, shared in kept._shared.items()} == Counter(bodies)
        assert all(body is kept._shared[body].body for body in bodies), "one object for each"


def _from(said: BrokerRegistration, connection: int) -> BrokerRegistration:
    return BrokerRegistration(
        identity=said.identity,
        table=said.table,
        filter_servers=said.filter_servers,
        connection=ConnectionId(connection),
        peer=said.peer,
        digest=said.digest,
    )


def _status(result: RegisterBrokerResult) -> str:
    return {"NEWER_STATE_VERSION_LIVES": "conflict", "SINGLE_TOPIC_BEFORE_BROKER": "single"}.get(
        result.status.name, "accepted"
    )


TestHistories = Histories.TestCase
TestHistories.settings = settings(stateful_step_count=40, max_examples=settings().max_examples)
