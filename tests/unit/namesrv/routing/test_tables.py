"""RouteTables, scene by scene. What holds in any history is in tests/property/test_routing_model.py."""

import pytest
from tests.support.builders import identity, mapping, queue_data, registration, topics, version

from cosmodrome.namesrv.events import (
    BrokerExpiring,
    BrokerRegistered,
    BrokerUnregistered,
    ClusterConflict,
    MasterChanged,
    PermRestored,
    PermWiped,
    TopicsAdded,
    TopicsRemoved,
)
from cosmodrome.namesrv.routing.broker_live import BrokerKey
from cosmodrome.namesrv.routing.effects import ConnectionId, Effects
from cosmodrome.namesrv.routing.reader import TableOptions
from cosmodrome.namesrv.routing.registration import BrokerRegistration, RegisterBrokerResult, RegisterStatus
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.protocol.bodies.route import TopicRouteData
from cosmodrome.protocol.json_dialects import JsonDialect

MASTER, SLAVE = identity("a", 0), identity("a", 1)


class Scene:
    """Tables, a clock, and what was asked for."""

    def __init__(self, **options: bool) -> None:
        self.tables = RouteTables(TableOptions(**options))
        self.now_ms = 1000
        self.effects = Effects()

    def register(self, said: BrokerRegistration) -> RegisterBrokerResult:
        result, self.effects = self.tables.register_broker(said, self.now_ms)
        return result

    def route(self, topic: str = "T1") -> TopicRouteData:
        route = self.tables.read.topic_route(topic)
        assert route is not None
        return route

    def perms(self, topic: str = "T1") -> dict[str, int]:
        return {data.broker_name: data.perm for data in self.route(topic).queue_datas}

    def names(self) -> list[str]:
        return [event.NAME for event in self.effects.events]

    def is_renewed(self, said: BrokerRegistration, connection: int = 1) -> bool:
        assert said.digest is not None
        result = self.tables.renew_unchanged(said.identity, said.digest, ConnectionId(connection), self.now_ms)
        return result is not None


def test_a_broker_registers() -> None:
    scene = Scene()
    result = scene.register(registration(MASTER))

    assert result == RegisterBrokerResult()
    assert scene.route().broker_datas[0].broker_addrs == {0: MASTER.addr}
    assert scene.route().queue_datas == (queue_data("a"),)
    assert scene.effects.events == [
        TopicsAdded(broker="a", count=2, topics=("T1", "T2")),
        BrokerRegistered(cluster="C", broker="a", id=0, addr=MASTER.addr, topics=2, peer="127.0.0.1:4711"),
    ]


def test_a_slave_is_told_where_its_master_is() -> None:
    scene = Scene()
    assert scene.register(registration(SLAVE)) == RegisterBrokerResult()
    scene.register(registration(MASTER))

    assert scene.register(registration(SLAVE)) == RegisterBrokerResult(
        master_addr=MASTER.addr, ha_server_addr=MASTER.ha_server_addr
    )


def test_a_master_in_another_cluster_is_nobodys_master() -> None:
    scene = Scene()
    scene.register(registration(MASTER))

    assert scene.register(registration(identity("a", 1, cluster="D"))) == RegisterBrokerResult()
    [conflict] = [event for event in scene.effects.events if isinstance(event, ClusterConflict)]
    assert (conflict.broker, conflict.cluster, conflict.other_cluster) == ("a", "D", "C")
    scene.register(registration(identity("a", 1, cluster="D")))
    assert "broker.cluster_conflict" not in scene.names(), "told once"


def test_only_master_and_prime_slave_publish_topics() -> None:
    scene = Scene()
    scene.register(registration(identity("old", 1, acting=None)))
    assert scene.tables.read.all_topics() == []

    scene.register(registration(identity("new", 1, acting=False)))
    assert scene.perms() == {"new": 6}


def test_an_acting_master_publishes_without_write_permission() -> None:
    scene = Scene(support_acting_master=True)
    scene.register(registration(identity("a", 1, acting=True)))

    assert scene.perms() == {"a": 4}
    scene.register(registration(identity("a", 0, acting=True)))
    assert scene.perms() == {"a": 6}, "the master is there"


