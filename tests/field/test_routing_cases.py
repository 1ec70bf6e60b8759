"""Field cases about which routes there are, and what is in them."""

# ruff: noqa: N802  # case ids are written in capitals

import random
from collections.abc import Iterable
from typing import Any, Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.latency import RouteReader
from tests.support.peer import (
    MASTER,
    REG,
    SUCCESS,
    SYSTEM_ERROR,
    SYSTOPICS,
    Peer,
    numbered,
    queue_data,
    topics_named,
)
from tests.support.process_figures import memory_of
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.standing_rule import HISTORY_BYTES
from tests.support.waiting import wait_until
from tests.support.wire import (
    Broker,
    crc32_masked,
    data_version,
    dump,
    encode_request,
    mapping_info,
    registration_ext,
    topic_config,
    topic_wrapper,
)

GONE_S: Final = 1.0


def test_F001_lone_topic_before_the_broker_is_refused_without_trace(own_server: StartServer, names: Names) -> None:
    server = own_server()
    broker, topics = names.broker(), numbered(names("T"), 50)
    with Peer(server.address) as peer, Peer(server.address) as client:
        refused = peer.reg(broker, topics_named(topics[0]), 7)
        assert (refused.code, refused.body) == (SYSTEM_ERROR, b"")
        assert client.cluster().raw == {"brokerAddrTable": {}, "clusterAddrTable": {}}
        assert client.topics() == []
        assert client.route(topics[0]) is None

        peer.registered(broker, topics_named(*topics), 7)
        for topic in topics:
            route = client.routed(topic)
            assert (route.brokers, route.perms) == ({broker.name: {MASTER: broker.addr}}, {broker.name: 6})
        assert client.cluster().brokers == {broker.name: {MASTER: broker.addr}}
        assert client.cluster().clusters == {broker.cluster: [broker.name]}

        peer.registered(broker, topics_named(topics[0]), 8)
        assert sorted(client.topics()) == sorted(topics), "once the broker is known, a lone topic is an update"


def test_F001_an_empty_first_table_is_accepted(server: ServerProcess, names: Names) -> None:
    broker = names.broker()
    with Peer(server.address) as peer:
        peer.registered(broker, [])
        assert peer.cluster().brokers[names("broker-a")] == {MASTER: broker.addr}
        assert peer.topics_of(names("C")) == []
        peer.registered(broker, topics_named(names("T")))
        assert peer.routed(names("T")).perms == {broker.name: 6}


def test_F002_unchanged_version_brings_a_deleted_topic_back(server: ServerProcess, names: Names) -> None:
    broker, topics = names.broker(), numbered(names("T"), 20)
    deleted, others = topics[4], [*topics[:4], *topics[5:]]

    def is_whole(brokers: Any) -> bool:
        return bool(brokers == {broker.name: {MASTER: broker.addr}})

    with Peer(server.address) as peer, Peer(server.address) as admin:
        peer.registered(broker, topics_named(*topics), 1)
        with RouteReader(server.address, others[0], is_whole), RouteReader(server.address, others[-1], is_whole):
            for _ in range(20):
                assert admin.delete_topic(deleted).code == SUCCESS
                assert admin.route(deleted) is None
                assert sorted(admin.topics_of(names("C"))) == sorted(others)
                peer.registered(broker, topics_named(*topics), 1)
                assert admin.routed(deleted).perms == {broker.name: 6}
                assert all(is_whole(admin.routed(topic).brokers) for topic in others)


@pytest.mark.parametrize("seed", [1])
def test_F004_a_table_in_eight_pipelined_parts_is_their_union(own_server: StartServer, names: Names, seed: int) -> None:
    """On a server of its own: what 80,000 topics cost must be given back when they leave."""
    server = own_server()
    broker = names.broker()
    parts = [topics_named(*numbered(names(f"P{part}-"), 10_000)) for part in range(8)]
    every = [config["topicName"] for part in parts for config in part]
    draw = random.Random(seed)
    with Peer(server.address, timeout=30) as peer, Peer(server.address, timeout=30) as client:
        for order, first_version in ((range(8), 1), (draw.sample(range(8), 8), 9)):
            frames = [
                _registration(broker, parts[part], version, opaque=1000 + version)
                for version, part in enumerate(order, first_version)
            ]
            peer.send(b"".join(frames))
            answers = [peer.read_answer() for _ in frames]
            assert {each.opaque for each in answers} == set(range(1000 + first_version, 1008 + first_version))
            assert {each.code for each in answers} == {SUCCESS}
            listed = client.topics()
            assert len(listed) == 80_000
            assert set(listed) == set(every)
            for topic in draw.sample(every, 200):
                route = client.routed(topic)
                assert (route.brokers, route.perms) == ({broker.name: {MASTER: broker.addr}}, {broker.name: 6})
        assert peer.unreg(broker).code == SUCCESS
        assert client.topics() == []


