"""A server that explains itself: the facts that its HTTP API collects."""

import contextlib
from pathlib import Path
from typing import Any

from tests.support import wire
from tests.support.http_plane import Plane, plane

A = wire.Broker(name="broker-a", cluster="C", id=0, addr="10.0.0.5:10911")


async def register(seen: Plane, names: list[str], broker: wire.Broker = A) -> Any:
    peer = await seen.wire()
    body = wire.register_body([wire.topic_config(name) for name in (*names, "another")])
    assert (await peer.request(103, wire.registration_ext(broker), body)).code == 0
    return peer


async def why(seen: Plane, what: str) -> dict[str, Any]:
    found: dict[str, Any] = await seen.json(f"/api/v1/{what}/why")
    return found


async def test_a_topic_whose_broker_left(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await register(seen, ["orders"])
        assert (await why(seen, "topics/orders"))["is_well"]
        assert (await peer.request(104, wire.registration_ext(A))).code == 0
        found = await why(seen, "topics/orders")
        assert (found["situation"], found["is_well"]) == ("brokers_unregistered", False)
        assert found["commands"] == [f"cosmodrome why --broker broker-a -n {seen.run.server.address}"]
        assert found["facts"]["server"]["came"] == ["broker-a"]
        assert (await why(seen, "topics/never"))["situation"] == "all_brokers_gone"
        assert (await why(seen, "brokers/broker-a"))["situation"] == "gone_unregistered"


async def test_a_deleted_topic_and_a_misspelt_one(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await register(seen, ["orders", "payments"])
        assert (await peer.request(216, {"topic": "orders"})).code == 0
        assert (await why(seen, "topics/orders"))["situation"] == "deleted"
        assert (await peer.request(105, {"topic": "paymets"})).code == 17
        found = await why(seen, "topics/paymets")
        assert found["situation"] == "misspelt"
        assert {each["situation"] for each in found["evidence"]} >= {"misspelt", "missed", "no_auto_creation"}


async def test_who_wiped_the_write_permission(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await register(seen, ["orders"])
        assert (await peer.request(205, {"brokerName": "broker-a"})).code == 0
        for what in ("topics/orders", "brokers/broker-a"):
            found = await why(seen, what)
            assert found["situation"] == "perm_wiped"
            assert "by 127.0.0.1" in found["evidence"][0]["text"]
        assert (await peer.request(327, {"brokerName": "broker-a"})).code == 0
        assert (await why(seen, "topics/orders"))["is_well"]


async def test_a_broker_whose_connection_is_gone(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await register(seen, ["orders"])
        await peer.close()
        async with contextlib.AsyncExitStack():
            found = await why(seen, "topics/orders")
            while found["is_well"]:
                found = await why(seen, "topics/orders")
        assert found["situation"] == "brokers_closed"
        assert (await why(seen, "brokers/broker-a"))["situation"] == "gone_closed"


async def test_what_other_servers_know(tmp_path: Path) -> None:
    async with plane(tmp_path / "other") as other:
        await register(other, ["orders"])
        address = other.run.server.address
        async with plane(tmp_path / "one", peer_servers=f"{address};127.0.0.1:1") as seen:
            found = await why(seen, "topics/orders")
            assert found["situation"] == "elsewhere"
            assert [each["situation"] for each in found["evidence"]][-1] == "peer_silent"
            assert (await why(seen, "brokers/broker-a"))["situation"] == "elsewhere"


async def test_auto_creation_and_ordered_topics(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await register(seen, ["TBW102"])
        put = {"namespace": "ORDER_TOPIC_CONFIG", "key": "new", "value": "broker-a:4"}
        assert (await peer.request(100, put)).code == 0
        found = await why(seen, "topics/new")
        assert found["situation"] in {"auto_creation", "just_started"}
        assert {each["situation"] for each in found["evidence"]} >= {"auto_creation", "order_conf"}


async def test_a_server_that_does_not_serve_yet(tmp_path: Path) -> None:
    async with plane(tmp_path, need_wait_for_service=True, wait_seconds_for_service=300) as seen:
        assert (await why(seen, "topics/orders"))["situation"] == "not_ready"


async def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    async with plane(tmp_path, max_name_length=300) as seen:
        await register(seen, ["orders"])
        assert (await why(seen, f"topics/{'x' * 301}"))["situation"] == "refused_name"
