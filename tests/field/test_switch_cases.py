"""Field cases about what can be switched: order settings, listings, and changes of the configuration as such."""

# ruff: noqa: N802  # case ids are written in capitals

import statistics
import time
from pathlib import Path
from typing import Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import (
    CFGSET,
    CLUSTER,
    NO_ROUTE,
    ROUTE,
    SUCCESS,
    SYSTEM_ERROR,
    SYSTOPICS,
    TOPICS,
    TOPICS_OF_CLUSTER,
    UNIT_SUB_NOT_UNIT_TOPICS,
    UNIT_SUB_TOPICS,
    UNIT_TOPICS,
    Peer,
    numbered,
    topics_named,
)
from tests.support.server_process import ServerProcess
from tests.support.shown_keys import change, is_waiting, listing
from tests.support.wire import Answer, topic_config

ORDER: Final = "ORDER_TOPIC_CONFIG"
OTHER_LISTS: Final = (TOPICS_OF_CLUSTER, UNIT_TOPICS, UNIT_SUB_TOPICS, UNIT_SUB_NOT_UNIT_TOPICS)


def order_conf(peer: Peer, topic: str) -> str | None:
    """Return what clients of both dialects see as orderTopicConf; it must be the same for them."""
    seen: set[str | None] = {
        peer.ask_route(topic, version=version).json().get("orderTopicConf") for version in (399, 513)
    }
    assert len(seen) == 1
    return seen.pop()


def test_F054_order_settings_go_where_they_are_switched_to(own_server: StartServer, names: Names) -> None:
    """The bodies were recorded from Apache RocketMQ NameServer 5.5.0."""
    server = own_server()
    master, slave = names.broker("broker-a", 0), names.broker("broker-a", 1)
    topic, other, value = names("T"), names("U"), "broker-a:4;broker-b:4"
    table = f'{{"table":{{"{topic}":"{value}"}}}}'.encode()
    with Peer(server.address) as peer, Peer(server.address) as client:

        def told_to_brokers() -> bytes:
            bodies = {
                peer.registered(broker, topics_named(topic, other), version).body
                for version in (1, 1, 2)
                for broker in (master, slave)
            }
            assert len(bodies) == 1
            return bodies.pop()

        assert told_to_brokers() == b"", "no namespace, no body"
        assert order_conf(client, topic) is None
        assert client.put_kv("other namespace", topic, value).code == SUCCESS
        assert told_to_brokers() == b""

        assert client.put_kv(ORDER, topic, value).code == SUCCESS
        assert told_to_brokers() == table, "on by default"
        assert order_conf(client, topic) is None, "off by default"
        for to_clients, to_brokers in ((True, True), (True, False), (False, False), (False, True)):
            change(server, orderMessageEnable=to_clients, returnOrderTopicConfigToBroker=to_brokers)
            assert told_to_brokers() == (table if to_brokers else b"")
            assert order_conf(client, topic) == (value if to_clients else None)
            assert order_conf(client, other) is None

        change(server, orderMessageEnable=True)
        assert order_conf(client, topic) == value
        assert client.put_kv(ORDER, topic, "broker-a:8").code == SUCCESS
        assert order_conf(client, topic) == "broker-a:8", "a new value is seen in the next route"
        assert client.put_kv(ORDER, "no such topic", value).code == SUCCESS
        assert client.ask_route("no such topic").code == NO_ROUTE
        for key in (topic, "no such topic"):
            assert client.delete_kv(ORDER, key).code == SUCCESS
        assert order_conf(client, topic) is None
        assert told_to_brokers() == b'{"table":{}}', "an emptied namespace is still one"


@pytest.mark.parametrize("how", ["at the start", "by a request"])
def test_F056_expensive_listings_can_be_switched_off(own_server: StartServer, names: Names, how: str) -> None:
    off = {"enableAllTopicList": False, "enableTopicList": False}
    server = own_server(**(off if how == "at the start" else {}))
    broker, topics = names.broker(), numbered(names("T"), 20_000)
    with Peer(server.address) as peer, Peer(server.address) as client:

        def ask(code: int) -> Answer:
            return client.request(code, {"cluster": names("C"), "topic": topics[0]})

        def after_a_change_s(code: int) -> float:
            """Return how long this takes, in the middle of a few tries, with nothing kept from the one before."""
            durations = []
            for number in range(9):
                peer.registered(broker, [topic_config(topics[0], sys_flag=2, read=number + 1)], number)
                begin = time.perf_counter()
                ask(code)
                durations.append(time.perf_counter() - begin)
            return statistics.median(durations)

        peer.registered(broker, [topic_config(topic, sys_flag=3 if at % 2 else 2) for at, topic in enumerate(topics)])
        if how == "by a request":
            assert change(server, **off) == ""
        for code in (TOPICS, *OTHER_LISTS):
            answer = ask(code)
            assert (answer.code, answer.remark, answer.body) == (SYSTEM_ERROR, "disable", b"")
        refused_s = {code: after_a_change_s(code) for code in (TOPICS, *OTHER_LISTS)}
        assert set(ask(SYSTOPICS).json()["topicList"]) == {names("C"), names("broker-a")}
        assert ask(ROUTE).code == ask(CLUSTER).code == SUCCESS

        assert change(server, enableTopicList=True) == ""
        counts = {code: len(ask(code).json()["topicList"]) for code in OTHER_LISTS}
        assert list(counts.values()) == [20_000, 10_000, 20_000, 10_000]
        assert ask(TOPICS).remark == "disable", "each has its own switch"
        assert change(server, enableAllTopicList=True, enableTopicList=False) == ""
        assert len(ask(TOPICS).json()["topicList"]) == 20_000
        assert {ask(code).remark for code in OTHER_LISTS} == {"disable"}
        assert change(server, enableTopicList=True) == ""
        walked_s = max(after_a_change_s(code) for code in OTHER_LISTS)
        assert max(refused_s.values()) < walked_s / 2, "the tables are not walked"


