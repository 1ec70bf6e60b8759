"""Probes and metrics of a broker over HTTP."""

import asyncio
import threading
import time
from pathlib import Path

import pytest
from tests.support.broker_calls import Caller
from tests.support.broker_plane import broker_plane, client_of
from tests.support.builders import eventually

from cosmodrome import Broker
from cosmodrome.audit.file import AuditFile
from cosmodrome.errors import BindError, ConfigError
from cosmodrome.metrics.family import Family, Kind

ROOT = Path(__file__).resolve().parents[3]
OF_A_QUEUE = {"consumerGroup": "g", "topic": "T", "queueId": "0"}
NOT_OURS = {
    "rocketmq_pop_buffer_scan_time_consume_milliseconds",
    "rocketmq_pop_offset_buffer_size", "rocketmq_pop_revive_lag_milliseconds", "rocketmq_pop_revive_latency_milliseconds",
    "rocketmq_timer_dequeue_lag", "rocketmq_timer_enqueue_latency_milliseconds", "rocketmq_timer_message_snapshot",
}  # fmt: skip
"""Metrics of Apache's broker of which there is nothing here, or nothing that is counted."""
LESS = {"rocketmq_rpc_latency_milliseconds": {"response_code", "result"}}
"""Labels that are left out."""


async def families(broker: Broker) -> list[Family]:
    """Give what is exported."""
    from cosmodrome.broker.metrics.families import Measures  # noqa: PLC0415 -- it is loaded late

    return await Measures(broker._watch._view).families()


async def test_probes_of_a_broker_that_serves() -> None:
    async with broker_plane() as seen:
        for path in ("/livez", "/readyz", "/healthz"):
            answer = await seen.http.get(path)
            assert (answer.status_code, answer.text, answer.headers["cache-control"]) == (200, "ok\n", "no-store")
        lines = (await seen.http.get("/readyz?verbose")).text.splitlines()
        assert (len([line for line in lines if line.startswith("[+]")]), lines[-1]) == (3, "ok")
        assert (await seen.http.get("/nothing")).json()["code"] == "no_such_path"


async def test_without_an_address_there_is_no_listener() -> None:
    async with Broker() as broker:
        assert broker.http_address == ""
    async with Broker(http="off") as broker:
        assert broker.http_address == ""


