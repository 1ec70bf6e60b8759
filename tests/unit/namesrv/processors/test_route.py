"""GET_ROUTEINFO_BY_TOPIC."""

from pathlib import Path

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire, Running, eventually, running

from cosmodrome.namesrv.kv_config import ORDER_TOPIC_CONFIG

A = wire.Broker(name="broker-a", zone="z1")
B = wire.Broker(name="broker-b", addr="10.0.0.2:10911", zone="z2")
TWO = [wire.topic_config("T1"), wire.topic_config("T2")]


async def test_no_route(peer: AsyncWire, run: Running) -> None:
    for fields, shown in (({"topic": "nope"}, "nope"), ({}, "null"), (None, "null"), ({"topic": None}, "null")):
        answer = await peer.request(105, fields)

        assert (answer.code, answer.ext, answer.body) == (17, None, b"")
        assert answer.remark == (
            f"No topic route info in name server for the topic: {shown}\n"
            "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
        )
    assert run.names().count("route.missed") == 2, "one for each topic"
    assert run.server.counters.get("route.missed", "unknown_topic") == 4


@pytest.mark.parametrize(
    ("version", "fields", "key"),
    [
        (513, {}, b'{"0":'),
        (401, {}, b'{"0":'),
        (400, {}, b"{0:"),
        (0, {}, b"{0:"),
        (0, {"acceptStandardJsonOnly": "TRUE"}, b'{"0":'),
        (0, {"acceptStandardJsonOnly": "yes"}, b"{0:"),
        (0, {"acceptStandardJsonOnly": None}, b"{0:"),
    ],
)
async def test_the_dialect(peer: AsyncWire, version: int, fields: dict[str, str | None], key: bytes) -> None:
    """Standard JSON from 4.9.4 on, and for who asks for it."""
    await peer.register(A, TWO)

    answer = await peer.request(105, {"topic": "T1"} | fields, version=version)

    assert (answer.code, answer.remark, answer.ext) == (0, None, None)
    assert b'"brokerAddrs":' + key in answer.body


async def test_the_order_configuration_is_in_routes_when_that_is_on(peer: AsyncWire) -> None:
    await peer.register(A, TWO)
    await peer.request(100, {"namespace": ORDER_TOPIC_CONFIG, "key": "T1", "value": "broker-a:4"})
    assert "orderTopicConf" not in (await peer.request(105, {"topic": "T1"})).json()

    await peer.request(318, None, b"orderMessageEnable=true")
    assert (await peer.request(105, {"topic": "T1"})).json()["orderTopicConf"] == "broker-a:4"
    assert "orderTopicConf" not in (await peer.request(105, {"topic": "T2"})).json()


@pytest.mark.parametrize(
    ("fields", "brokers"),
    [
        ({"__ZONE_MODE": "true", "__ZONE_NAME": "Z1"}, ["broker-a"]),
        ({"__ZONE_MODE": "TRUE", "__ZONE_NAME": "z3"}, []),
        ({"__ZONE_MODE": "false", "__ZONE_NAME": "z1"}, ["broker-a", "broker-b"]),
        ({"__ZONE_MODE": "true", "__ZONE_NAME": "  "}, ["broker-a", "broker-b"]),
        ({"__ZONE_MODE": "true"}, ["broker-a", "broker-b"]),
        ({"__ZONE_NAME": "z1"}, ["broker-a", "broker-b"]),
    ],
)
async def test_zones(peer: AsyncWire, fields: dict[str, str | None], brokers: list[str]) -> None:
    """In the dialect that the client asked for, filtered or not."""
    await peer.register(A, TWO)
    await peer.register(B, TWO)
    for version in (513, 317):
        answer = await peer.request(105, {"topic": "T1"} | fields, version=version)
        assert sorted(data["brokerName"] for data in answer.json()["brokerDatas"]) == brokers
        assert (b'"brokerAddrs":{0:' in answer.body) == (version == 317 and brokers != [])


async def test_a_zone_that_changes_nothing_costs_nothing(peer: AsyncWire) -> None:
    await peer.register(A, TWO)
    whole = await peer.request(105, {"topic": "T1"})
    filtered = await peer.request(105, {"topic": "T1", "__ZONE_MODE": "true", "__ZONE_NAME": "z1"})

    assert filtered.body == whole.body


async def test_waiting_for_service(tmp_path: Path) -> None:
    async with running(tmp_path, need_wait_for_service=True, wait_seconds_for_service=1) as run:
        peer = await run.wire()
        await peer.register(A, TWO)
        early = await peer.request(105, {"topic": "T1"})
        assert (early.code, early.remark) == (1, "name server not ready")
        assert "server.ready" not in run.names()

        await eventually(lambda: "server.ready" in run.names(), "the wait to end")
        assert (await peer.request(105, {"topic": "T1"})).code == 0


async def test_cluster_test_asks_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Always in the plain dialect, always with the order configuration; other requests are served here."""
    async with running(tmp_path / "product") as product:
        there = await product.wire()
        await there.register(B, [wire.topic_config("There"), wire.topic_config("Too")])
        monkeypatch.setenv("NAMESRV_ADDR", product.server.address)
        async with running(tmp_path / "test", cluster_test=True) as run:
            peer = await run.wire()
            await peer.register(A, TWO)
            await peer.request(100, {"namespace": ORDER_TOPIC_CONFIG, "key": "T1", "value": "broker-a:4"})

            here = await peer.request(105, {"topic": "T1"})
            assert here.json()["orderTopicConf"] == "broker-a:4"
            assert b"{0:" in here.body
            elsewhere = await peer.request(105, {"topic": "There"})
            assert elsewhere.json()["brokerDatas"][0]["brokerName"] == "broker-b"
            assert b"{0:" in elsewhere.body
            assert (await peer.request(105, {"topic": "nowhere"})).code == 17
            assert (await peer.request(105, {})).code == 17
            assert sorted((await peer.request(206)).json()["topicList"]) == ["T1", "T2"]