@pytest.mark.parametrize("deletes_omitted", [False, True])
def test_F005_topic_dropped_by_one_of_two_brokers(
    shared_server: StartServer, names: Names, *, deletes_omitted: bool
) -> None:
    server = shared_server(deleteTopicWithBrokerRegistration=deletes_omitted)
    a, b = names.broker("broker-a"), names.broker("broker-b")
    topic, others = names("T"), [names("U"), names("V")]
    with Peer(server.address) as of_a, Peer(server.address) as of_b, Peer(server.address) as client:
        of_a.registered(a, topics_named(topic, *others))
        of_b.registered(b, topics_named(topic, *others))
        assert set(client.routed(topic).brokers) == {a.name, b.name}

        of_b.registered(b, topics_named(*others), 2)
        after_b = {a.name} if deletes_omitted else {a.name, b.name}
        assert set(client.routed(topic).brokers) == after_b
        assert set(client.routed(topic).perms) == after_b

        of_a.registered(a, topics_named(*others), 2)
        if deletes_omitted:
            assert client.route(topic) is None
        else:
            assert set(client.routed(topic).brokers) == {a.name, b.name}
        assert (topic in client.topics()) is not deletes_omitted
        for other in others:
            assert set(client.routed(other).brokers) == {a.name, b.name}


def test_F006_single_topic_requests_while_omission_deletes(shared_server: StartServer, names: Names) -> None:
    server = shared_server(deleteTopicWithBrokerRegistration=True)
    broker, topics = names.broker(), numbered(names("T"), 30)
    new, foreign = names("T31"), names("T32")
    with Peer(server.address) as peer, Peer(server.address) as client:
        peer.registered(broker, topics_named(*topics), 1)
        assert peer.register_topic(new, queue_data(names("broker-a"))).code == SUCCESS
        assert peer.register_topic(foreign, queue_data(names("nobody"))).code == SUCCESS
        assert client.routed(new).brokers == {broker.name: {MASTER: broker.addr}}
        assert client.route(foreign) is None
        assert sorted(client.topics_of(names("C"))) == sorted([*topics, new])

        static = mapping_info(topics[0], names("broker-a"), {0: 0})
        peer.registered(broker, topics_named(*topics[:25]), 2, mappings=[static])
        assert sorted(client.topics_of(names("C"))) == sorted([*topics, new])
        assert client.routed(topics[29]).brokers == {broker.name: {MASTER: broker.addr}}

        peer.registered(broker, topics_named(*topics[:25]), 3)
        assert sorted(client.topics_of(names("C"))) == sorted(topics[:25]), "without mappings, omission deletes"


def test_F007_deleting_a_topic_in_one_cluster_leaves_the_other(server: ServerProcess, names: Names) -> None:
    east = names.broker("broker-e", cluster="C-east")
    west = names.broker("broker-w", cluster="C-west")
    topic, other = names("T"), names("U")
    with Peer(server.address) as peer:
        for broker in (east, west):
            peer.registered(broker, topics_named(topic, other))
        assert set(peer.routed(topic).brokers) == {east.name, west.name}

        assert peer.delete_topic(topic, names("C-east")).code == SUCCESS
        assert peer.routed(topic).brokers == {west.name: {MASTER: west.addr}}
        assert peer.routed(topic).perms == {west.name: 6}
        assert topic not in peer.topics_of(names("C-east"))

        before = peer.ask_route(topic).body
        assert peer.delete_topic(topic, names("C-north")).code == SUCCESS
        assert peer.ask_route(topic).body == before

        assert peer.delete_topic(topic).code == SUCCESS
        assert peer.route(topic) is None
        assert topic not in peer.topics()
        assert set(peer.routed(other).brokers) == {east.name, west.name}


