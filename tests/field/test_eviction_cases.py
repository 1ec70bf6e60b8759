"""Field cases about how brokers leave: by request, by a lost connection, by silence."""

# ruff: noqa: N802  # case ids are written in capitals

import dataclasses
import time
from collections.abc import Iterable
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import (
    MASTER,
    REG,
    SUCCESS,
    UNREG,
    Peer,
    numbered,
    peers,
    topics_named,
)
from tests.support.server_log import log_lines, wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import (
    Broker,
    crc32_masked,
    data_version,
    dump,
    encode_request,
    identity_ext,
    is_readable,
    register_body,
    registration_ext,
    topic_wrapper,
)

SCAN_MS: Final = 100
GONE_S: Final = 1.0


def traces_of(client: Peer, brokers: Iterable[Broker], topics: Iterable[str]) -> list[str]:
    """Return what still names these brokers or topics in 105, 106, 206, 224 and 901."""
    cluster, listed, found = client.cluster(), client.topics(), []
    for broker in brokers:
        name, of_cluster = str(broker.name), str(broker.cluster)
        found += [f"106: {name}"] if name in cluster.brokers else []
        found += [f"106, clusters: {name}"] if name in cluster.clusters.get(of_cluster, []) else []
        found += [f"901: {name}"] if client.group(of_cluster, name) else []
        for topic in topics:
            route = client.route(topic)
            found += [f"105 {topic}: {name}"] if route is not None and name in {*route.brokers, *route.perms} else []
    for topic in topics:
        has_route = client.route(topic) is not None
        found += [f"206: {topic}"] if not has_route and topic in listed else []
    return found


def test_F030_a_late_unregister_of_the_former_master(server: ServerProcess, names: Names) -> None:
    former, present = names.broker(addr="192.0.2.1:10911"), names.broker(addr="192.0.2.2:10911")
    slave = names.broker("broker-a", 1, addr="192.0.2.3:10911")
    topics = [names("T"), names("U")]
    with Peer(server.address) as peer:
        for broker in (former, slave, present):
            peer.registered(broker, topics_named(*topics))
        assert peer.unreg(former).code == SUCCESS
        addresses = {MASTER: "192.0.2.2:10911", "1": "192.0.2.3:10911"}
        for topic in topics:
            route = peer.routed(topic)
            assert (route.brokers, route.perms) == ({present.name: addresses}, {present.name: 6})
        assert peer.group(names("C"), names("broker-a")) == addresses

        # Apache RocketMQ NameServer 5.5.0 removes by address, whatever the id says.
        assert peer.unreg(dataclasses.replace(present, id=7)).code == SUCCESS
        assert peer.group(names("C"), names("broker-a")) == {"1": "192.0.2.3:10911"}
        assert peer.routed(topics[0]).brokers == {present.name: {"1": "192.0.2.3:10911"}}
        assert peer.unreg(dataclasses.replace(slave, id=0)).code == SUCCESS
        assert traces_of(peer, [present], topics) == []


def test_F031_no_unregister_is_both_accepted_and_lost(shared_server: StartServer, names: Names) -> None:
    server = shared_server(unRegisterBrokerQueueCapacity=10)
    connections, each_has = 50, 100
    brokers = [
        [names.broker(f"b{line}-{row}", addr=f"10.31.{line}.{row}:10911") for row in range(each_has)]
        for line in range(connections)
    ]
    every = {str(broker.name) for line in brokers for broker in line}
    table = topics_named(names("T"), names("U"))
    heavy = dump(
        {
            "filterServerList": [],
            "topicConfigSerializeWrapper": topic_wrapper(topics_named(*numbered(names("H"), 20_000)), data_version(2)),
        }
    )
    with (
        Peer(server.address, 30) as big,
        Peer(server.address, 30) as client,
        peers(server.address, connections) as lines,
    ):
        for peer, own in zip(lines, brokers, strict=True):
            body = register_body(table)
            ext = (registration_ext(broker, crc=crc32_masked(body)) for broker in own)
            peer.send(b"".join(encode_request(REG, each, body, opaque=at) for at, each in enumerate(ext)))
        for peer in lines:
            assert all(peer.read_answer().code == SUCCESS for _ in range(each_has))
        assert every <= set(client.cluster().brokers)

        hold = names.broker("heavy")
        big.send(encode_request(REG, registration_ext(hold, crc=crc32_masked(heavy)), heavy, opaque=1))
        for peer, own in zip(lines, brokers, strict=True):
            peer.send(b"".join(encode_request(UNREG, identity_ext(b), opaque=at) for at, b in enumerate(own)))
        accepted = set()
        for peer, own in zip(lines, brokers, strict=True):
            answers = [peer.read_answer() for _ in own]
            assert {answer.opaque for answer in answers} == set(range(each_has))
            accepted |= {str(own[answer.opaque].name) for answer in answers if answer.code == SUCCESS}
        assert big.answer_to(1).code == SUCCESS
        wait_until(
            lambda: every & set(client.cluster().brokers) == every - accepted,
            "all that was accepted to be carried out, and nothing else",
            within_s=2,
        )
        assert accepted, "not one was accepted"
        big.unreg(hold)