def test_a_wipe_survives_what_is_unchanged_and_no_other() -> None:
    scene = Scene()
    scene.register(registration(MASTER))
    touched, effects = scene.tables.wipe_write_perm("a", "10.0.0.9:1")
    assert touched == 2
    assert effects.events == [PermWiped(broker="a", topics=2, peer="10.0.0.9:1")]
    scene.register(registration(MASTER))
    assert scene.perms() == {"a": 4}

    scene.register(registration(MASTER, data_version=version(2)))
    assert scene.perms() == {"a": 6}
    [restored] = [event for event in scene.effects.events if isinstance(event, PermRestored)]
    assert restored.reason is not None
    assert "overwrote the wipe" in restored.reason


def test_permission_that_is_given_back_is_6_whatever_it_was() -> None:
    """COMPAT: 7 loses inherit, 4 gains write."""
    scene = Scene()
    scene.register(registration(MASTER, {**topics("T1", perm=7), **topics("T2", perm=4)}))

    touched, effects = scene.tables.add_write_perm("a")

    assert touched == 2
    assert (scene.perms("T1"), scene.perms("T2")) == ({"a": 6}, {"a": 6})
    assert effects.events == [PermRestored(broker="a", topics=2)]
    assert scene.tables.add_write_perm("?") == (0, Effects())
    assert scene.tables.wipe_write_perm("?") == (0, Effects())


def test_topics_that_are_omitted_stay() -> None:
    """A registration may be a part of the table."""
    scene = Scene()
    scene.register(registration(MASTER))
    scene.register(registration(MASTER, topics("T3"), data_version=version(2)))

    assert sorted(scene.tables.read.all_topics()) == ["T1", "T2", "T3"]


def test_topics_that_are_omitted_go_when_that_is_on() -> None:
    scene = Scene(delete_topic_with_broker_registration=True)
    scene.register(registration(MASTER))
    scene.register(registration(MASTER, topics("T2", "T3")))

    assert sorted(scene.tables.read.all_topics()) == ["T2", "T3"]
    assert (
        TopicsRemoved(count=1, topics=("T1",), reason="omitted from the broker's registration") in scene.effects.events
    )
    scene.register(registration(MASTER, {}, mappings={"T": mapping("T", "a")}))
    assert sorted(scene.tables.read.all_topics()) == ["T2", "T3"], "static topics come in their own way"


def test_a_single_topic_does_not_make_a_broker() -> None:
    scene = Scene()

    assert scene.register(registration(MASTER, topics("T1"))).status is RegisterStatus.SINGLE_TOPIC_BEFORE_BROKER
    assert scene.names() == ["broker.refused"]
    assert list(scene.tables.live_brokers()) == []
    scene.register(registration(MASTER))
    assert scene.register(registration(MASTER, topics("T9"))).status is RegisterStatus.ACCEPTED


def test_a_newer_state_version_defends_its_id() -> None:
    """What loses changed nothing, its own former id included."""
    scene = Scene()
    scene.register(registration(MASTER, data_version=version(state_version=2)))
    scene.register(registration(SLAVE))
    loser = identity("a", 0, addr=SLAVE.addr)

    assert scene.register(registration(loser)).status is RegisterStatus.NEWER_STATE_VERSION_LIVES
    assert scene.tables.read.broker_addrs("a") == {0: MASTER.addr, 1: SLAVE.addr}
    winner = registration(loser, data_version=version(state_version=2))
    assert scene.register(winner).status is RegisterStatus.ACCEPTED
    assert scene.tables.read.broker_addrs("a") == {0: SLAVE.addr}
    assert [info.key.addr for info in scene.tables.live_brokers()] == [SLAVE.addr], "the replaced one is forgotten"
    assert MasterChanged(cluster="C", broker="a", old_addr=MASTER.addr, new_addr=SLAVE.addr) in scene.effects.events


def test_an_address_that_changes_its_name_leaves_the_former_one() -> None:
    scene = Scene()
    scene.register(registration(MASTER))
    scene.register(registration(identity("b", 0, addr=MASTER.addr)))

    assert scene.perms() == {"b": 6}
    [left] = [event for event in scene.effects.events if isinstance(event, BrokerUnregistered)]
    assert (left.broker, left.reason) == ("a", "registered as b")
    scene.tables.unregister_broker("a", MASTER.key, scene.now_ms)
    assert scene.perms() == {"b": 6}, "a late 104 for the former name"