def test_F008_one_broker_name_in_two_clusters(
    own_server: StartServer, names: Names, compatibility_lines: list[str]
) -> None:
    """The answers while both are there were recorded from Apache RocketMQ NameServer 5.5.0."""
    server = own_server()
    x = Broker(name="broker-a", cluster="X", addr="192.0.2.10:10911")
    y = Broker(name="broker-a", cluster="Y", addr="192.0.2.20:10911")
    of_x, of_y = ["x1", "x2"], ["y1", "y2"]
    addresses = {MASTER: "192.0.2.20:10911"}
    with Peer(server.address) as px, Peer(server.address) as py, Peer(server.address) as client:
        px.registered(x, topics_named(*of_x))
        py.registered(y, topics_named(*of_y))
        assert client.cluster().raw == {
            "brokerAddrTable": {
                "broker-a": {
                    "brokerAddrs": addresses,
                    "brokerName": "broker-a",
                    "cluster": "X",
                    "enableActingMaster": False,
                }
            },
            "clusterAddrTable": {"X": ["broker-a"], "Y": ["broker-a"]},
        }
        for topic in (*of_x, *of_y):
            route = client.routed(topic)
            assert (route.brokers, route.perms) == ({"broker-a": addresses}, {"broker-a": 6})
            assert route.raw["brokerDatas"][0]["cluster"] == "X"
        for cluster in ("X", "Y"):
            assert sorted(client.topics_of(cluster)) == [*of_x, *of_y]
            assert client.group(cluster, "broker-a") == addresses
        system = client.request(SYSTOPICS).json()
        assert (sorted(system["topicList"]), system["brokerAddr"]) == (["X", "Y", "broker-a"], "192.0.2.20:10911")
        warning = wait_for_line(server, event="broker.cluster_conflict", broker="broker-a")
        assert {warning["cluster"], warning["other_cluster"]} == {"X", "Y"}
        assert warning["level"] in {"WARN", "ERROR"}

        assert py.unreg(y).code == SUCCESS
        assert px.unreg(x).code == SUCCESS
        assert client.cluster().raw == {"brokerAddrTable": {}, "clusterAddrTable": {}}
        assert client.topics() == []
        assert client.topics_of("X") == client.topics_of("Y") == []
        assert client.request(SYSTOPICS).json() == {"topicList": []}
        assert [client.route(topic) for topic in (*of_x, *of_y)] == [None] * 4
    assert any("cluster" in line and "F008" in line for line in compatibility_lines), "the row of docs/compatibility.md"


def test_F009_a_renamed_broker_leaves_nothing_under_its_old_name(
    shared_server: StartServer, names: Names, compatibility_lines: list[str]
) -> None:
    server = shared_server(scanNotActiveBrokerInterval=100)
    address = "192.0.2.11:10911"
    old = names.broker("broker-a-1", addr=address, heartbeat_timeout_millis=500)
    new = names.broker("broker-a", 1, addr=address, heartbeat_timeout_millis=500)
    topics = [names("T"), names("U")]
    with Peer(server.address) as client:
        with Peer(server.address) as peer:
            peer.registered(old, topics_named(*topics))
            peer.registered(new, topics_named(*topics))
            cluster = client.cluster()
            assert cluster.brokers[names("broker-a")] == {"1": address}
            assert names("broker-a-1") not in cluster.brokers, "an address has one name"
            assert cluster.clusters[names("C")] == [names("broker-a")]
            assert client.routed(topics[0]).brokers == {names("broker-a"): {"1": address}}

        def traces() -> list[str]:
            text = dump([client.cluster().raw, client.request(SYSTOPICS).json()]).decode()
            found = [name for name in (names("broker-a"), names("C")) if name in text]
            found += [topic for topic in topics if topic in client.topics() or client.route(topic) is not None]
            return [*found, *client.topics_of(names("C"))]

        wait_until(lambda: not traces(), "both names to be gone", within_s=GONE_S)
        # Past the expiry of both, too: what a scan finds later must not bring one back.
        wait_for_expiry = names.broker("later", heartbeat_timeout_millis=500)
        with Peer(server.address) as peer:
            peer.registered(wait_for_expiry, [])
            wait_until(lambda: names("later") not in client.cluster().brokers, "the expiry of a later broker", 5)
        assert traces() == []
    assert any("F009" in line for line in compatibility_lines), "the row of docs/compatibility.md"


