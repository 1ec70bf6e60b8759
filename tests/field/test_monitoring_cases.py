"""Field cases: what a scrape says of a server, in whatever state it is."""

import asyncio
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from tests.support import wire
from tests.support.builders import eventually
from tests.support.http_plane import Plane, plane

MOST_BYTES: Final = 100_000
HELD: Final = {
    "rocketmq_nameserver_up",
    "rocketmq_namesrv_ready",
    "rocketmq_namesrv_active_brokers",
    "rocketmq_namesrv_topics",
    "rocketmq_namesrv_connections",
    "rocketmq_namesrv_requests",
    "rocketmq_namesrv_request_duration_seconds",
    "rocketmq_namesrv_unregistrations",
    "rocketmq_namesrv_kv_persist_failures",
    "rocketmq_namesrv_storage_failures",
}
"""What the case asks for: up, ready, what it holds, requests by code and result, latency, evictions, KV failures."""
UP: Final = "rocketmq_nameserver_up{}"
READY: Final = "rocketmq_namesrv_ready{}"
BROKER: Final = wire.Broker(name="broker-a", cluster="C", id=0, addr="10.0.0.1:10911")
CLIENT_TOPIC: Final = "only-clients-know-this"


async def scrape(seen: Plane) -> dict[str, float]:
    """Scrape; what is said in every state is checked here."""
    answer = await seen.http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert len(answer.content) < MOST_BYTES
    assert CLIENT_TOPIC not in answer.text
    assert {family.name for family in text_string_to_metric_families(answer.text)} >= HELD
    metrics = await seen.metrics()
    assert metrics[UP] == 1
    return metrics


async def test_f124_at_the_start_and_while_it_waits_for_brokers(tmp_path: Path) -> None:
    async with plane(tmp_path, need_wait_for_service=True) as seen:
        metrics = await scrape(seen)
        assert (metrics[READY], metrics["rocketmq_namesrv_topics{}"]) == (0, 0)
        peer = await seen.wire()
        await peer.request(
            103, wire.registration_ext(BROKER), wire.register_body([wire.topic_config("T"), wire.topic_config("U")])
        )
        assert (await peer.request(105, {"topic": "T"})).code == 1
        metrics = await scrape(seen)

    assert metrics[READY] == 0
    assert metrics["rocketmq_namesrv_route_lookups_total{result=not_ready}"] == 1
    assert metrics["rocketmq_namesrv_active_brokers{cluster=C,role=master}"] == 1


