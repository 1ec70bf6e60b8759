"""Field cases about write permission that is taken away, and about brokers that come back with less."""

# ruff: noqa: N802  # case ids are written in capitals

import contextlib
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import MASTER, ROUTE, SUCCESS, WIPE, Peer, numbered, peers, read_route, topics_named
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Broker, Codec, encode_request, topic_config

ALWAYS_ON: Final = 50
ORDER: Final = "ORDER_TOPIC_CONFIG"
VERSIONS: Final = (399, 513)
"""A client of each JSON dialect."""
CODECS: Final[tuple[Codec, ...]] = ("JSON", "ROCKETMQ")


def perms_seen(peer: Peer, topic: str) -> set[int]:
    """Return the permissions that clients of every kind see in the route of a topic."""
    asked: list[Answer] = [
        peer.ask_route(topic, ext, version=version, codec=codec)
        for version in VERSIONS
        for codec in CODECS
        for ext in ({}, {"acceptStandardJsonOnly": "true"}, {"__ZONE_MODE": "true", "__ZONE_NAME": "z"})
    ]
    return {perm for answer in asked for perm in read_route(answer).perms.values()}


def test_F017_the_next_route_after_a_wipe_has_no_write(shared_server: StartServer, names: Names) -> None:
    """The count of a wipe is large (2,000 topics); the asked-for topics are in every cache beforehand."""
    servers = [shared_server(), shared_server(orderMessageEnable=True)]
    broker, table = names.broker(zone="z"), numbered(names("T"), 2_000)
    with contextlib.ExitStack() as stack:
        brokers = [stack.enter_context(Peer(server.address)) for server in servers]
        lines = [stack.enter_context(peers(server.address, ALWAYS_ON)) for server in servers]
        for of_broker in brokers:
            of_broker.registered(broker, topics_named(*table))
        assert lines[1][0].put_kv(ORDER, table[0], "broker-a:4").code == SUCCESS
        for _ in range(2):
            for of_server in lines:
                assert all(perms_seen(line, table[0]) == {6} for line in of_server[::10])
                assert all(perms_seen(of_server[0], topic) == {6} for topic in table[::200])

            for of_server in lines:
                assert of_server[0].wipe(names("broker-a")) == len(table)
            for server, of_server in zip(servers, lines, strict=True):
                for at, line in enumerate(of_server):
                    assert line.routed(table[0]).perms == {broker.name: 4}, f"the open connection {at}"
                for _ in range(ALWAYS_ON):
                    with Peer(server.address) as new:
                        assert new.routed(table[0]).perms == {broker.name: 4}
                assert all(perms_seen(line, table[0]) == {4} for line in of_server[::10])
                assert all(perms_seen(of_server[0], topic) == {4} for topic in table[::200])

            for of_server in lines:
                assert of_server[0].add_perm(names("broker-a")) == len(table)
                assert all(line.routed(table[0]).perms == {broker.name: 6} for line in of_server)


def test_F017_a_route_that_is_asked_right_behind_the_wipe(server: ServerProcess, names: Names) -> None:
    """Route, wipe and route in one packet; and the routes that other connections asked before are the old ones."""
    broker, topics = names.broker(), numbered(names("T"), 3)
    with Peer(server.address) as of_broker, Peer(server.address) as peer:
        of_broker.registered(broker, topics_named(*topics))
        before, after = range(10, 14), range(20, 24)
        for _ in range(20):
            questions = {at: encode_request(ROUTE, {"topic": topics[0]}, opaque=at) for at in (*before, *after)}
            wipe = encode_request(WIPE, {"brokerName": names("broker-a")}, opaque=15)
            peer.send(b"".join([*(questions[at] for at in before), wipe, *(questions[at] for at in after)]))
            seen = {at: read_route(peer.answer_to(at)).perms[names("broker-a")] for at in (*before, *after)}
            assert peer.answer_to(15).ext == {"wipeTopicCount": "3"}
            assert {seen[at] for at in before} == {6}
            assert {seen[at] for at in after} == {4}
            assert peer.add_perm(names("broker-a")) == 3


@pytest.mark.parametrize("how", ["unregister", "close", "reset"])
@pytest.mark.parametrize("is_version_old", [False, True])
def test_F018_a_broker_that_comes_back_with_less_has_just_that(
    server: ServerProcess, names: Names, how: str, *, is_version_old: bool
) -> None:
    """Whatever its data version is, and however it left."""
    broker, topics = names.broker(), numbered(names("T"), 40)
    came_back = {topics[0]: 6, topics[7]: 4, topics[39]: 2}
    with Peer(server.address) as of_broker, Peer(server.address) as client:
        of_broker.registered(broker, topics_named(*topics), 5)
        assert client.wipe(names("broker-a")) == 40
        assert {client.routed(topic).perms[names("broker-a")] for topic in topics} == {4}
        leave(of_broker, broker, how)
        wait_until(lambda: client.topics_of(names("C")) == [], "the broker to be gone", within_s=1)
        assert [client.route(topic) for topic in topics] == [None] * 40
        assert names("C") not in client.cluster().clusters

        with Peer(server.address) as again:
            table = [topic_config(topic, perm=perm) for topic, perm in came_back.items()]
            again.registered(broker, table, 5 if is_version_old else 9)
            for topic in topics:
                if topic not in came_back:
                    assert client.route(topic) is None
                    continue
                route = client.routed(topic)
                assert route.brokers == {broker.name: {MASTER: broker.addr}}
                assert route.perms == {broker.name: came_back[topic]}, "as announced: no wipe is remembered"
            assert sorted(client.topics_of(names("C"))) == sorted(came_back)
            assert client.wipe(names("broker-a")) == client.add_perm(names("broker-a")) == 3


def leave(peer: Peer, broker: Broker, how: str) -> None:
    """Take a broker away."""
    match how:
        case "unregister":
            assert peer.unreg(broker).code == SUCCESS
        case "close":
            peer.end_sending()
        case _:
            peer.abort()