def test_F011_system_topics_are_the_names_of_clusters_and_brokers(own_server: StartServer, names: Names) -> None:
    server = own_server()
    brokers = [
        names.broker(f"broker-{cluster}{number}", cluster=cluster) for cluster in ("C1", "C2") for number in (1, 2)
    ]
    with Peer(server.address) as client:
        # Recorded from Apache RocketMQ NameServer 5.5.0.
        assert client.request(SYSTOPICS).body == b'{"topicList":[]}'
        with Peer(server.address) as peer:
            for broker in brokers:
                peer.registered(broker, topics_named(names("orders"), names("payments")))
            answers = [client.request(SYSTOPICS).json() for _ in range(20)]
            expected = {names("C1"), names("C2"), *(str(broker.name) for broker in brokers)}
            assert all(set(each["topicList"]) == expected for each in answers)
            assert all(len(each["topicList"]) == len(expected) for each in answers), "no name twice"
            assert len({each["brokerAddr"] for each in answers}) == 1
            first = answers[0]["brokerAddr"]
            assert first in {broker.addr for broker in brokers}

            left = next(broker for broker in brokers if broker.addr == first)
            assert peer.unreg(left).code == SUCCESS
            answer = client.request(SYSTOPICS).json()
            assert answer["brokerAddr"] in {broker.addr for broker in brokers} - {first}
            assert set(answer["topicList"]) == expected - {left.name}


def test_F012_zone_filter_only_on_request(server: ServerProcess, names: Names) -> None:
    near = names.broker("near", zone="z1")
    far = names.broker("far", zone="Z2")
    masterless = names.broker("masterless", 1, zone="z1")
    zoneless = names.broker("zoneless")
    topic = names("T")
    with Peer(server.address) as peer:
        peer.registered(near, topics_named(topic, names("U")), filter_servers=["near:1"])
        peer.registered(far, topics_named(topic, names("U")), filter_servers=["far:1", "far:2"])
        peer.registered(masterless, topics_named(topic, names("U")))
        peer.registered(zoneless, topics_named(topic, names("U")))
        for version in (399, 513):
            plain = peer.ask_route(topic, version=version)
            assert len(plain.json()["brokerDatas"]) == 4
            for mode, zone in [
                (m, z) for m in ("true", "false", "yes", "", None) for z in ("z2", "Z2", "", " ", "z9", None)
            ]:
                answer = peer.ask_route(topic, {"__ZONE_MODE": mode, "__ZONE_NAME": zone}, version=version)
                assert answer.code == SUCCESS
                if mode != "true" or not (zone or "").strip():
                    assert answer.body == plain.body, (mode, zone)
                    continue
                kept = {masterless.name} if zone == "z9" else {masterless.name, far.name}
                body = answer.json()
                assert {each["brokerName"] for each in body["brokerDatas"]} == kept
                assert {each["brokerName"] for each in body["queueDatas"]} == kept
                assert body["filterServerTable"] == ({} if zone == "z9" else {far.addr: ["far:1", "far:2"]})
                assert (b'{"0":' in answer.body or b'{"1":' in answer.body) is (version > 400), "dialect as asked for"
        peer.registered(near, topics_named(names("V"), names("W")), 2)
        only_near = peer.ask_route(names("V"), {"__ZONE_MODE": "true", "__ZONE_NAME": "z9"})
        assert only_near.json()["brokerDatas"] == only_near.json()["queueDatas"] == [], (
            "a filtered-out route is no error"
        )


def test_F014_static_topic_mappings_follow_the_newest_registration(server: ServerProcess, names: Names) -> None:
    a, b = names.broker("broker-a"), names.broker("broker-b")
    static, other = names("S"), names("U")

    def mapping(broker: Broker, epoch: int) -> dict[str, Any]:
        return mapping_info(static, str(broker.name), {0: 0, 4: 1}) | {"epoch": epoch}

    def epochs(peer: Peer) -> dict[str, int]:
        return {name: info["epoch"] for name, info in peer.routed(static).mappings.items()}

    with Peer(server.address) as peer:
        peer.registered(a, topics_named(static, other), 1, mappings=[mapping(a, 3)])
        peer.registered(b, topics_named(static, other), 1, mappings=[mapping(b, 3)])
        assert epochs(peer) == {a.name: 3, b.name: 3}
        assert peer.routed(static).mappings[names("broker-a")]["currIdMap"] == {"0": 0, "4": 1}
        assert "topicQueueMappingByBroker" not in peer.routed(other).raw

        peer.registered(b, topics_named(static, other), 2, mappings=[mapping(b, 4)])
        assert epochs(peer) == {a.name: 3, b.name: 4}

        assert peer.delete_topic(static).code == SUCCESS
        assert peer.route(static) is None
        for broker in (a, b):
            peer.registered(broker, topics_named(static, other), 3)
        assert "topicQueueMappingByBroker" not in peer.routed(static).raw, "a mapping leaves with its topic"

        for broker in (a, b):
            peer.registered(broker, topics_named(static, other), 4, mappings=[mapping(broker, 5)])
        assert epochs(peer) == {a.name: 5, b.name: 5}
        assert peer.unreg(b).code == SUCCESS
        assert epochs(peer) == {a.name: 5}, "a mapping leaves with its broker"


