"""Offsets in files and at brokers, start times, positions of a polling consumer (C045, C046, C050, C051, C057, C064)."""

import asyncio
import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from tests.support.consuming import FAST, GROUP, TOPIC, Seen, committed, consumer, fill, undisturbed, until
from tests.support.faulty_broker import (
    PULLS,
    V4_9_7,
    V5_5_0,
    FaultyBroker,
    FaultyCluster,
    Refuse,
    RefusedError,
    Release,
    faulty_cluster,
)

from cosmodrome.client.consumer.lite_pull import LitePullConsumer
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.errors import AuthenticationError, ClientClosedError, ConnectError, RequestTimeoutError

QUEUE = MessageQueue(TOPIC, "broker-a", 0)
HOUR_MS = 3_600_000
NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
NOON_MS = int(NOON.timestamp() * 1000)


def polling(cluster: FaultyCluster, *, topics: Any = None, **options: Any) -> LitePullConsumer:
    settings: dict[str, Any] = FAST | options
    return LitePullConsumer(GROUP, namesrv=cluster.name_server, subscriptions=topics, **settings)


async def polled(reader: LitePullConsumer, count: int) -> list[ReceivedMessage]:
    """Poll until so many messages came."""
    messages: list[ReceivedMessage] = []
    while len(messages) < count:
        new = await reader.poll(10)
        assert new, [message.body for message in messages]
        messages += new
    return messages


def offsets_of(broker: FaultyBroker, queue_id: int = 0) -> int | None:
    return broker.groups.offsets.get((GROUP, TOPIC, queue_id))


@pytest.mark.parametrize("main", [b"", b'{"offsetTable":{', b"garbage", b"\x00\x01", b'{"offsetTable":[1]}', None])
@pytest.mark.parametrize("has_copy", ["copy", "bad copy", "no copy"])
async def test_c045_a_broken_file_is_set_aside_and_the_copy_is_used(
    tmp_path: Path, main: bytes | None, has_copy: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "offsets" / "DEFAULT" / GROUP
    folder.mkdir(parents=True)
    if main is not None:
        (folder / "offsets.json").write_bytes(main)
    good = b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:7}}'
    if has_copy != "no copy":
        (folder / "offsets.json.bak").write_bytes(good if has_copy == "copy" else b"<nil>")
    async with undisturbed(), faulty_cluster(tmp_path / "ns", topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 10)
        seen = Seen()
        async with consumer(cluster, seen, broadcasting=True, offset_folder=tmp_path / "offsets"):
            await seen.came(3 if has_copy == "copy" else 10)
        assert seen.bodies == (bodies[7:] if has_copy == "copy" else bodies)
    if main is not None:
        assert [path.read_bytes() for path in folder.glob("offsets.json.damaged-*")] == [main]
        assert caplog.text.count("cannot be read") == (2 if has_copy == "bad copy" else 1)
    assert b":10}}" in (folder / "offsets.json").read_bytes()


async def test_c045_ten_restarts_with_the_defaults_find_the_file_again(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path / "ns", topics={TOPIC: 1}) as cluster:
        for number in range(10):
            fill(cluster.broker, 1, first=number)
            seen = Seen()
            async with consumer(cluster, seen, broadcasting=True, offset_folder=tmp_path / "offsets"):
                await seen.came(1)
            assert seen.bodies == [b"0.%d" % number]


async def test_c045_a_folder_that_cannot_be_written_is_reported_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "offsets").write_bytes(b"a file where the folder should be")
    async with undisturbed(), faulty_cluster(tmp_path / "ns", topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 3)
        seen = Seen()
        async with consumer(cluster, seen, broadcasting=True, offset_folder=tmp_path / "offsets"):
            await seen.came(3)
            await until(lambda: "offsets were not saved" in caplog.text, "a word about the folder")