async def test_f124_in_everyday_life(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await seen.wire()
        topics = [wire.topic_config("T"), wire.topic_config("U")]
        await peer.request(103, wire.registration_ext(BROKER), wire.register_body(topics))
        client = await seen.wire()
        for topic in ("T", CLIENT_TOPIC):
            await client.request(105, {"topic": topic})
        metrics = await scrape(seen)

    code = "request_code=GET_ROUTEINFO_BY_TOPIC"
    assert (metrics[READY], metrics["rocketmq_namesrv_topics{}"]) == (1, 2)
    assert metrics[f"rocketmq_namesrv_requests_total{{{code},response_code=SUCCESS}}"] == 1
    assert metrics[f"rocketmq_namesrv_requests_total{{{code},response_code=TOPIC_NOT_EXIST}}"] == 1
    assert metrics[f"rocketmq_namesrv_request_duration_seconds_count{{{code}}}"] >= 2
    assert metrics["rocketmq_namesrv_connections{role=broker}"] == 1
    assert metrics["rocketmq_namesrv_connections{role=client}"] == 1


async def test_f124_brokers_that_left_by_why(tmp_path: Path) -> None:
    async with plane(tmp_path, scan_not_active_broker_interval=5) as seen:
        for number, way in enumerate(("requested", "heartbeat_expired", "channel_closed")):
            timeout = 100 if way == "heartbeat_expired" else None
            broker = wire.Broker(
                name=way, cluster="C", id=0, addr=f"10.0.0.{number}:1", heartbeat_timeout_millis=timeout
            )
            peer = await seen.wire()
            topics = [wire.topic_config("T"), wire.topic_config("U")]
            await peer.request(103, wire.registration_ext(broker), wire.register_body(topics))
            if way == "requested":
                await peer.request(104, wire.identity_ext(broker) | {"brokerId": "0"})
            if way == "channel_closed":
                await peer.close()
        await eventually(lambda: seen.run.names().count("broker.unregistered") == 3, "the end of all brokers")
        metrics = await scrape(seen)

    for way in ("requested", "heartbeat_expired", "channel_closed"):
        assert metrics[f"rocketmq_namesrv_unregistrations_total{{reason={way}}}"] == 1, way


async def test_f124_when_more_is_asked_than_can_wait(tmp_path: Path) -> None:
    async with plane(tmp_path, max_pending_registrations=1) as seen:
        topics = [wire.topic_config(f"T{number}") for number in range(400)]
        peers = [await seen.wire() for _ in range(8)]
        name = "rocketmq_namesrv_overload_refusals_total{work=registrations}"
        rounds = 0
        while not (await scrape(seen))[name]:
            rounds += 1
            assert rounds < 100, "nothing is refused"
            body = wire.register_body(topics, wire.data_version(rounds))
            brokers = [wire.Broker(name=f"b{n}", cluster="C", id=0, addr=f"10.0.{n}.1:1") for n in range(len(peers))]
            await asyncio.gather(
                *(
                    peer.request(103, wire.registration_ext(broker), body)
                    for peer, broker in zip(peers, brokers, strict=True)
                )
            )
        metrics = await scrape(seen)

    busy = "rocketmq_namesrv_requests_total{request_code=REGISTER_BROKER,response_code=SYSTEM_BUSY}"
    assert metrics[busy] == metrics[name]
    assert metrics[READY] == 1


async def test_f124_when_the_disk_takes_no_kv_entry(tmp_path: Path) -> None:
    folder = tmp_path / "kv"
    async with plane(tmp_path, kv_config_path=str(folder / "kvConfig.json")) as seen:
        peer = await seen.wire()
        entry = {"namespace": "n", "key": "k", "value": "v"}
        folder.rename(tmp_path / "away")
        folder.write_bytes(b"")
        assert (await peer.request(100, entry)).code == 1
        metrics = await scrape(seen)
        assert metrics["rocketmq_namesrv_kv_persist_failures_total{}"] == 1
        assert metrics["rocketmq_namesrv_storage_failures_total{}"] == 1
        assert metrics[READY] == 1, "routes are answered"
        folder.unlink()
        (tmp_path / "away").rename(folder)
        assert (await peer.request(100, entry)).code == 0
        assert (await scrape(seen))["rocketmq_namesrv_kv_persist_failures_total{}"] == 1


async def test_f124_while_it_stops(tmp_path: Path) -> None:
    async with plane(tmp_path, enable_shutdown_gracefully=True, shutdown_wait_time_seconds=2) as seen:
        stopping = asyncio.ensure_future(seen.run.server.stop())
        await eventually(lambda: "server.draining" in seen.run.names(), "the drain")
        metrics = await seen.metrics()
        assert (metrics[UP], metrics[READY]) == (1, 0)
        await stopping


async def test_f124_while_it_is_out_of_use(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        drained = await seen.http.put("/api/v1/drain", json={"draining": True})
        assert drained.status_code == 200, drained.text
        assert (await scrape(seen))[READY] == 0


async def test_f124_with_many_topics_it_is_as_short_as_with_few(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await seen.wire()
        sizes = []
        for count in (2, 10_000):
            topics = [wire.topic_config(f"T{number}") for number in range(count)]
            body = wire.register_body(topics, wire.data_version(count))
            assert (await peer.request(103, wire.registration_ext(BROKER), body)).code == 0
            assert (await scrape(seen))["rocketmq_namesrv_topics{}"] == count
            sizes.append(len((await seen.http.get("/metrics")).content))

    assert sizes[1] < sizes[0] + 1000
