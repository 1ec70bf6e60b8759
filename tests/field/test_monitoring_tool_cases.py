"""Field cases: what rocketmq-exporter and rocketmq-dashboard ask a NameServer, in their order.

Both ask through the admin client of rocketmq-tools: the exporter with jars of 4.9, which read any JSON, the dashboard with
those of 5.3.3, which want standard JSON and say so. What they ask brokers is not played here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from tests.support.field import Names, StartServer
from tests.support.peer import (
    CLUSTER,
    DELTOPIC,
    GETKV,
    NO_ROUTE,
    PUTKV,
    ROUTE,
    SUCCESS,
    SYSTOPICS,
    TOPICS,
    TOPICS_OF_CLUSTER,
    UNIT_TOPICS,
    Peer,
    topics_named,
)
from tests.support.wire import Answer, Broker

Asked = tuple[int, dict[str, str]]
OLD_JARS: Final = 399
"""V4_9_3, the last that is answered with integer keys as they are."""
NEW_JARS: Final = 479
"""V5_3_3."""
STANDARD: Final = {"acceptStandardJsonOnly": "true"}


@pytest.fixture
def estate(shared_server: StartServer, names: Names) -> Iterator[tuple[Peer, str, list[Broker]]]:
    """Give a connection of a tool, the name of a cluster, and its two brokers with some topics and a group."""
    server = shared_server()
    brokers = [names.broker("a"), names.broker("b")]
    with Peer(server.address) as first, Peer(server.address) as second, Peer(server.address) as tool:
        for peer, broker in zip((first, second), brokers, strict=True):
            peer.registered(broker, topics_named(names("T"), names("U"), f"%RETRY%{names('G')}"))
        yield tool, names("C"), brokers


def exporter_round(topics: Sequence[str], group: str) -> list[Asked]:
    """Give what one round of its collecting tasks asks: topics, what consumes them, statistics, run-time figures."""
    routes = [(ROUTE, {"topic": topic}) for topic in topics]
    of_group = (ROUTE, {"topic": f"%RETRY%{group}"})
    everything: Asked = (TOPICS, {})
    return [
        everything, *routes,  # offsets of topics
        everything, *(each for route in routes for each in (route, of_group, of_group)),  # offsets of groups
        everything, *routes,  # statistics of topics
        (CLUSTER, {}), (CLUSTER, {}),  # statistics and run-time figures of brokers
    ]  # fmt: skip


def answers_of(tool: Peer, asked: Sequence[Asked], **header: Any) -> list[Answer]:
    """Ask in order over one connection, as the tools do."""
    return [tool.request(code, dict(fields), **header) for code, fields in asked]


def test_an_exporter_s_rounds(estate: tuple[Peer, str, list[Broker]], names: Names) -> None:
    tool, cluster, brokers = estate
    topics = [names("T"), names("U")]
    asked = exporter_round(topics, names("G"))
    rounds = [answers_of(tool, asked, version=OLD_JARS) for _ in range(3)]

    for answers in rounds:
        assert [answer.code for answer in answers] == [SUCCESS] * len(asked)
        for (code, fields), answer in zip(asked, answers, strict=True):
            body = answer.json()
            if code == TOPICS:
                assert {*topics, f"%RETRY%{names('G')}"} <= set(body["topicList"])
            elif code == CLUSTER:
                assert set(body["clusterAddrTable"][cluster]) == {broker.name for broker in brokers}
                for broker in brokers:
                    assert body["brokerAddrTable"][broker.name]["brokerAddrs"] == {"0": broker.addr}
            else:
                assert {data["brokerName"] for data in body["brokerDatas"]} == {broker.name for broker in brokers}, (
                    fields
                )
                assert {data["brokerName"] for data in body["queueDatas"]} == {broker.name for broker in brokers}
    routes = [number for number, (code, _) in enumerate(asked) if code == ROUTE]
    assert {tuple(answers[number].body for number in routes) for answers in rounds} == {
        tuple(rounds[0][number].body for number in routes)
    }


def test_an_exporter_that_asks_for_what_nobody_consumes(estate: tuple[Peer, str, list[Broker]], names: Names) -> None:
    """It logs that and goes on with the next topic, over the same connection."""
    tool, _, _ = estate
    missing = tool.request(ROUTE, {"topic": f"%RETRY%{names('nobody')}"}, version=OLD_JARS)
    assert (missing.code, missing.body) == (NO_ROUTE, b"")
    assert tool.request(ROUTE, {"topic": names("T")}, version=OLD_JARS).code == SUCCESS


def test_the_pages_of_a_dashboard(estate: tuple[Peer, str, list[Broker]], names: Names) -> None:
    tool, cluster, brokers = estate
    pages: dict[str, list[Asked]] = {
        "clusters": [(CLUSTER, {})],
        "topics": [(TOPICS, {}), (SYSTOPICS, {}), (TOPICS_OF_CLUSTER, {"cluster": cluster}), (UNIT_TOPICS, {})],
        "a topic": [(ROUTE, {"topic": names("T")} | STANDARD), (CLUSTER, {})],
        "producers of a topic": [(ROUTE, {"topic": names("T")} | STANDARD)],
        "consumers": [(CLUSTER, {}), (ROUTE, {"topic": f"%RETRY%{names('G')}"} | STANDARD)],
    }
    seen = {page: answers_of(tool, asked, version=NEW_JARS) for page, asked in pages.items()}

    assert {answer.code for answers in seen.values() for answer in answers} == {SUCCESS}
    assert {broker.name for broker in brokers} | {cluster} <= set(seen["topics"][1].json()["topicList"])
    assert names("T") in seen["topics"][2].json()["topicList"]
    for answer in (seen["a topic"][0], seen["consumers"][1]):
        assert b'"brokerAddrs":{"0":' in answer.body, "standard JSON"


def test_a_dashboard_that_makes_orders_and_deletes_a_topic(
    estate: tuple[Peer, str, list[Broker]], names: Names
) -> None:
    tool, cluster, brokers = estate
    order = {"namespace": "ORDER_TOPIC_CONFIG", "key": names("U")}
    assert tool.request(PUTKV, order | {"value": f"{brokers[0].name}:4"}, version=NEW_JARS).code == SUCCESS
    assert tool.request(GETKV, order, version=NEW_JARS).ext == {"value": f"{brokers[0].name}:4"}
    assert tool.request(DELTOPIC, {"topic": names("U"), "clusterName": cluster}, version=NEW_JARS).code == SUCCESS

    assert tool.request(ROUTE, {"topic": names("U")} | STANDARD, version=NEW_JARS).code == NO_ROUTE
    assert names("U") not in tool.request(TOPICS, version=NEW_JARS).json()["topicList"]
    assert tool.request(ROUTE, {"topic": names("T")} | STANDARD, version=NEW_JARS).code == SUCCESS
