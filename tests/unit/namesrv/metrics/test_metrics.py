"""Metrics of a server that runs, as Prometheus reads them."""

import asyncio
import dataclasses
from pathlib import Path

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from tests.support import wire
from tests.support.builders import eventually
from tests.support.http_plane import Plane, plane

from cosmodrome.metrics import loop_lag
from cosmodrome.metrics.loop_lag import LoopLag
from cosmodrome.namesrv.routing.topic_queues import TopicQueues

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
    assert metrics["rocketmq_namesrv_connection_events_total{event=bad_frame}"] == 1
    assert metrics["rocketmq_namesrv_connection_events_total{event=rejected}"] == 0
    assert metrics["rocketmq_namesrv_refused_connections_total{cause=greeting_refused}"] == 1


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


async def test_routes_that_were_kept_made_and_dropped(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen)
        peer = await seen.wire()
        for _ in range(5):
            await peer.request(105, {"topic": "orders"})
        await peer.request(205, {"brokerName": "a"})
        await peer.request(105, {"topic": "orders"})
        metrics = await seen.metrics()

    events = {
        word: metrics[f"rocketmq_namesrv_route_cache_events_total{{result={word}}}"]
        for word in ("hit", "miss", "invalidated")
    }
    assert events == {"hit": 4, "miss": 2, "invalidated": 1}


async def test_lookups_of_a_server_that_waits_for_brokers(tmp_path: Path) -> None:
    async with plane(tmp_path, need_wait_for_service=True) as seen:
        peer = await seen.wire()
        assert (await peer.request(105, {"topic": "orders"})).code == 1
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_route_lookups_total{result=not_ready}"] == 1
    assert metrics["rocketmq_namesrv_route_lookups_total{result=error}"] == 0


async def test_topics_that_are_missed(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen)
        peer = await seen.wire()
        for topic in ("typo", "typo", "other", "orders"):
            await peer.request(105, {"topic": topic})
        assert (await seen.metrics())["rocketmq_namesrv_route_missed_topics{}"] == 2


async def test_bodies_of_registrations_by_their_size(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen)
        await register(seen)
        metrics = await seen.metrics()

    name = "rocketmq_namesrv_registration_body_bytes"
    assert metrics[f"{name}_count{{}}"] == metrics[f"{name}_bucket{{le=+Inf}}"] == 2
    assert metrics[f"{name}_sum{{}}"] == 2 * len(wire.register_body(ORDERS, wire.data_version(1)))


async def test_a_broker_that_moves_is_a_changed_address(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen)
        await register(seen, wire.Broker(name="a", cluster="C", id=0, addr="10.0.0.9:10911"), counter=2)
        assert (await seen.metrics())["rocketmq_namesrv_route_changes_total{kind=address_changed}"] == 1


async def test_brokers_whose_connection_is_closed_for_being_silent(tmp_path: Path) -> None:
    async with plane(tmp_path, server_channel_max_idle_time_seconds=1) as seen:
        await register(seen)
        await eventually(lambda: "broker.unregistered" in seen.run.names(), "the end of the broker")
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_unregistrations_total{reason=channel_idle}"] == 1
    assert metrics["rocketmq_namesrv_unregistrations_total{reason=channel_closed}"] == 0
    assert metrics["rocketmq_namesrv_connection_events_total{event=idle}"] == 1


async def test_scans_for_silent_brokers_are_timed(tmp_path: Path) -> None:
    async with plane(tmp_path, scan_not_active_broker_interval=5) as seen:
        await register(seen, dataclasses.replace(MASTER, heartbeat_timeout_millis=100))
        await eventually(lambda: "broker.unregistered" in seen.run.names(), "the end of the broker")
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_expiry_scan_duration_seconds_count{}"] >= 1
    assert metrics["rocketmq_namesrv_unregistrations_total{reason=heartbeat_expired}"] == 1


async def test_writes_of_the_kv_file_are_timed_and_those_that_fail_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "kv"
    async with plane(tmp_path, kv_config_path=str(folder / "kvConfig.json")) as seen:
        peer = await seen.wire()
        entry = {"namespace": "n", "key": "k", "value": "v"}
        assert (await peer.request(100, entry)).code == 0
        folder.rename(tmp_path / "away")
        folder.write_bytes(b"")
        assert (await peer.request(100, entry | {"value": "w"})).code == 1
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_kv_persist_duration_seconds_count{}"] == 2
    assert metrics["rocketmq_namesrv_kv_persist_failures_total{}"] == 1
    assert metrics["rocketmq_namesrv_storage_failures_total{}"] == 1