def test_F032_unregistered_brokers_are_gone_within_a_second(server: ServerProcess, names: Names) -> None:
    east = [names.broker(name, cluster="C-east") for name in ("broker-a", "broker-b")]
    west = names.broker("broker-w", cluster="C-west")
    topics = [names("T"), names("U")]
    only_b = names("only-b")
    with Peer(server.address) as peer, Peer(server.address) as client:
        peer.registered(east[0], topics_named(*topics))
        peer.registered(east[1], topics_named(*topics, only_b))
        peer.registered(west, topics_named(*topics))

        assert peer.unreg(east[1]).code == SUCCESS
        wait_until(lambda: not traces_of(client, [east[1]], [*topics, only_b]), "the broker to be gone", GONE_S)
        assert only_b not in client.topics_of(names("C-east"))
        assert set(client.routed(topics[0]).brokers) == {east[0].name, west.name}
        assert client.cluster().clusters[names("C-east")] == [east[0].name]

        assert peer.unreg(west).code == SUCCESS
        wait_until(lambda: names("C-west") not in client.cluster().clusters, "the cluster to be gone", GONE_S)
        assert traces_of(client, [west], topics) == []
        assert client.topics_of(names("C-west")) == []

        before = (client.cluster().raw, [client.ask_route(topic).body for topic in topics])
        for nobody in (west, east[1], names.broker("never-seen"), dataclasses.replace(east[0], addr="192.0.2.9:1")):
            assert peer.unreg(nobody).code == SUCCESS
        assert (client.cluster().raw, [client.ask_route(topic).body for topic in topics]) == before

        assert peer.unreg(east[0]).code == SUCCESS
        wait_until(lambda: not traces_of(client, [*east, west], [*topics, only_b]), "everything to be gone", GONE_S)


def test_F033_all_brokers_of_a_closed_connection_leave(
    shared_server: StartServer, names: Names, compatibility_lines: list[str]
) -> None:
    """Apache RocketMQ NameServer 5.5.0 removes one of them at once, the others when their timeouts pass."""
    server = shared_server(scanNotActiveBrokerInterval=SCAN_MS)
    inside = [names.broker(f"container-{number}") for number in (1, 2, 3)]
    own, moved = names.broker("own"), names.broker("moved")
    topics = [names("T"), names("U")]
    with Peer(server.address) as of_own, Peer(server.address) as elsewhere, Peer(server.address) as client:
        with Peer(server.address) as shared:
            for broker in (*inside, moved):
                shared.registered(broker, topics_named(*topics))
            of_own.registered(own, topics_named(*topics))
            elsewhere.registered(moved, topics_named(*topics))
            assert len(client.routed(topics[0]).brokers) == 5
        wait_until(lambda: not traces_of(client, inside, topics), "all of the shared connection to be gone", GONE_S)
        assert set(client.routed(topics[0]).brokers) == {own.name, moved.name}, "its current connection is what counts"
        assert sorted(client.cluster().clusters[names("C")]) == sorted([str(own.name), str(moved.name)])
        elsewhere.abort()
        wait_until(lambda: not traces_of(client, [moved], topics), "a broker whose connection was reset to go", GONE_S)
        assert client.routed(topics[0]).brokers == {own.name: {MASTER: own.addr}}
    assert any("F033" in line for line in compatibility_lines), "the row of docs/compatibility.md"