def test_leaving() -> None:
    scene = Scene()
    scene.register(registration(MASTER))
    scene.now_ms += 2500
    scene.effects = scene.tables.unregister_broker("a", MASTER.key, scene.now_ms)

    assert scene.effects.events == [
        BrokerUnregistered(
            cluster="C", broker="a", id=0, addr=MASTER.addr, reason="unregistered", last_heartbeat_s=2.5, topics_lost=2
        ),
        TopicsRemoved(count=2, topics=scene.effects.events[1].topics, reason="a left"),  # type: ignore[attr-defined]
        MasterChanged(cluster="C", broker="a", old_addr=MASTER.addr, new_addr=None),
    ]
    assert scene.tables.read.all_topics() == []
    assert scene.tables.unregister_broker("a", MASTER.key, scene.now_ms) == Effects()


def test_when_the_master_leaves_an_acting_group_its_queues_cannot_be_written() -> None:
    scene = Scene(notify_min_broker_id_changed=True)
    for id_ in (0, 1, 2):
        scene.register(registration(identity("a", id_, acting=True)))

    effects = scene.tables.unregister_broker("a", identity("a", 0).key, scene.now_ms)

    assert scene.perms() == {"a": 4}
    [notice] = effects.notices
    assert notice.receivers == ("a-1:10911", "a-2:10911")
    assert (notice.header.min_broker_id, notice.header.min_broker_addr) == (1, "a-1:10911")
    assert (notice.header.offline_broker_addr, notice.header.ha_broker_addr) == ("a-0:10911", None)


def test_when_a_smaller_id_comes_the_others_are_told() -> None:
    """Whether or not the group acts; not the newcomer; nobody when that is off."""
    scene = Scene(notify_min_broker_id_changed=True)
    scene.register(registration(identity("a", 2)))
    assert scene.effects.notices == []
    scene.register(registration(identity("a", 1)))
    [notice] = scene.effects.notices
    assert notice.receivers == ("a-2:10911",)
    assert notice.header.ha_broker_addr == identity("a", 1).ha_server_addr
    scene.tables.set_options(TableOptions())
    scene.register(registration(identity("a", 0)))
    assert scene.effects.notices == []


@pytest.mark.parametrize("timeout_ms", [100, 0, -1])
def test_silence_expires(timeout_ms: int) -> None:
    scene = Scene()
    scene.register(registration(identity("a", timeout_ms=timeout_ms), connection=7))
    scene.now_ms += max(timeout_ms, 0) + 1

    effects = scene.tables.expire(scene.now_ms)

    assert effects.close == [7]
    assert effects.events[0].NAME == "broker.unregistered"
    assert scene.tables.expire(scene.now_ms) == Effects()


def test_a_connection_with_a_broker_that_speaks_stays_open() -> None:
    scene = Scene()
    scene.register(registration(identity("a", timeout_ms=100), connection=7))
    scene.register(registration(identity("b", timeout_ms=1000), connection=7))
    scene.now_ms += 101

    assert scene.tables.expire(scene.now_ms).close == []


def test_heartbeats_renew() -> None:
    scene = Scene()
    scene.register(registration(identity("a", timeout_ms=100)))
    key = identity("a").key
    for _ in range(3):
        scene.now_ms += 90
        assert scene.tables.heartbeat(key, scene.now_ms) == Effects()
        scene.now_ms += 90
        assert scene.tables.query_data_version(key, version(), scene.now_ms) == (False, version())
        assert scene.tables.expire(scene.now_ms) == Effects()


def test_a_heartbeat_of_nobody() -> None:
    effects = Scene().tables.heartbeat(BrokerKey("C", "x"), 0, "10.0.0.1:1")

    [event] = effects.events
    assert event.fields() == {"cluster": "C", "addr": "x", "peer": "10.0.0.1:1"}
    assert Scene().tables.query_data_version(BrokerKey("C", "x"), version(), 0) == (True, None)


def test_a_pause_of_this_process_is_nobodys_silence() -> None:
    scene = Scene()
    scene.register(registration(identity("a", timeout_ms=100)))
    scene.now_ms += 5000
    scene.tables.postpone_expiry(5000, scene.now_ms)

    assert scene.tables.expire(scene.now_ms) == Effects()


def test_who_spoke_after_a_pause_is_not_owed_it() -> None:
    """Else a broker that leaves without a word after an hour's pause would stay for an hour."""
    scene = Scene()
    scene.now_ms += 5000
    scene.register(registration(identity("a", timeout_ms=100)))
    scene.tables.postpone_expiry(5000, scene.now_ms)

    assert scene.tables.expire(scene.now_ms + 101).events