@pytest.mark.parametrize("text", ["1", "127.0.0.1", ":1", "127.0.0.1:99999", "127.0.0.1:x"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="http"):
        Broker(http=text)


async def test_an_address_that_is_taken_ends_the_start() -> None:
    async with broker_plane() as seen:
        second = Broker(http=seen.broker.http_address)
        with pytest.raises(BindError, match=seen.broker.http_address):
            await second.start()
        assert (second.address, second.http_address) == ("", "")


async def test_a_broker_that_starts_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of a large broker takes its time to open, and whoever looks is told so."""
    from cosmodrome.broker import server  # noqa: PLC0415

    is_wanted, opened = asyncio.Event(), server._opened

    async def later(*words: object) -> object:
        await is_wanted.wait()
        return await opened(*words)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(server, "_opened", later)
    broker = Broker(http="127.0.0.1:0", store=tmp_path)
    starting = asyncio.ensure_future(broker.start())
    await eventually(lambda: broker.http_address, "the listener")
    async with client_of(broker) as http:
        answer = await http.get("/readyz")
        assert (answer.status_code, answer.text) == (503, "starting: the store is being opened\n")
        assert "rocketmq_broker_ready" in (await http.get("/metrics")).text
        is_wanted.set()
        await starting
        assert (await http.get("/readyz")).status_code == 200
    await broker.stop()


async def test_a_broker_that_stops_is_not_ready_and_says_so_until_all_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that waits for the disk holds up the stop, and the listener is there meanwhile."""
    is_asked, is_free, append = threading.Event(), threading.Event(), AuditFile.append

    def slow(file: AuditFile, data: bytes, *, is_synced: bool = True) -> None:
        is_asked.set()
        assert is_free.wait(30)
        append(file, data, is_synced=is_synced)

    monkeypatch.setattr(AuditFile, "append", slow)
    async with broker_plane(store=tmp_path) as seen:
        asked = asyncio.ensure_future(seen.caller.ok(25, {}, b"fileReservedTime=48\n"))
        await eventually(is_asked.is_set, "the change")
        stopping = asyncio.ensure_future(seen.broker.stop())
        try:
            assert await seen.until_ready_says(503) == "draining\n"
            assert (await seen.http.get("/livez")).status_code == 200
            assert not stopping.done()
        finally:
            is_free.set()
        await asked
        await stopping
        assert seen.broker.http_address == ""


async def test_a_store_that_takes_nothing_is_a_reason() -> None:
    async with broker_plane() as seen:
        view = seen.broker._watch._view
        assert view.seen is not None
        view.seen.store.failure = "writing failed: no space"
        status, text = await seen.ready()
        view.seen.store.failure = None

        assert (status, text) == (503, "messages are refused: writing failed: no space\n")
        assert (await seen.ready())[0] == 200


async def test_sends_that_are_held_are_told_of_and_keep_nobody_away() -> None:
    later_ms = int(time.time() * 1000) + 3_600_000
    async with broker_plane(start_accept_send_request_time_stamp=later_ms) as seen:
        answer = await seen.http.get("/readyz?verbose")
        assert answer.status_code == 200
        assert "sends are refused until" in answer.text


async def test_what_comes_and_goes_is_counted_by_topic_group_and_kind() -> None:
    async with broker_plane() as seen:
        caller = seen.caller
        for size in (100, 100, 5000):
            await caller.send("T", b"x" * size)
        await caller.send("T", b"x", __SHARDINGKEY="k")
        await caller.send("T", b"x", __SHARDINGKEY="k")
        await caller.heartbeat("g", producer="p")
        await caller.pull("T", maxMsgNums="2")
        await caller.ok(15, OF_A_QUEUE | {"commitOffset": "1"})
        metrics = await seen.metrics()

    normal, fifo = (f"{{is_system=false,message_type={kind},topic=T}}" for kind in ("normal", "fifo"))
    assert metrics[f"rocketmq_messages_in_total{normal}"] == metrics[f"rocketmq_message_size_count{normal}"] == 3
    assert metrics[f"rocketmq_messages_in_total{fifo}"] == 2
    assert metrics[f"rocketmq_throughput_in_total{normal}"] == metrics[f"rocketmq_message_size_sum{normal}"] > 5200
    assert metrics["rocketmq_message_size_bucket{is_system=false,le=1024.0,message_type=normal,topic=T}"] == 2
    given = "{consumer_group=g,is_system=false,topic=T}"
    assert metrics[f"rocketmq_messages_out_total{given}"] == 2
    assert metrics[f"rocketmq_throughput_out_total{given}"] > 200
    of = "{consumer_group=g,is_retry=false,is_system=false,topic=T}"
    assert metrics[f"rocketmq_consumer_lag_messages{of}"] == 4
    assert metrics[f"rocketmq_consumer_lag_latency_milliseconds{of}"] >= 0
    client = "language=java,protocol_type=remoting,version=v5_5_0"
    assert metrics[f"rocketmq_producer_connections{{{client}}}"] == 1
    consumer = "consume_mode=push,consumer_group=g,is_system=false"
    assert metrics[f"rocketmq_consumer_connections{{{consumer},{client}}}"] == 1
    sends = "request_code=send_message_v2"
    assert (
        metrics[f"rocketmq_rpc_latency_milliseconds_count{{is_long_polling=false,protocol_type=remoting,{sends}}}"] == 5
    )
    assert metrics[f"rocketmq_broker_requests_total{{{sends},response_code=success}}"] == 5


async def test_a_delayed_message_comes_in_twice_as_at_apaches_broker() -> None:
    async with broker_plane(message_delay_level="1s") as seen:
        await seen.caller.send("T", DELAY="1")
        await seen.caller.until("T", 1)
        metrics = await seen.metrics()

    for topic, system in (("SCHEDULE_TOPIC_XXXX", "true"), ("T", "false")):
        key = f"rocketmq_messages_in_total{{is_system={system},message_type=delay,topic={topic}}}"
        assert metrics[key] == 1


async def test_what_a_group_has_given_up_is_counted() -> None:
    async with broker_plane() as seen:
        caller = seen.caller
        answer = await caller.send("T")
        await caller.heartbeat("g")
        place = int(((answer.ext_fields or {})["msgId"] or "")[-16:], 16)
        await caller.ok(36, {"group": "g", "offset": str(place), "delayLevel": "-1", "originTopic": "T"})
        metrics = await seen.metrics()

    assert metrics["rocketmq_send_to_dlq_messages_total{consumer_group=g,is_system=false,topic=T}"] == 1


async def test_ends_of_transactions_are_counted() -> None:
    async with broker_plane() as seen:
        caller = seen.caller
        for number, decision in enumerate(("8", "8", "12")):
            sent = await caller.send("T", f="4", TRAN_MSG="true", PGROUP="pg", UNIQ_KEY=f"U{number}")
            fields = sent.ext_fields or {}
            await caller.ok(
                37,
                {
                    "producerGroup": "pg", "tranStateTableOffset": fields["queueOffset"], "transactionId": f"U{number}",
                    "commitLogOffset": str(int((fields["msgId"] or "")[-16:], 16)), "commitOrRollback": decision,
                    "fromTransactionCheck": "false", "msgId": f"U{number}",
                },
            )  # fmt: skip
        metrics = await seen.metrics()

    assert metrics["rocketmq_commit_messages_total{topic=T}"] == 2
    assert metrics["rocketmq_rollback_messages_total{topic=T}"] == 1
    half = "{is_system=true,message_type=transaction,topic=RMQ_SYS_TRANS_HALF_TOPIC}"
    assert metrics[f"rocketmq_messages_in_total{half}"] == 3
    assert metrics["rocketmq_half_messages{}"] == 0


async def test_series_of_what_is_deleted_are_gone() -> None:
    async with broker_plane() as seen:
        caller = seen.caller
        for topic, group in (("T", "g"), ("U", "h")):
            await caller.send(topic)
            await caller.heartbeat(group, topic)
            await caller.pull(topic, consumerGroup=group)
            await caller.ok(15, {"consumerGroup": group, "topic": topic, "queueId": "0", "commitOffset": "1"})
        assert any("=T" in name for name in await seen.metrics())
        await caller.ok(215, {"topic": "T"})
        metrics = await seen.metrics()
        assert not [name for name in metrics if "topic=T}" in name or "topic=T," in name]
        assert metrics["rocketmq_messages_in_total{is_system=false,message_type=normal,topic=U}"] == 1
        await caller.ok(207, {"groupName": "h", "cleanOffset": "true"})
        assert not [name for name in await seen.metrics() if "consumer_group=h" in name and "connections" not in name]


async def test_names_kinds_and_labels_are_those_of_apaches_broker() -> None:
    recorded = (ROOT / "tests/golden/broker_metrics/5.5.0.txt").read_text(encoding="utf-8").splitlines()
    theirs = {name: (kind, set(labels.split(","))) for name, kind, labels in map(str.split, recorded)}
    async with Broker(http="127.0.0.1:0") as broker:
        ours = {
            f"{each.name}_total" if each.kind is Kind.COUNTER else each.name: (each.kind.value, set(each.labels))
            for each in await families(broker)
        }

    assert set(theirs) - set(ours) == NOT_OURS
    expected = {name: (kind, labels - LESS.get(name, set())) for name, (kind, labels) in theirs.items()}
    assert {name: each for name, each in ours.items() if name in theirs} == {
        name: each for name, each in expected.items() if name not in NOT_OURS
    }


async def test_every_metric_is_documented() -> None:
    text = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    async with Broker(http="127.0.0.1:0") as broker:
        found = [f"{each.name}{'_total' * (each.kind is Kind.COUNTER)}" for each in await families(broker)]

    assert len(found) > 30
    assert not [name for name in found if f"`{name}`" not in text]


async def test_it_is_started_again_with_another_listener(tmp_path: Path) -> None:
    broker = Broker(http="127.0.0.1:0", store=tmp_path)
    for _ in range(2):
        async with broker, client_of(broker) as http, Caller(broker.address) as caller:
            await caller.send("T")
            assert (await http.get("/readyz")).status_code == 200
        assert broker.http_address == ""
