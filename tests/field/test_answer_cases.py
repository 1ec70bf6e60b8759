"""Field cases about what an answer says: of topics that have no route, and of addresses as brokers announce them."""

# ruff: noqa: N802  # case ids are written in capitals

import json
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.field_brokers import Listener
from tests.support.peer import GROUP, MASTER, NO_ROUTE, ROUTE, SUCCESS, SYSTOPICS, Peer, topics_named
from tests.support.server_log import wait_for_line
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until
from tests.support.wire import Answer, Codec, frame

CODECS: Final = pytest.mark.parametrize("codec", ["JSON", "ROCKETMQ"])
VERSIONS: Final = (0, 317, 399, 413, 513)
"""What clients of many releases and languages send."""
FAQ: Final = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."


def is_a_miss(answer: Answer, topic: str) -> None:
    """Fail unless the answer is the one that every client library understands as "no such topic"."""
    assert answer.code == NO_ROUTE
    assert answer.remark == f"No topic route info in name server for the topic: {topic}{FAQ}"
    assert answer.body == b""


@CODECS
def test_F019_a_topic_whose_brokers_are_gone(server: ServerProcess, names: Names, codec: Codec) -> None:
    broker, topics = names.broker(), [names("T"), names("U")]
    with Peer(server.address) as peer, Peer(server.address) as client:
        for how in ("unregister", "delete"):
            peer.registered(broker, topics_named(*topics))
            assert client.ask_route(topics[0], codec=codec).code == SUCCESS
            if how == "unregister":
                assert peer.unreg(broker).code == SUCCESS
            else:
                assert all(peer.delete_topic(topic).code == SUCCESS for topic in topics)
            for version in VERSIONS:
                for ext in ({}, {"acceptStandardJsonOnly": "true"}, {"__ZONE_MODE": "true", "__ZONE_NAME": "z"}):
                    is_a_miss(client.ask_route(topics[0], ext, version=version, codec=codec), topics[0])
            assert topics[0] not in client.topics()


@CODECS
@pytest.mark.parametrize(
    "topic", ["never seen", "火箭", "a" * 1024, "a\nb", '"quoted"', "%RETRY%group", "TBW102", "null"]
)
def test_F019_a_topic_that_was_never_there(server: ServerProcess, codec: Codec, topic: str) -> None:
    with Peer(server.address) as client:
        for version in VERSIONS:
            is_a_miss(client.ask_route(topic, version=version, codec=codec), topic)


@CODECS
def test_F019_no_topic_at_all(server: ServerProcess, names: Names, codec: Codec) -> None:
    """An empty name, no topic field, no fields; in the binary codec an empty text is a missing one."""
    broker = names.broker()
    with Peer(server.address) as peer, Peer(server.address) as client:
        peer.registered(broker, topics_named(names("T"), names("U")))
        for version in VERSIONS:
            is_a_miss(client.ask_route("", version=version, codec=codec), "" if codec == "JSON" else "null")
            for ext in (None, {}, {"Topic": names("T")}, {"acceptStandardJsonOnly": "true"}):
                is_a_miss(client.request(ROUTE, ext, version=version, codec=codec), "null")
        assert client.routed(names("T")).brokers == {broker.name: {MASTER: broker.addr}}, "the connection stays open"


@pytest.mark.parametrize("value", ["null", "{}", "[]", "7", "true"])
def test_F019_a_topic_that_is_no_text(server: ServerProcess, value: str) -> None:
    with Peer(server.address) as client:
        header = f'{{"code":105,"extFields":{{"topic":{value}}},"flag":0,"language":"JAVA","opaque":9,"version":399}}'
        client.send(frame(header.encode()))
        answer = client.answer_to(9)
        assert (answer.code, answer.body) == (NO_ROUTE, b"")
        assert client.ask_route("x").code == NO_ROUTE, "the connection stays open"


def test_F024_announced_addresses_come_back_as_they_are(server: ServerProcess, names: Names) -> None:
    """The admin view of peers does not exist yet; the log line of the registration names the peer."""
    announced = {
        "container": "172.17.0.5:10911",
        "name": "broker.internal:10911",
        "elsewhere": "198.51.100.7:10911",
        "v6": "[2001:db8::7]:10911",
        "odd": " Broker_A.Example:010911 ",
    }
    topic = names("T")
    with Peer(server.address) as peer, Peer(server.address) as client:
        brokers = {
            kind: names.broker(kind, addr=address, ha_addr=f"203.0.113.9:{port}")
            for port, (kind, address) in enumerate(announced.items(), 20912)
        }
        for kind, broker in brokers.items():
            peer.registered(broker, topics_named(topic, names("U")))
            line = wait_for_line(server, event="broker.registered", broker=broker.name)
            assert (line["addr"], line["peer"]) == (announced[kind], peer.local_address)
        everywhere = {broker.name: {MASTER: announced[kind]} for kind, broker in brokers.items()}
        assert client.routed(topic).brokers == everywhere
        for version in (399, 513):
            route = client.ask_route(topic, version=version).body.decode()
            assert all(json.dumps(address, ensure_ascii=False) in route for address in announced.values())
            assert "127.0.0.1" not in route
        cluster = client.cluster()
        assert {name: cluster.brokers[str(name)] for name in everywhere} == everywhere
        for kind, broker in brokers.items():
            answer = client.request(GROUP, {"clusterName": names("C"), "brokerName": broker.name})
            assert answer.json()["brokerMemberGroup"]["brokerAddrs"] == {MASTER: announced[kind]}
            assert b"127.0.0.1" not in answer.body
            slave = names.broker(kind, 1, ha_addr="203.0.113.10:1")
            told = peer.registered(slave, topics_named(topic, names("U"))).ext
            assert told == {"masterAddr": announced[kind], "haServerAddr": broker.ha_addr}, "to slaves as well"
        assert "127.0.0.1" not in client.request(SYSTOPICS).json()["brokerAddr"]


def test_F024_notices_too_carry_what_was_announced(shared_server: StartServer, names: Names) -> None:
    """A notice goes to the announced address, not to where the registration came from."""
    server = shared_server(notifyMinBrokerIdChanged=True)
    with Listener("127.0.0.2") as slave, Peer(server.address) as peer:
        master = names.broker("broker-a", 0, addr="broker.internal:10911", ha_addr="ha.internal:10912")
        for broker in (names.broker("broker-a", 1, addr=slave.address), master):
            peer.registered(broker, topics_named(names("T"), names("U")))
        wait_until(lambda: slave.frames, "the notice", within_s=5)
        assert slave.frames[0].ext == {
            "minBrokerId": "0",
            "minBrokerAddr": "broker.internal:10911",
            "haBrokerAddr": "ha.internal:10912",
        }


def test_F024_a_proxy_changes_the_log_line_only(server: ServerProcess, names: Names) -> None:
    broker = names.broker(addr="172.17.0.5:10911")
    with Peer(server.address, preface=b"PROXY TCP4 192.0.2.77 192.0.2.1 4711 9876\r\n") as peer:
        peer.registered(broker, topics_named(names("T"), names("U")))
        assert peer.routed(names("T")).brokers == {broker.name: {MASTER: "172.17.0.5:10911"}}
        assert wait_for_line(server, event="broker.registered", broker=broker.name)["peer"] == "192.0.2.77:4711"