def test_all_brokers_of_a_connection_go_with_it() -> None:
    scene = Scene()
    for name in ("a", "b", "c"):
        scene.register(registration(identity(name), connection=7 if name != "c" else 8))
    assert scene.tables.is_broker_connection(ConnectionId(7))

    effects = scene.tables.connection_closed(ConnectionId(7), scene.now_ms)

    assert [event.broker for event in effects.events if isinstance(event, BrokerUnregistered)] == ["a", "b"]
    assert not scene.tables.is_broker_connection(ConnectionId(7))
    assert scene.perms() == {"c": 6}


def test_a_registration_that_says_nothing_new_is_a_heartbeat() -> None:
    scene = Scene()
    said = registration(identity("a", timeout_ms=100))
    assert not scene.is_renewed(said)
    scene.register(said)
    scene.now_ms += 90

    assert scene.is_renewed(said, connection=2)
    scene.now_ms += 70
    assert scene.tables.expire(scene.now_ms) == Effects()
    assert scene.tables.connection_closed(ConnectionId(1), scene.now_ms) == Effects()
    assert scene.tables.connection_closed(ConnectionId(2), scene.now_ms).events


@pytest.mark.parametrize(
    "change",
    [
        lambda tables: tables.wipe_write_perm("a"),
        lambda tables: tables.add_write_perm("a"),
        lambda tables: tables.delete_topic("T1", None),
        lambda tables: tables.register_topic("T1", (queue_data("a", perm=4),)),
        lambda tables: tables.register_broker(registration(SLAVE), 0),
        lambda tables: tables.set_options(TableOptions(delete_topic_with_broker_registration=True)),
        lambda tables: tables.register_broker(registration(identity("a", ha="other")), 0),
        lambda tables: tables.unregister_broker("a", MASTER.key, 0),
    ],
)
def test_whatever_touched_the_group_makes_the_repetition_be_read(change: object) -> None:
    scene = Scene()
    said = registration(MASTER)
    scene.register(said)
    assert scene.is_renewed(said)

    change(scene.tables)  # type: ignore[operator]

    assert not scene.is_renewed(said)


def test_another_group_does_not_matter() -> None:
    scene = Scene()
    said = registration(MASTER)
    scene.register(said)
    scene.register(registration(identity("b")))
    scene.tables.wipe_write_perm("b")

    assert scene.is_renewed(said)


def test_adding_a_topic() -> None:
    """Of one that exists the entries before the first unknown broker are taken; of a new one all or none."""
    scene = Scene()
    scene.register(registration(MASTER))
    scene.register(registration(identity("b")))
    a, b, unknown = queue_data("a", perm=2), queue_data("b", perm=2), queue_data("?")

    assert scene.tables.register_topic("N", (a, unknown)) == Effects()
    assert "N" not in scene.tables.read.all_topics()
    assert scene.tables.register_topic("N", ()) == Effects()
    effects = scene.tables.register_topic("N", (a, b))
    assert effects.events == [TopicsAdded(broker="a", count=1, topics=("N",))]
    assert scene.perms("N") == {"a": 2, "b": 2}
    scene.tables.register_topic("N", (queue_data("a", perm=4), unknown, queue_data("b", perm=4)))
    assert scene.perms("N") == {"a": 4, "b": 2}


def test_deleting_a_topic() -> None:
    scene = Scene()
    scene.register(registration(MASTER))
    scene.register(registration(identity("b", cluster="D")))

    assert scene.tables.delete_topic("T1", "?") == Effects()
    assert scene.tables.delete_topic("?", None) == Effects()
    assert scene.tables.delete_topic("T1", "D") == Effects()
    assert scene.perms() == {"a": 6}
    effects = scene.tables.delete_topic("T2", None)
    assert effects.events == [TopicsRemoved(count=1, topics=("T2",), reason="deleted by request")]
    scene.register(registration(MASTER))
    assert scene.perms("T2") == {"a": 6}, "a broker that has it brings it back"


