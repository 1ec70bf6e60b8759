"""What can be read over HTTP beside the registry and the settings."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.support import wire
from tests.support.builders import AsyncWire, eventually
from tests.support.http_plane import Plane, plane

BROKER = wire.Broker(name="a", cluster="C", id=0)


async def register(seen: Plane, names: list[str], broker: wire.Broker = BROKER) -> AsyncWire:
    peer = await seen.wire()
    # One topic alone counts as an increment of a broker that is known.
    body = wire.register_body([wire.topic_config(name) for name in (*names, "always")])
    assert (await peer.request(103, wire.registration_ext(broker), body, language="JAVA", version=513)).code == 0
    return peer


async def test_connections_come_in_pages_and_say_who_they_are(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        broker = await register(seen, ["T"])
        client = await seen.wire()
        await client.request(105, {"topic": "T"}, language="GO", version=317)
        silent = await seen.wire()
        await eventually(lambda: seen.run.server._server and seen.run.server._server.connection_count == 3, "all")

        first = await seen.json("/api/v1/connections?limit=2")
        second = await seen.json(f"/api/v1/connections?limit=2&cursor={first['next_cursor']}")
        items = first["items"] + second["items"]
        assert second["next_cursor"] is None
        assert [each["address"] for each in items] == [each.local_address for each in (broker, client, silent)]
        assert [(each["role"], each["brokers"], each["language"], each["version"]) for each in items] == [
            ("broker", ["a"], "JAVA", "V5_5_0"),
            ("client", [], "GO", "317"),
            ("unknown", [], None, None),
        ]
        clients = await seen.json("/api/v1/clients")
        assert clients["silent_connections"] == 1
        assert {(each["role"], each["language"], each["connections"], each["hosts"]) for each in clients["items"]} == {
            ("broker", "JAVA", 1, 1),
            ("client", "GO", 1, 1),
        }
        assert (await seen.json("/api/v1/connections?cursor=x", 400))["status"] == 400


async def test_missed_topics_are_told_until_they_have_a_route(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await seen.wire()
        for name in ("order-event", "order-event", "other"):
            assert (await peer.request(105, {"topic": name})).code == 17
        missed = await seen.json("/api/v1/misses")
        assert [(each["topic"], each["count"], each["at_most_over"]) for each in missed["items"]] == [
            ("order-event", 2, 0),
            ("other", 1, 0),
        ]
        assert missed["items"][0]["askers"] == [{"host": "127.0.0.1", "count": 2}]
        assert missed["items"][0]["first_at"] <= missed["items"][0]["last_at"]
        assert missed["total"] == 3
        first = await seen.json("/api/v1/misses?limit=1")
        second = await seen.json(f"/api/v1/misses?limit=1&cursor={first['next_cursor']}")
        assert (second["items"][0]["topic"], second["next_cursor"]) == ("other", None)
        await register(seen, ["order-event"])
        assert [each["topic"] for each in (await seen.json("/api/v1/misses"))["items"]] == ["other"]
        assert (await seen.json("/api/v1/misses?prefix=z"))["items"] == []


async def test_other_name_servers_are_asked_and_compared(tmp_path: Path) -> None:
    async with plane(tmp_path / "other") as other:
        await register(other, ["T"])
        await register(other, ["T"], wire.Broker(name="b", cluster="C", addr="10.0.0.2:10911"))
        gone = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
        silent = f"127.0.0.1:{gone.sockets[0].getsockname()[1]}"
        address = other.run.server.address
        async with gone, plane(tmp_path / "ours", peer_servers=f"{address}; {silent};") as seen:
            await register(seen, ["T"])
            first, second = (await seen.json("/api/v1/peers"))["items"]
            assert (first["address"], first["source"], first["reachable"]) == (address, "peerServers", True)
            assert (first["brokers"], first["differences"]) == (2, 1)
            assert (first["brokers_only_here"], first["brokers_only_there"]) == ([], ["C/b@0=10.0.0.2:10911"])
            assert (second["address"], second["reachable"], second["brokers"]) == (silent, False, None)
            assert second["error"]
            assert (await seen.json("/api/v1/peers"))["items"][0]["asked_at"] == first["asked_at"], "not so soon again"


async def test_the_audit_log_comes_latest_first(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        assert (await seen.json("/api/v1/audit"))["items"] == []
        for number in range(5):
            await seen.http.put(f"/api/v1/kv/N/k{number}", json={"value": "v"})
        await seen.http.put("/api/v1/drain", json={"draining": True})
        first = await seen.json("/api/v1/audit?limit=4")
        second = await seen.json(f"/api/v1/audit?limit=4&cursor={first['next_cursor']}")
        lines = first["items"] + second["items"]
        assert [line["request"] for line in lines] == ["DRAIN", *["PUT_KV_CONFIG"] * 5]
        assert [line["target"].get("key") for line in lines[1:]] == ["k4", "k3", "k2", "k1", "k0"]
        assert second["next_cursor"] is None
        assert len((await seen.json("/api/v1/audit?request=drain"))["items"]) == 1
        assert len((await seen.json("/api/v1/audit?text=k3&from=2020-01-01T00:00:00Z"))["items"]) == 1
        assert (await seen.json("/api/v1/audit?to=2020-01-01T00:00:00Z"))["items"] == []
        assert (await seen.json("/api/v1/audit?from=yesterday", 400))["code"] == "bad_time"


async def test_without_an_audit_log_there_is_none(tmp_path: Path) -> None:
    async with plane(tmp_path, audit_log="off") as seen:
        assert (await seen.json("/api/v1/audit", 404))["code"] == "not_audited"


async def test_a_snapshot_holds_everything(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        names = [f"T{number}" for number in range(450)]
        await register(seen, names)
        await seen.http.put("/api/v1/kv/N/K", json={"value": "v"})
        said = await seen.json("/api/v1/snapshot")

        assert (said["format"], said["format_version"]) == ("cosmodrome-registry", 1)
        assert said["revision"] == said["revision_at_end"]
        assert [(each["broker_name"], each["broker_id"], each["role"]) for each in said["brokers"]] == [
            ("a", 0, "master")
        ]
        assert {each["topic"] for each in said["topics"]} == {*names, "always"}
        assert said["topics"][0]["queues"] == [
            {
                "broker_name": "a",
                "perm": 6,
                "read_queue_nums": 8,
                "write_queue_nums": 8,
                "topic_sys_flag": 0,
            }
        ]
        assert said["kv"] == [{"namespace": "N", "entries": {"K": "v"}}]
        assert said["settings"]["listenPort"] == seen.run.server.address.rpartition(":")[2]


async def test_a_snapshot_tells_that_something_changed_meanwhile(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen, [f"T{number}" for number in range(1000)])
        async with seen.http.stream("GET", "/api/v1/snapshot") as answer:
            parts = answer.aiter_bytes()
            data = await anext(parts)
            assert (await (await seen.wire()).request(216, {"topic": "T999"})).code == 0
            data += b"".join([part async for part in parts])
        said = json.loads(data)
        changed = said["revision"] != said["revision_at_end"]
        assert changed or len(said["topics"]) == 1001, "it says so, or was over before"


async def test_the_first_page_leads_on(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        page = await seen.http.get("/")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        for link in page.text.split('href="')[1:]:
            assert (await seen.http.get(link.partition('"')[0])).status_code == 200


@pytest.mark.parametrize("path", ["server", "clusters", "brokers", "topics", "kv", "config", "drain", "misses"])
async def test_heads_have_no_body(tmp_path: Path, path: str) -> None:
    async with plane(tmp_path) as seen:
        answer = await seen.http.head(f"/api/v1/{path}")
        assert (answer.status_code, answer.content, answer.headers["cache-control"]) == (200, b"", "no-store")