@pytest.mark.parametrize("release", [V4_9_7, V5_5_0], ids=lambda release: f"v{release.version}")
async def test_c051_a_new_group_begins_at_the_first_message_at_or_after_the_time(
    tmp_path: Path, release: Release
) -> None:
    """Also when several were stored at that moment; in an empty queue at its end."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 3}, release=release) as cluster:
        broker = cluster.broker
        for stored_ms in (-2, -1, 0, 0, 0, 1, 2):
            broker.clock = lambda stored_ms=stored_ms: NOON_MS + stored_ms * HOUR_MS  # type: ignore[misc]
            broker.put(TOPIC, b"%d" % stored_ms)
        broker.clock = lambda: NOON_MS - HOUR_MS
        broker.put(TOPIC, b"old", 1)
        broker.store.drop_before(TOPIC, 0, 1)
        broker.store.drop_before(TOPIC, 1, 0)
        if not release.is_5:
            broker.works[14] = broker_without_offsets(broker)
        seen = Seen()
        async with consumer(cluster, seen, consume_from=NOON):
            await committed(broker, 7)
            await committed(broker, 1, 1)
        assert seen.bodies == [b"0", b"0", b"0", b"1", b"2"]


def broker_without_offsets(broker: FaultyBroker) -> Any:
    """An old broker whose queues are not young: it answers that nothing is stored."""
    usual = broker.groups.query_offset

    def query(under: Any) -> Any:
        key = (GROUP, under.arrival.ext["topic"], int(under.arrival.ext["queueId"]))
        if key in broker.groups.offsets:
            return usual(under)
        raise RefusedError(22, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")

    return query


async def test_c051_a_known_group_goes_on_and_the_log_says_that_the_time_was_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 5)
        cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] = 2
        seen = Seen()
        async with consumer(cluster, seen, consume_from=dt.datetime.now(dt.UTC) + dt.timedelta(days=1)):
            await seen.came(3)
        assert seen.bodies == bodies[2:]
        assert "the start time does not" in caplog.text


async def test_c050_a_commit_covers_what_was_polled_and_nothing_of_others(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        broker = cluster.broker
        fill(broker, 10)
        fill(broker, 10, 1)
        async with polling(cluster, topics={TOPIC: None}, auto_commit=False) as first:
            await polled(first, 20)
            async with polling(cluster, topics={TOPIC: None}, auto_commit=False) as second:
                await until(lambda: len(second.assignment()) == len(first.assignment()) == 1, "a queue each")
                (kept,), (lost,) = first.assignment(), second.assignment()
                assert await first.commit() == (lost,)
                assert offsets_of(broker, kept.queue_id) == 10
                assert offsets_of(broker, lost.queue_id) in (None, 0)


async def test_c050_what_was_polled_is_done_at_the_next_poll_or_commit(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 20)
        async with polling(cluster) as reader:
            await reader.assign([QUEUE])
            assert len(await reader.poll(5, max_messages=4)) == 4
            assert reader.position(QUEUE) == 0
            assert len(await reader.poll(5, max_messages=3)) == 3
            assert reader.position(QUEUE) == 4
            assert await reader.commit() == ()
            assert (reader.position(QUEUE), offsets_of(cluster.broker), await reader.committed(QUEUE)) == (7, 7, 7)


@pytest.mark.parametrize("release", [V4_9_7, V5_5_0], ids=lambda release: f"v{release.version}")
async def test_a_polling_consumer_reads_seeks_pauses_and_saves(tmp_path: Path, release: Release) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}, release=release) as cluster:
        bodies = fill(cluster.broker, 30)
        async with polling(cluster) as reader:
            assert await reader.queues_of(TOPIC) == (QUEUE,)
            await reader.assign([QUEUE])
            assert [message.body for message in await polled(reader, 30)] == bodies
            await reader.seek(QUEUE, 25)
            assert [message.body for message in await polled(reader, 5)] == bodies[25:]
            await reader.seek_to_begin(QUEUE)
            reader.pause([QUEUE])
            assert await reader.poll(0.1) == []
            reader.resume([QUEUE])
            assert [message.body for message in await polled(reader, 30)] == bodies
            await reader.seek_to_end(QUEUE)
            assert await reader.poll(0.1) == []
            new = fill(cluster.broker, 1, first=30)
            assert [message.body for message in await polled(reader, 1)] == new
            assert await reader.offset_for_time(QUEUE, dt.datetime(2000, 1, 1, tzinfo=dt.UTC)) == 0
        assert offsets_of(cluster.broker) == 31
        assert not cluster.broker.journal.requests(38)


@pytest.mark.parametrize("how", ["assign", "subscribe"])
async def test_c046_a_polling_consumer_follows_a_raised_minimum(tmp_path: Path, how: str) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 20)
        cluster.broker.store.drop_before(TOPIC, 0, 15)
        cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] = 3
        async with polling(cluster, topics=None if how == "assign" else {TOPIC: None}) as reader:
            if how == "assign":
                await reader.assign([QUEUE])
            assert [message.body for message in await polled(reader, 5)] == bodies[15:]
        assert offsets_of(cluster.broker) == 20


async def test_c064_a_polling_consumer_gets_exactly_its_tags(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        for tag in ("Aa", "BB") * 3:
            cluster.broker.put(TOPIC, tag.encode(), TAGS=tag)
        async with polling(cluster) as reader:
            await reader.assign([QUEUE], "Aa")
            assert [message.body for message in await polled(reader, 3)] == [b"Aa"] * 3
            assert await reader.poll(0.2) == []


async def test_a_polling_consumer_asks_old_brokers_in_the_old_way(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        cluster.broker.faults.add(Refuse(3, "request type 361 not supported"), 361, times=None)
        fill(cluster.broker, 3)
        async with polling(cluster) as reader:
            await reader.assign([QUEUE])
            await polled(reader, 3)
        assert len(cluster.broker.journal.requests(361)) == 1
        assert cluster.broker.journal.requests(11)


async def test_a_poll_that_waits_ends_when_the_consumer_is_closed(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        reader = polling(cluster)
        await reader.start()
        await reader.assign([QUEUE])
        waiting = asyncio.create_task(reader.poll(60))
        await cluster.broker.journal.arrived(361)
        await reader.close()
        with pytest.raises(ClientClosedError):
            await waiting
        with pytest.raises(ClientClosedError):
            await reader.poll()


async def test_offsets_that_the_broker_refuses_are_saved_later(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 3)
        cluster.broker.faults.add(Refuse(1, "not now"), (*PULLS, 15), times=3)
        seen = Seen()
        async with consumer(cluster, seen):
            await seen.came(3)
            await committed(cluster.broker, 3)


async def test_a_polling_consumer_that_cannot_start_leaves_nothing(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        cluster.broker.faults.add(Refuse(16, "check signature failed."), times=None)
        reader = polling(cluster, topics={TOPIC: None})
        with pytest.raises(AuthenticationError):
            await reader.start()
        with pytest.raises(ClientClosedError, match="make a new one"):
            await reader.start()


async def test_a_polling_consumer_that_starts_too_slowly_raises(tmp_path: Path) -> None:
    async with undisturbed(), FaultyBroker() as silent:
        silent.mute()
        options: dict[str, Any] = FAST | {"start_timeout_s": 0.2}
        reader = LitePullConsumer(GROUP, namesrv=silent.address, subscriptions={TOPIC: None}, **options)
        with pytest.raises(RequestTimeoutError, match=r"0\.2 s"):
            await reader.start()


async def test_what_a_polling_consumer_cannot_do_is_said(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        async with polling(cluster, topics={TOPIC: None}) as sharing:
            await sharing.start()
            with pytest.raises(ValueError, match="cannot assign"):
                await sharing.assign([QUEUE])
        async with polling(cluster) as reader:
            with pytest.raises(ValueError, match="is not read by this consumer"):
                await reader.seek(QUEUE, 0)
            await reader.assign([QUEUE])
            with pytest.raises(ValueError, match="negative"):
                await reader.seek(QUEUE, -1)
            with pytest.raises(ConnectError, match="broker-x"):
                await reader.seek_to_end(MessageQueue(TOPIC, "broker-x", 0))
            with pytest.raises(ConnectError, match="could not be taken over"):
                await reader.assign([QUEUE, MessageQueue(TOPIC, "broker-x", 0)])
            assert reader.assignment() == (QUEUE,)
            assert [each.queue for each in reader.status().queues] == [QUEUE]
            assert await reader.committed(QUEUE) in {None, 0}


async def test_a_polled_message_that_failed_is_polled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosmodrome.client.consumer.backoff.CONSUME_AGAIN_LOCALLY_S", 0.05)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 1)
        async with polling(cluster) as reader:
            await reader.assign([QUEUE])
            (message,) = await polled(reader, 1)
            await message.retry()
            (again,) = await reader.poll(5)
            assert ([again.body], again.reconsume_times) == (bodies, 1)
            await again.ack()
            assert await reader.poll(0.1) == []
            assert reader.position(QUEUE) == 1


async def test_leaving_by_an_exception_does_not_count_what_was_polled(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 3)
        reader = await polling(cluster).__aenter__()
        await reader.assign([QUEUE])
        await polled(reader, 3)
        await reader.__aexit__(KeyError, KeyError(), None)
        assert offsets_of(cluster.broker) in (None, 0)
        async with polling(cluster) as reader:
            await reader.assign([QUEUE])
            await polled(reader, 3)
        assert offsets_of(cluster.broker) == 3