def test_F034_only_silent_connections_are_closed_at_the_limit(own_server: StartServer, names: Names) -> None:
    limit_s, silent_count, active_count, half_count = 2, 50, 50, 5
    server = own_server(serverChannelMaxIdleTimeSeconds=limit_s)
    broker = names.broker()
    whole = encode_request(105, {"topic": names("T")}, opaque=1)
    with (
        Peer(server.address) as of_broker,
        peers(server.address, silent_count) as silent,
        peers(server.address, active_count) as active,
        peers(server.address, half_count) as halves,
    ):
        of_broker.registered(broker, topics_named(names("T"), names("U")))
        begin = time.monotonic()
        for peer in halves:
            peer.send(whole[: len(whole) // 2])
        waiting, closed_after = [*silent, *halves], []
        while waiting or time.monotonic() - begin < 1.5 * limit_s + 0.5:
            assert time.monotonic() - begin < 3 * limit_s, f"{len(waiting)} silent connections are still open"
            for peer in active:
                assert peer.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
            of_broker.heartbeat(broker)
            for closed in is_readable(waiting, seconds=limit_s / 10):
                closed.expect_closed(1)
                closed_after.append(time.monotonic() - begin)
                waiting = [peer for peer in waiting if peer is not closed]
        assert len(closed_after) == silent_count + half_count
        assert limit_s - 1 <= min(closed_after), closed_after
        assert max(closed_after) <= limit_s + 1, closed_after


def test_F034_the_limit_is_documented(pytestconfig: pytest.Config) -> None:
    pages = (pytestconfig.rootpath / "docs").rglob("*.md")
    assert any("serverChannelMaxIdleTimeSeconds" in page.read_text(encoding="utf-8") for page in pages)


def test_F035_a_broker_that_speaks_is_never_scanned_away(own_server: StartServer, names: Names) -> None:
    timeout_s = 2.0
    server = own_server(scanNotActiveBrokerInterval=50)
    broker = names.broker(heartbeat_timeout_millis=int(timeout_s * 1000))
    with Peer(server.address) as peer, Peer(server.address) as client:
        peer.registered(broker, topics_named(names("T"), names("U")))
        begin = next_beat = time.monotonic()

        def has_lived_through() -> bool:
            nonlocal next_beat
            if time.monotonic() >= next_beat:
                peer.heartbeat(broker)
                next_beat += timeout_s / 4
            assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}
            return time.monotonic() - begin > 1.5 * timeout_s

        wait_until(has_lived_through, "one and a half timeouts to pass")


def test_F035_the_scan_is_a_period_in_milliseconds_from_the_start(own_server: StartServer, names: Names) -> None:
    period_s = 1.5
    before_start = time.monotonic()
    server = own_server(scanNotActiveBrokerInterval=int(period_s * 1000))
    ready = time.monotonic()
    with Peer(server.address) as client:
        for round_number in (1, 2):
            with Peer(server.address) as peer:
                peer.registered(names.broker(heartbeat_timeout_millis=0), [])
                wait_until(lambda: names("broker-a") not in client.cluster().brokers, "a scan", within_s=period_s + 2)
                scanned = time.monotonic()
            assert scanned >= before_start + round_number * period_s
            assert scanned <= ready + round_number * period_s + 1


def test_F036_heartbeats_of_unknown_brokers_make_nothing(shared_server: StartServer, names: Names) -> None:
    server = shared_server(scanNotActiveBrokerInterval=SCAN_MS)
    timeout_s = 0.5
    broker = names.broker(heartbeat_timeout_millis=int(timeout_s * 1000))
    unknown = names.broker("unknown", addr=f"{names('host')}:10911")
    topics = [names("T"), names("U")]
    with Peer(server.address) as peer, Peer(server.address) as client:
        for _ in range(5):
            answer = peer.heartbeat(unknown)
            assert (answer.code, answer.body) == (SUCCESS, b"")
        assert traces_of(client, [unknown], topics) == []
        assert names("C") not in client.cluster().clusters
        wait_for_line(server, event="heartbeat.unknown", addr=unknown.addr)
        assert len(log_lines(server, event="heartbeat.unknown", addr=unknown.addr)) == 1

        peer.registered(broker, topics_named(*topics))
        begin = time.monotonic()

        def has_outlived_its_timeout() -> bool:
            assert peer.heartbeat(broker).code == SUCCESS
            assert client.routed(topics[0]).brokers == {broker.name: {MASTER: broker.addr}}
            return time.monotonic() - begin > 4 * timeout_s

        wait_until(has_outlived_its_timeout, "four timeouts to pass")

        elsewhere = names.broker(cluster="wrong", addr=broker.addr)
        begin = time.monotonic()

        def is_gone() -> bool:
            assert client.heartbeat(elsewhere).code == SUCCESS
            return client.route(topics[0]) is None

        wait_until(is_gone, "the expiry, in spite of heartbeats for another cluster", within_s=timeout_s + 2)
        assert time.monotonic() - begin >= timeout_s - 0.2
        assert traces_of(client, [broker, elsewhere], topics) == []
