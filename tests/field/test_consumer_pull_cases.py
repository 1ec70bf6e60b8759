"""Pulls that fail, hang, come back changed or too late (C028, C041, C046, C048, C052, C056, C057)."""

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.consuming import GROUP, TOPIC, Seen, committed, consumer, fill, named, undisturbed
from tests.support.faulty_broker import (
    PULLS,
    V4_9_7,
    V5_5_0,
    Alter,
    AnswerTwice,
    CloseBefore,
    CloseInAnswer,
    CloseUnanswered,
    Delay,
    DropAnswer,
    FaultyBroker,
    Garbage,
    InPieces,
    Refuse,
    Release,
    Reply,
    WrongOpaque,
    faulty_cluster,
)

from cosmodrome.client.consumer.process_queue import HoldingLimits


@pytest.mark.parametrize(
    "fault",
    [
        Refuse(1), Refuse(2), Refuse(16), Refuse(24), Refuse(25), Refuse(26), Refuse(215), Refuse(999),
        CloseBefore(), CloseUnanswered(), CloseInAnswer(), Garbage(b"\x00\x00\x00\x02no"), AnswerTwice(),
        InPieces(7), Delay(0.1),
    ],
    ids=named,
)  # fmt: skip
async def test_c048_every_message_comes_once_and_the_offset_arrives_whatever_happens_to_pulls(
    tmp_path: Path, fault: Any
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 100)
        cluster.broker.faults.add(fault, PULLS, times=1, after=1)
        seen = Seen()
        async with consumer(cluster, seen):
            await seen.came(100)
            await committed(cluster.broker, 100)
        assert seen.counts == dict.fromkeys(bodies, 1)