COUNTS: Final = (
    "clientRequestThreadPoolNums",
    "defaultThreadPoolNums",
    "clientRequestThreadPoolQueueCapacity",
    "defaultThreadPoolQueueCapacity",
    "unRegisterBrokerQueueCapacity",
    "serverWorkerThreads",
    "serverSelectorThreads",
    "scanNotActiveBrokerInterval",
)
"""What there must be at least one of."""

SIZES: Final = (
    "serverCallbackExecutorThreads",
    "serverOnewaySemaphoreValue",
    "serverAsyncSemaphoreValue",
    "serverSocketSndBufSize",
    "serverSocketBacklog",
    "writeBufferHighWaterMark",
    "waitSecondsForService",
    "listenPort",
)
NO_NUMBERS: Final = ("", "soon", "12abc", "1.5", "0x10", "1e3", "--1", "1_000", "99999999999999999999", "٣")


def test_F057_bad_values_refuse_the_whole_request(own_server: StartServer, tmp_path: Path) -> None:
    server = own_server()
    with Peer(server.address) as peer:
        before = listing(server)
        bad = [(key, value) for key in COUNTS for value in ("0", "-1", "-2147483648")]
        bad += [(key, "-1") for key in SIZES]
        bad += [(key, text) for key in ("defaultThreadPoolNums", "waitSecondsForService") for text in NO_NUMBERS]
        bad += [(key, text) for key in ("enableTopicList", "clusterTest") for text in ("yes", "1", "", "tru e")]
        for key, value in bad:
            line = f"{key}={value}"
            for lines in (line, f"enableAllTopicList=false\n{line}", f"{line}\nzork=1\norderMessageEnable=true"):
                answer = peer.request(CFGSET, None, lines.encode())
                assert answer.code == SYSTEM_ERROR, lines
                assert key in (answer.remark or ""), lines
                assert "enableAllTopicList" not in (answer.remark or "")
                assert answer.body == b""
        several = peer.request(CFGSET, None, b"defaultThreadPoolNums=0\nlistenPort=x\nenableTopicList=false")
        assert all(key in (several.remark or "") for key in ("defaultThreadPoolNums", "listenPort"))
        assert listing(server) == before
        assert not (tmp_path / "data" / "namesrv.properties").exists()
        assert peer.topics() == peer.topics_of("C") == []


def test_F057_what_is_accepted_is_in_force_or_said_to_wait(own_server: StartServer, tmp_path: Path) -> None:
    server = own_server()
    store = tmp_path / "data" / "namesrv.properties"
    for body in (b"", b"\n", b"# nothing\n", b"zork=1\n"):
        with Peer(server.address) as peer:
            answer = peer.request(CFGSET, None, body)
        remark = "unknown, not stored: zork" if b"zork" in body else None
        assert (answer.code, answer.remark, answer.body) == (SUCCESS, remark, b"")
        assert not store.exists()
    before = listing(server)

    assert change(server, enableTopicList=False, zork=1) == "unknown, not stored: zork"
    assert is_refused(server), "in force at once"
    remark = change(server, clusterTest=True, enableAllTopicList=True, serverSocketBacklog=7, defaultThreadPoolNums=3)
    assert [is_waiting(remark, key) for key in ("clusterTest", "serverSocketBacklog")] == [True, True]
    assert "defaultThreadPoolNums" in remark.partition("without effect")[2]
    assert "enableAllTopicList" not in remark

    changed = {
        "enableTopicList": "false",
        "clusterTest": "true",
        "enableAllTopicList": "true",
        "serverSocketBacklog": "7",
        "defaultThreadPoolNums": "3",
    }
    saved = dict(line.split("=", 1) for line in store.read_text(encoding="utf-8").splitlines())
    assert saved == changed, "what was changed and nothing else"
    listed = listing(server)
    assert listed == before | changed
    again = own_server()
    assert listing(again) == listed | {"listenPort": str(again.port)}
    assert is_refused(again), "survives the restart"


def is_refused(server: ServerProcess) -> bool:
    with Peer(server.address) as peer:
        return peer.request(TOPICS_OF_CLUSTER, {"cluster": "C"}).remark == "disable"
