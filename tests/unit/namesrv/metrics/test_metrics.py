"""Metrics of a server that runs, as Prometheus reads them."""

import asyncio
from pathlib import Path

import pytest
from tests.support import wire
from tests.support.builders import eventually
from tests.support.http_plane import Plane, plane

from cosmodrome.metrics import loop_lag
from cosmodrome.metrics.loop_lag import LoopLag

MASTER = wire.Broker(name="a", cluster="C", id=0)
SLAVE = wire.Broker(name="a", cluster="C", id=1, addr="10.0.0.2:10911")
ORDERS = [wire.topic_config("orders", read=8, write=4), wire.topic_config("bills", read=2, write=2)]


async def register(seen: Plane, broker: wire.Broker = MASTER, counter: int = 1) -> None:
    peer = await seen.wire()
    body = wire.register_body(ORDERS, wire.data_version(counter))
    assert (await peer.request(103, wire.registration_ext(broker), body)).code == 0


async def test_it_is_up_before_anything_happened(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        metrics = await seen.metrics()

    assert metrics["rocketmq_nameserver_up{}"] == 1
    assert metrics["rocketmq_namesrv_ready{}"] == 1
    assert metrics["rocketmq_namesrv_topics{}"] == 0
    assert metrics["rocketmq_namesrv_registrations_total{result=new}"] == 0
    assert any(name.startswith("process_resident_memory_bytes") for name in metrics)
    assert any(name.startswith("python_info") for name in metrics)


async def test_who_is_registered(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen)
        await register(seen, SLAVE)
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_active_brokers{cluster=C,role=master}"] == 1
    assert metrics["rocketmq_namesrv_active_brokers{cluster=C,role=slave}"] == 1
    assert 0 <= metrics["rocketmq_namesrv_broker_last_heartbeat_age_seconds{broker=a,broker_id=1,cluster=C}"] < 60
    assert (metrics["rocketmq_namesrv_clusters{}"], metrics["rocketmq_namesrv_topics{}"]) == (1, 2)
    assert metrics["rocketmq_namesrv_queues{access=read}"] == 10
    assert metrics["rocketmq_namesrv_queues{access=write}"] == 6
    assert metrics["rocketmq_namesrv_connections{role=broker}"] == 2
    assert metrics["rocketmq_namesrv_route_table_bytes{}"] > 0


async def test_a_slave_that_acts_as_master_is_called_so(tmp_path: Path) -> None:
    async with plane(tmp_path, support_acting_master=True) as seen:
        slave = wire.Broker(name="a", cluster="C", id=1, addr="10.0.0.2:10911", enable_acting_master=True)
        await register(seen, slave)

        assert (await seen.metrics())["rocketmq_namesrv_active_brokers{cluster=C,role=acting_master}"] == 1


async def test_registrations_by_what_they_said(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await seen.wire()
        for counter in (1, 1, 1, 2):
            body = wire.register_body(ORDERS, wire.data_version(counter))
            await peer.request(103, wire.registration_ext(MASTER), body)
        await peer.request(103, wire.registration_ext(MASTER, crc=7), wire.register_body(ORDERS))
        await peer.request(104, wire.identity_ext(MASTER) | {"brokerId": "0"})
        metrics = await seen.metrics()

    registrations = {word: metrics[f"rocketmq_namesrv_registrations_total{{result={word}}}"]
                     for word in ("new", "changed", "unchanged", "rejected")}  # fmt: skip
    assert registrations == {"new": 1, "changed": 1, "unchanged": 2, "rejected": 0}
    assert metrics["rocketmq_namesrv_unregistrations_total{reason=requested}"] == 1
    assert metrics["rocketmq_namesrv_requests_total{request_code=REGISTER_BROKER,response_code=SYSTEM_ERROR}"] == 1
    assert metrics["rocketmq_namesrv_route_changes_total{kind=topic_added}"] == 2
    assert metrics["rocketmq_namesrv_route_changes_total{kind=topic_removed}"] == 2


async def test_every_route_that_is_asked_for_is_counted_however_it_is_answered(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen)
        peer = await seen.wire()
        bodies = [(await peer.request(105, {"topic": "orders"})).body for _ in range(130)]
        await peer.request(105, {"topic": "?"})
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_route_lookups_total{result=hit}"] == 130
    assert metrics["rocketmq_namesrv_route_lookups_total{result=miss}"] == 1
    code = "request_code=GET_ROUTEINFO_BY_TOPIC"
    assert metrics[f"rocketmq_namesrv_requests_total{{{code},response_code=SUCCESS}}"] == 130
    assert metrics[f"rocketmq_namesrv_response_bytes_total{{{code}}}"] == sum(map(len, bodies))
    assert metrics[f"rocketmq_namesrv_request_duration_seconds_count{{{code}}}"] >= 131
    assert metrics[f"rocketmq_namesrv_request_duration_seconds_bucket{{le=+Inf,{code}}}"] >= 131


async def test_labels_do_not_grow_with_what_peers_send(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        peer = await seen.wire()
        await peer.request(105, {"topic": "?"})
        before = len(await seen.metrics())
        for number in range(200):
            await peer.request(2000 + number, {})
            await peer.request(105, {"topic": f"unknown-{number}"})
        metrics = await seen.metrics()

    assert (
        metrics["rocketmq_namesrv_requests_total{request_code=other,response_code=REQUEST_CODE_NOT_SUPPORTED}"] == 200
    )
    assert len(metrics) < before + 30


async def test_what_changed_what_was_refused_and_who_came_and_went(tmp_path: Path) -> None:
    async with plane(tmp_path, admin_policy="compatible", admin_allow=()) as seen:
        peer = await seen.wire()
        await peer.request(100, {"namespace": "n", "key": "k", "value": "v"})
        await peer.request(102, {"namespace": "n", "key": "k"})
        assert (await peer.request(318, None, b"orderMessageEnable=true")).code == 16
        stranger = await seen.wire()
        stranger.send(b"SSH-2.0-x\r\n")
        await stranger.closed()
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_kv_mutations_total{operation=put}"] == 1
    assert metrics["rocketmq_namesrv_kv_mutations_total{operation=delete}"] == 1
    assert metrics["rocketmq_namesrv_kv_entries{}"] == 1, "the namespace stays"
    assert sum(count for name, count in metrics.items() if "denied_requests_total" in name) == 1
    assert metrics["rocketmq_namesrv_connection_events_total{event=accepted}"] == 2
    assert metrics["rocketmq_namesrv_connection_events_total{event=closed}"] == 1
    assert metrics["rocketmq_namesrv_connection_events_total{event=greeting_refused}"] == 1


async def test_how_late_the_loop_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_lag, "INTERVAL_S", 0.001)
    lag = LoopLag()
    lag.start()
    await eventually(lambda: lag.durations.count >= 3, "three calls")
    lag.stop()
    counted = lag.durations.count
    await asyncio.sleep(0.01)

    assert lag.durations.count == counted
    assert lag.durations.sum_s >= 0


async def test_every_metric_is_in_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "monitoring.md").read_text()
    async with plane(tmp_path) as seen:
        text = (await seen.http.get("/metrics")).text
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE rocketmq_")}

    assert {name for name in names if f"`{name}`" not in page} == set()
    assert len(names) > 25