@pytest.mark.parametrize("fault", [DropAnswer(), WrongOpaque()], ids=named)
async def test_c057_an_answer_that_never_comes_is_waited_for_as_long_as_the_broker_may_hold_and_no_longer(
    tmp_path: Path, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosmodrome.client.consumer.pull.ANSWER_MARGIN_S", 0.3)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 10)
        cluster.broker.faults.add(fault, PULLS, times=1)
        seen = Seen()
        async with consumer(cluster, seen, suspend_s=0.2):
            await seen.came(10)
        assert seen.bodies == bodies


async def test_c057_a_pull_that_is_held_longer_than_asked_for_is_no_failure(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pulls.settings.extra_hold_s = 0.5
        seen = Seen()
        async with consumer(cluster, seen, suspend_s=0.1) as reader:
            await broker.journal.arrived(11, 3, topic=TOPIC)
            assert reader.status().queues[-1].trouble is None
            connects = broker.journal.connects
            fill(broker, 1)
            await seen.came(1)
        assert broker.journal.connects == connects


@pytest.mark.parametrize("code", [24, 25])
async def test_c041_a_broker_that_forgot_the_group_gets_a_heartbeat_and_is_asked_again(
    tmp_path: Path, code: int
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        seen = Seen()
        async with consumer(cluster, seen, suspend_s=0.2):
            await broker.journal.arrived(11, topic=TOPIC)
            heartbeats = len(broker.journal.requests(34))
            rule = broker.faults.add(Refuse(code, "the double knows no group"), PULLS, times=1)
            await broker.journal.arrived(34, heartbeats + 1)
            fill(broker, 1)
            await seen.came(1)
        assert rule is not None


async def test_c041_a_lasting_refusal_shows_in_the_status_and_costs_one_try_a_second(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.faults.add(Refuse(24, "the double knows no group"), PULLS, times=None)
        async with consumer(cluster, Seen()) as reader:
            arrivals = await broker.journal.arrived(11, 4, topic=TOPIC)
            trouble = [each.trouble for each in reader.status().queues if each.queue.topic == TOPIC]
            broker.faults.clear()
        assert trouble == ["code 24: the double knows no group"]
        assert arrivals[3].at_s - arrivals[1].at_s > 1.5


async def test_c041_members_are_back_after_the_broker_restarts(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        broker = cluster.broker
        seen = Seen()
        async with consumer(cluster, seen):
            fill(broker, 5)
            await seen.came(5)
            await broker.restart()
            fill(broker, 5, 1)
            await seen.came(10)
            await committed(broker, 5, 1)


async def test_c046_a_raised_minimum_moves_the_consumer_and_is_saved(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 20)
        cluster.broker.store.drop_before(TOPIC, 0, 15)
        cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] = 3
        seen = Seen()
        async with consumer(cluster, seen):
            await seen.came(5)
            await committed(cluster.broker, 20)
        assert seen.bodies == bodies[15:]


async def test_c046_an_offset_beyond_the_end_goes_back_to_the_end_and_is_saved(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        fill(cluster.broker, 5)
        cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] = 50
        seen = Seen()
        async with consumer(cluster, seen):
            await committed(cluster.broker, 5)
            new = fill(cluster.broker, 1, first=5)
            await seen.came(1)
        assert seen.bodies == new


@pytest.mark.parametrize("offsets", [[7], [7, 3, 9, 1]], ids=["the same", "changing"])
async def test_c046_an_endless_correction_is_asked_for_once_a_second(tmp_path: Path, offsets: list[int]) -> None:
    given = iter(range(1_000_000))

    def moved(_: Reply) -> Reply:
        offset = str(offsets[next(given) % len(offsets)])
        fields = {"nextBeginOffset": offset, "minOffset": "0", "maxOffset": "9", "suggestWhichBrokerId": "0"}
        return Reply(21, "OFFSET_TOO_SMALL", fields)

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.faults.add(Alter(moved), PULLS, times=None)
        async with consumer(cluster, Seen(), suspend_s=0.1) as reader:
            arrivals = await broker.journal.arrived(11, 5, topic=TOPIC)
            trouble = [each.trouble for each in reader.status().queues if each.queue.topic == TOPIC]
            broker.faults.clear()
        assert arrivals[4].at_s - arrivals[1].at_s > 1.5
        assert "again and again" in str(trouble)


async def test_c048_the_same_messages_delivered_twice_are_handled_once(tmp_path: Path) -> None:
    first: list[Reply] = []

    def repeated(reply: Reply) -> Reply:
        if reply.code == 0:
            first.append(reply)
            return first[0]
        return reply

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 64)
        cluster.broker.faults.add(Alter(repeated), PULLS, times=2)
        seen = Seen()
        async with consumer(cluster, seen):
            await seen.came(64)
            await committed(cluster.broker, 64)
        assert seen.counts == dict.fromkeys(bodies, 1)


async def test_c031_a_record_that_cannot_be_read_does_not_stop_its_queue(tmp_path: Path) -> None:
    """It is passed over alone, by asking for one message at a time."""

    def damaged(reply: Reply) -> Reply:
        at = reply.body.find(b"bad body")
        if at < 0:
            return reply
        magic_at = at - 84
        return reply._replace(body=reply.body[:magic_at] + b"\0\0\0\0" + reply.body[magic_at + 4 :])

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        before = fill(cluster.broker, 3)
        cluster.broker.put(TOPIC, b"bad body", 0)
        after = fill(cluster.broker, 3, first=3)
        cluster.broker.faults.add(Alter(damaged), PULLS, times=None)
        seen = Seen()
        async with consumer(cluster, seen):
            await seen.came(6)
            await committed(cluster.broker, 7)
        assert seen.bodies == before + after


async def test_a_broker_that_holds_no_pulls_is_not_flooded(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        broker.pulls.settings.longest_hold_s = 0.0
        broker.pulls.settings.is_holding = False
        seen = Seen()
        async with consumer(cluster, seen):
            arrivals = await broker.journal.arrived(11, 4, topic=TOPIC)
            fill(broker, 1)
            await seen.came(1)
        assert arrivals[3].at_s > arrivals[0].at_s


class Start(NamedTuple):
    """A group before it starts, and the offset at which it does."""

    stored: int | None
    oldest: int
    consume_from: str
    expected: int


@pytest.mark.parametrize("release", [V4_9_7, V5_5_0], ids=lambda release: f"v{release.version}")
@pytest.mark.parametrize(
    "start",
    [
        Start(4, 0, "last", 4),
        Start(4, 0, "first", 4),
        Start(0, 0, "last", 0),
        Start(None, 0, "last", 0),
        Start(None, 6, "first", 6),
    ],
)
async def test_c052_the_start_is_javas_for_every_release(tmp_path: Path, release: Release, start: Start) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}, release=release) as cluster:
        bodies = fill(cluster.broker, 10)
        cluster.broker.store.drop_before(TOPIC, 0, start.oldest)
        if start.stored is not None:
            cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] = start.stored
        seen = Seen()
        async with consumer(cluster, seen, consume_from=start.consume_from):
            await seen.came(10 - start.expected)
            await committed(cluster.broker, 10)
        assert seen.bodies == bodies[start.expected :]


async def test_c052_a_failed_question_is_not_the_answer_zero(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        bodies = fill(cluster.broker, 10)
        cluster.broker.groups.offsets[(GROUP, TOPIC, 0)] = 4
        cluster.broker.faults.add(Refuse(1, "not now"), 14, times=4)
        seen = Seen()
        async with consumer(cluster, seen):
            await seen.came(6)
        assert seen.bodies == bodies[4:]


async def test_c056_all_queues_together_hold_no_more_than_the_limit(tmp_path: Path) -> None:
    size, limit = 10_000, 100_000
    may_go = asyncio.Event()
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 16}) as cluster:
        for queue_id in range(16):
            for _ in range(4):
                cluster.broker.put(TOPIC, bytes(size), queue_id)
        seen = Seen(lambda _: may_go.wait())
        async with consumer(cluster, seen, concurrency=4, limits=HoldingLimits(total_bytes=limit)) as reader:
            await seen.came(4)
            highest = 0

            def look(_: object) -> object:
                nonlocal highest
                highest = max(highest, reader.status().held_bytes)
                return None

            seen._act = look
            may_go.set()
            await seen.came(64)
            assert 0 < highest <= limit
        assert len(seen.messages) == 64


async def test_c056_one_message_above_the_limit_passes(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        cluster.broker.put(TOPIC, bytes(200_000), 0)
        cluster.broker.put(TOPIC, bytes(200_001), 1)
        fill(cluster.broker, 3)
        seen = Seen()
        async with consumer(cluster, seen, limits=HoldingLimits(total_bytes=1000)):
            await seen.came(5)


async def test_c046_a_member_that_is_behind_reads_from_the_slave_and_commits_at_the_master(tmp_path: Path) -> None:
    """And goes on reading there when the master is gone."""
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        master = cluster.broker
        async with FaultyBroker(cluster.name_server, master.broker_name, broker_id=1, store=master.store) as slave:
            master.pulls.settings.suggested_broker_id = slave.pulls.settings.suggested_broker_id = 1
            seen = Seen()
            async with consumer(cluster, seen, suspend_s=0.5, route_interval_s=0.2) as reader:
                first = fill(master, 40)
                await seen.came(40)
                pulls = await slave.journal.arrived(11, topic=TOPIC)
                assert {int(pull.ext["sysFlag"]) & 1 for pull in pulls} == {0}
                await committed(master, 40)
                await master.die()
                second = fill(master, 5, first=40)
                await seen.came(45)
                assert len(reader.status().queues) >= 1
            assert seen.bodies == first + second