async def test_when_the_configuration_was_changed(tmp_path: Path) -> None:
    name = "rocketmq_namesrv_config_last_reload_timestamp_seconds{}"
    async with plane(tmp_path) as seen:
        peer = await seen.wire()
        assert name not in await seen.metrics()
        assert (await peer.request(318, None, b"orderMessageEnable=true")).code == 0
        metrics = await seen.metrics()

    assert metrics[name] > metrics["rocketmq_namesrv_start_time_seconds{}"]
    assert metrics["rocketmq_namesrv_config_reloads_total{result=applied}"] == 1


async def test_streams_of_events_are_counted(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        async with seen.http.stream("GET", "/api/v1/events") as stream:
            await anext(stream.aiter_bytes())
            assert (await seen.metrics())["rocketmq_namesrv_event_subscribers{}"] == 1
        assert (await seen.metrics())["rocketmq_namesrv_events_dropped_total{}"] == 0


async def test_requests_in_flight_and_what_is_refused(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_requests_in_flight{}"] == 0
    assert metrics["rocketmq_namesrv_brake_engaged{work=registrations}"] == 0
    assert metrics["rocketmq_namesrv_brake_engaged{work=listings}"] == 0


async def test_more_labels_for_all(tmp_path: Path) -> None:
    async with plane(tmp_path, metrics_label="region:eu, result:x,rack:7") as seen:
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_topics{rack=7,region=eu,result=x}"] == 0
    assert metrics["rocketmq_namesrv_registrations_total{rack=7,region=eu,result=new}"] == 0, "ours stays"


async def test_the_names_of_brokers_where_they_are_wanted(tmp_path: Path) -> None:
    labels = "is_long_polling=false,node_id=127.0.0.1:{},node_type=nameserver,protocol_type=remoting,request_code="
    async with plane(tmp_path, metrics_java_names=True) as seen:
        await register(seen)
        metrics = await seen.metrics()
        labels = labels.format(seen.run.server.address.rpartition(":")[2]) + "register_broker"

    assert metrics[f"rocketmq_rpc_latency_milliseconds_count{{{labels}}}"] == 1
    async with plane(tmp_path) as seen:
        await register(seen)
        assert not any("rpc_latency" in name for name in await seen.metrics())


async def test_openmetrics_for_those_who_want_it(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        await register(seen)
        wanted = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}
        answer = await seen.http.get("/metrics", headers=wanted)

    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    families = openmetrics.text_string_to_metric_families(answer.text)  # type: ignore[no-untyped-call]
    names = {family.name for family in families}
    assert {"rocketmq_nameserver_up", "rocketmq_namesrv_requests", "process_cpu_seconds"} <= names


async def test_a_scrape_does_not_look_at_each_topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues of a broker are counted once after it changed, before the scrape and between other work."""
    async with plane(tmp_path) as seen:
        peer = await seen.wire()
        topics = [wire.topic_config(f"topic-{number}") for number in range(3000)]
        await peer.request(103, wire.registration_ext(MASTER), wire.register_body(topics))
        first = (await seen.http.get("/metrics")).content
        assert (await seen.metrics())["rocketmq_namesrv_topics{}"] == 3000

        def fail(*_: object) -> None:
            raise AssertionError("a scrape looks at the topics")

        for name in ("__iter__", "of_topic", "of_broker", "count_queues"):
            monkeypatch.setattr(TopicQueues, name, fail)
        again = await seen.http.get("/metrics")

    assert again.status_code == 200
    assert abs(len(again.content) - len(first)) < 2000
    assert len(again.content) < 100_000
    assert b"topic-1" not in again.content


async def test_a_handshake_that_fails_is_no_bad_frame(tmp_path: Path) -> None:
    async with plane(tmp_path) as seen:
        stranger = await seen.wire()
        stranger.send(b"\x16\x03\x01\x00\x05hello")
        await stranger.closed()
        metrics = await seen.metrics()

    events = {
        word: metrics[f"rocketmq_namesrv_connection_events_total{{event={word}}}"]
        for word in ("tls_error", "bad_frame", "rejected")
    }
    assert events == {"tls_error": 1, "bad_frame": 0, "rejected": 0}
    assert metrics["rocketmq_namesrv_refused_connections_total{cause=tls_failed}"] == 1


async def test_who_finds_no_room_is_rejected(tmp_path: Path) -> None:
    async with plane(tmp_path, max_connections_per_address=1) as seen:
        await register(seen)
        stranger = await seen.wire()
        await stranger.closed()
        metrics = await seen.metrics()

    assert metrics["rocketmq_namesrv_connection_events_total{event=rejected}"] == 1
    assert metrics["rocketmq_namesrv_refused_connections_total{cause=too_many_connections_of_address}"] == 1
