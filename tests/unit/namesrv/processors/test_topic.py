"""Requests about topics."""

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire

A = wire.Broker(name="broker-a")
TABLE = [wire.topic_config("T1"), wire.topic_config("Unit", sys_flag=1), wire.topic_config("Sub", sys_flag=2)]
NAMES = ["Sub", "T1", "Unit"]


async def listed(peer: AsyncWire, code: int, fields: wire.Ext | None = None) -> list[str]:
    answer = await peer.request(code, fields)
    assert (answer.code, answer.remark, answer.ext) == (0, None, None)
    return sorted(answer.json()["topicList"])


async def test_lists(peer: AsyncWire) -> None:
    await peer.register(A, TABLE)

    assert await listed(peer, 206) == NAMES
    assert await listed(peer, 224, {"cluster": "DefaultCluster"}) == NAMES
    assert await listed(peer, 224, {"cluster": "?"}) == []
    assert await listed(peer, 224) == []
    assert await listed(peer, 304) == ["DefaultCluster", "broker-a"]
    assert (await listed(peer, 311), await listed(peer, 312), await listed(peer, 313)) == (["Unit"], ["Sub"], ["Sub"])


async def test_an_empty_server(peer: AsyncWire) -> None:
    for code in (206, 224, 304, 311, 312, 313):
        assert (await peer.request(code)).body == b'{"topicList":[]}'


async def test_304_names_a_broker_address(peer: AsyncWire) -> None:
    await peer.register(wire.Broker(name="broker-a", id=1, addr="10.0.0.2:1"), TABLE)
    await peer.register(A, TABLE)

    assert (await peer.request(304)).json()["brokerAddr"] == "10.0.0.1:10911"


@pytest.mark.parametrize(("key", "codes"), [(b"enableAllTopicList", [206]), (b"enableTopicList", [224, 311, 312, 313])])
async def test_lists_may_be_switched_off(peer: AsyncWire, key: bytes, codes: list[int]) -> None:
    await peer.request(318, None, key + b"=false")
    for code in codes:
        answer = await peer.request(code)
        assert (answer.code, answer.remark, answer.body) == (1, "disable", b"")
    assert (await peer.request(304)).code == 0
    await peer.request(318, None, key + b"=true")
    assert (await peer.request(codes[0])).code == 0


QUEUES = b'{"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}'


async def test_registering_a_topic(peer: AsyncWire) -> None:
    await peer.register(A, TABLE)

    answer = await peer.request(217, {"topic": "New"}, QUEUES)
    assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, b"")
    route = (await peer.request(105, {"topic": "New"})).json()
    assert route["queueDatas"][0]["readQueueNums"] == 8


@pytest.mark.parametrize(
    ("fields", "body"), [({"topic": "N"}, b""), ({"topic": ""}, QUEUES), ({}, QUEUES), (None, b"")]
)
async def test_what_names_no_topic_or_no_queues_does_nothing(
    peer: AsyncWire, fields: wire.Ext | None, body: bytes
) -> None:
    """Very old clients mean another request by 217."""
    await peer.register(A, TABLE)

    assert (await peer.request(217, fields, body)).code == 0
    assert await listed(peer, 206) == NAMES


async def test_a_topic_that_cannot_be_read(peer: AsyncWire) -> None:
    answer = await peer.request(217, {"topic": "N"}, b"[]")

    assert (answer.code, answer.remark) == (1, "the body is not a TopicRouteData")


async def test_deleting(peer: AsyncWire) -> None:
    await peer.register(A, TABLE)

    for fields in (None, {"topic": "?"}, {"topic": "T1", "clusterName": "?"}):
        assert (await peer.request(216, fields)).code == 0
    assert await listed(peer, 206) == NAMES
    assert (await peer.request(216, {"topic": "T1", "clusterName": "DefaultCluster"})).code == 0
    assert (await peer.request(216, {"topic": "Unit", "clusterName": ""})).code == 0
    assert await listed(peer, 206) == ["Sub"]