def test_static_topics() -> None:
    """A broker speaks for itself only; mappings leave with the broker and with the topic."""
    scene = Scene()
    infos = {"T1": mapping("T1", "a"), "T2": mapping("T2", "somebody else")}
    scene.register(registration(MASTER, mappings=infos))

    assert scene.route("T1").topic_queue_mapping_by_broker == {"a": infos["T1"]}
    assert scene.route("T2").topic_queue_mapping_by_broker is None
    scene.tables.delete_topic("T1", None)
    scene.register(registration(MASTER))
    assert scene.route("T1").topic_queue_mapping_by_broker is None


def test_a_mapping_without_queues_leaves_with_the_topic_too() -> None:
    scene = Scene()
    scene.register(registration(MASTER, {}, mappings={"T1": mapping("T1", "a")}))
    scene.tables.delete_topic("T1", None)

    scene.register(registration(MASTER))
    assert scene.route("T1").topic_queue_mapping_by_broker is None


def test_a_kept_route_forgets_the_mapping_of_a_broker_that_leaves() -> None:
    """The broker has a mapping for the topic and no queues, so that its leaving changes no queues of the topic."""
    scene, other = Scene(), identity("b", 0)
    scene.register(registration(MASTER))
    scene.register(registration(other, {}, mappings={"T1": mapping("T1", "b")}))
    before = scene.tables.read.encoded_route("T1", JsonDialect.STANDARD)

    scene.tables.unregister_broker("b", other.key, scene.now_ms)
    assert before is not None
    assert b"topicQueueMappingByBroker" in before
    assert b"topicQueueMappingByBroker" not in (scene.tables.read.encoded_route("T1", JsonDialect.STANDARD) or b"")


def test_filter_servers_live_with_their_broker() -> None:
    scene = Scene()
    scene.register(registration(MASTER, filter_servers=("f:1",)))
    scene.register(registration(MASTER, filter_servers=None))
    assert scene.route().filter_server_table == {MASTER.addr: ("f:1",)}

    scene.register(registration(MASTER, filter_servers=()))
    assert scene.route().filter_server_table == {}
    scene.register(registration(MASTER, filter_servers=("f:1",)))
    scene.tables.unregister_broker("a", MASTER.key, 0)
    scene.register(registration(MASTER, filter_servers=None))
    assert scene.route().filter_server_table == {}


def test_leaving_with_an_address_that_the_group_does_not_have() -> None:
    """Nobody leaves; but an acting group without master loses its write permission, as in Java."""
    scene = Scene()
    scene.register(registration(identity("a", 1, acting=True)))
    scene.tables.add_write_perm("a")

    effects = scene.tables.unregister_broker("a", BrokerKey("C", "?"), scene.now_ms)

    assert effects == Effects()
    assert scene.perms() == {"a": 4}


def test_adding_a_topic_again_changes_nothing() -> None:
    scene = Scene()
    scene.register(registration(MASTER))

    assert scene.tables.register_topic("T1", (queue_data("a"),)) == Effects()


def test_what_was_dropped_is_counted() -> None:
    scene = Scene()
    scene.register(registration(MASTER))
    scene.tables.unregister_broker("a", MASTER.key, scene.now_ms)

    assert scene.tables.dropped_count == 2


def test_a_broker_that_is_nearly_expired_is_told_of_once_for_each_silence() -> None:
    scene = Scene()
    said = registration(identity("a", 1, timeout_ms=100))
    scene.register(said)
    scene.now_ms += 74
    assert scene.tables.expire(scene.now_ms) == Effects()

    scene.now_ms += 1
    (event,) = scene.tables.expire(scene.now_ms).events
    assert isinstance(event, BrokerExpiring)
    assert (event.broker, event.id, event.addr) == ("a", 1, "a-1:10911")
    assert (event.last_heartbeat_s, event.expires_in_s) == (0.1, 0.0)
    assert scene.tables.expire(scene.now_ms + 10) == Effects()

    assert scene.is_renewed(said)
    scene.now_ms += 80
    assert [type(event) for event in scene.tables.expire(scene.now_ms).events] == [BrokerExpiring]
    scene.now_ms += 21
    assert BrokerExpiring not in {type(event) for event in scene.tables.expire(scene.now_ms).events}


def test_a_broker_that_was_not_looked_at_in_time_is_not_expiring_but_gone() -> None:
    scene = Scene()
    scene.register(registration(identity("a", timeout_ms=100)))

    events = scene.tables.expire(scene.now_ms + 101).events

    assert BrokerExpiring not in {type(event) for event in events}
