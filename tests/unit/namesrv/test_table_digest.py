"""The digest of a server's tables is that which others find by asking it for everything."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support import wire
from tests.support.builders import config_in, registration, topics
from tests.support.http_plane import Plane, plane

from cosmodrome.admin.peers import peer_view
from cosmodrome.client.name_server import NameServerClient
from cosmodrome.namesrv import table_digest
from cosmodrome.namesrv.kv_config import KVConfigStore
from cosmodrome.namesrv.live_config import LiveConfig
from cosmodrome.namesrv.routing.tables import RouteTables
from cosmodrome.namesrv.table_digest import ServerDigest
from cosmodrome.transport.client import RemotingClient

A = wire.Broker(name="a", cluster="C", id=0, addr="10.0.0.1:10911")
A1 = wire.Broker(name="a", cluster="C", id=1, addr="10.0.0.2:10911")
B = wire.Broker(name="b", cluster="D", id=0, addr="10.0.0.3:10911")
TOPICS = [wire.topic_config(f"T{number}", read=number % 3 + 1) for number in range(250)]


async def registered(seen: Plane, *brokers: wire.Broker, topics: list[Any] = TOPICS) -> None:
    for broker in brokers:
        peer = await seen.wire()
        assert (await peer.request(103, wire.registration_ext(broker), wire.register_body(topics))).code == 0


async def digest(seen: Plane) -> str | None:
    found: str | None = (await seen.json("/api/v1/server?digest"))["route_digest"]
    return found


async def found_by_asking(seen: Plane) -> str:
    client = RemotingClient()
    try:
        return (await peer_view(NameServerClient(client, seen.run.server.address, 20.0))).digest
    finally:
        await client.close()


@pytest.mark.parametrize("settings", [{}, {"order_message_enable": True}, {"support_acting_master": True}])
async def test_it_is_what_peers_diff_finds(tmp_path: Path, settings: dict[str, Any]) -> None:
    async with plane(tmp_path, **settings) as seen:
        assert await digest(seen) == await found_by_asking(seen)
        await registered(seen, A, A1, B)
        peer = await seen.wire()
        await peer.request(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "a:4"})
        first = await digest(seen)
        assert first == await found_by_asking(seen)
        await peer.request(205, {"brokerName": "a"})
        second = await digest(seen)
        assert second == await found_by_asking(seen)
        assert second != first


async def test_an_order_of_topics_counts_where_it_is_told(tmp_path: Path) -> None:
    async with plane(tmp_path, order_message_enable=True) as seen:
        await registered(seen, A)
        before = await digest(seen)
        peer = await seen.wire()
        await peer.request(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "a:4"})

        assert await digest(seen) not in (before, None)


async def test_f123_it_is_equal_whatever_the_order_and_names_no_topic_twice(tmp_path: Path) -> None:
    async with plane(tmp_path / "1") as one, plane(tmp_path / "2") as two:
        await registered(one, A, A1, B)
        await registered(two, B, A1, A, topics=TOPICS[::-1])
        assert await digest(one) == await digest(two)
        await registered(two, wire.Broker(name="c", cluster="C", id=0, addr="10.0.0.4:10911"))
        assert await digest(one) != await digest(two)


async def test_it_is_not_looked_for_unless_it_is_wanted(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        assert (await seen.json("/api/v1/server"))["route_digest"] is None


async def test_while_the_tables_change_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_digest, "_PIECE", 1)
    tables = RouteTables()
    tables.register_broker(registration(configs=topics("T1", "T2", "T3")), 0)
    digests = ServerDigest(tables.read, KVConfigStore(tmp_path / "kv.json"), LiveConfig(config_in(tmp_path), None))
    finding = asyncio.ensure_future(digests.current())
    while not finding.done():
        tables.read.revision += 1
        await asyncio.sleep(0)

    assert finding.result() is None
    assert await digests.current() is not None