def test_F014_ten_thousand_rounds_of_static_topics_cost_no_memory(own_server: StartServer, names: Names) -> None:
    server = own_server()
    broker, other = names.broker(), topic_config(names("U"))
    rounds, burst = 10_000, 500
    with Peer(server.address, timeout=30) as peer:
        peer.registered(broker, [other, topic_config(names("V"))])

        def play(numbers: Iterable[int]) -> None:
            frames, opaques = [], []
            for number in numbers:
                topic = names(f"S{number}")
                info = mapping_info(topic, names("broker-a"), {0: 0, 4: 1})
                frames.append(_registration(broker, [other, topic_config(topic)], 2 + number, number, mapping=info))
                frames.append(encode_request(216, {"topic": topic}, opaque=rounds + number))
                opaques += [number, rounds + number]
            peer.send(b"".join(frames))
            assert [peer.read_answer().code for _ in opaques] == [SUCCESS] * len(opaques)

        play(range(burst))
        memory = memory_of(server.pid)
        for start in range(burst, rounds, burst):
            play(range(start, start + burst))
        assert sorted(peer.topics()) == [names("U"), names("V")]
        assert memory_of(server.pid) <= memory * 1.1 + HISTORY_BYTES


def test_F015_write_permission_can_be_wiped_and_given_back(server: ServerProcess, names: Names) -> None:
    """The numbers were recorded from Apache RocketMQ NameServer 5.5.0."""
    broker = names.broker()
    topics = {perm: names(f"T{perm}") for perm in (6, 4, 2)}
    with Peer(server.address) as peer, Peer(server.address) as client:
        peer.registered(broker, [topic_config(topic, perm=perm) for perm, topic in topics.items()])

        def perms() -> dict[int, int]:
            return {perm: client.routed(topic).perms[names("broker-a")] for perm, topic in topics.items()}

        assert perms() == {6: 6, 4: 4, 2: 2}
        assert client.wipe(names("broker-a")) == 3
        assert perms() == {6: 4, 4: 4, 2: 0}
        assert client.add_perm(names("broker-a")) == 3
        assert perms() == {6: 6, 4: 6, 2: 6}
        assert client.wipe(names("nobody")) == client.add_perm(names("nobody")) == 0
        assert perms() == {6: 6, 4: 6, 2: 6}


def test_F016_a_wipe_lasts_until_the_data_version_moves(server: ServerProcess, names: Names) -> None:
    broker, topics = names.broker(), numbered(names("T"), 5)
    with Peer(server.address) as peer:

        def perms() -> list[int]:
            return [peer.routed(topic).perms[names("broker-a")] for topic in topics]

        peer.registered(broker, topics_named(*topics), 1)
        assert peer.wipe(names("broker-a")) == 5
        assert perms() == [4] * 5
        peer.registered(broker, topics_named(*topics), 1)
        assert perms() == [4] * 5, "the same version keeps the wipe"
        assert log_lines(server, names("broker-a"), event="perm.restored") == []

        changed = [topic_config(topics[0], read=16), *topics_named(*topics[1:])]
        peer.registered(broker, changed, 2)
        assert perms() == [6] * 5, "a moved version overwrites it for every topic"
        line = wait_for_line(server, "wipe", event="perm.restored", broker=names("broker-a"))
        assert line["topics"] == 5


def _registration(
    broker: Broker, topics: Iterable[Any], version: int, opaque: int, mapping: dict[str, Any] | None = None
) -> bytes:
    """Encode a registration with the quick JSON writer; large tables take seconds otherwise."""
    wrapper = topic_wrapper(topics, data_version(version), mappings=[] if mapping is None else [mapping])
    body = dump({"filterServerList": [], "topicConfigSerializeWrapper": wrapper})
    return encode_request(REG, registration_ext(broker, crc=crc32_masked(body)), body, opaque=opaque)
