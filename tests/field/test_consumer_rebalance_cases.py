"""Members that come and go, notices, topics that change (C037, C038, C039, C044, C058, C059, C060)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.consuming import GROUP, TOPIC, Seen, committed, consumer, fill, named, undisturbed, until
from tests.support.faulty_broker import Alter, Refuse, Reply, Silence, Under, faulty_cluster

from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.consumer.process_queue import HoldingLimits
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import ClientError

OTHER = "T2"


def queues_of(reader: Consumer, topic: str = TOPIC) -> list[int]:
    return [each.queue.queue_id for each in reader.status().queues if each.queue.topic == topic]


async def has(reader: Consumer, queues: list[int], topic: str = TOPIC) -> None:
    await until(lambda: queues_of(reader, topic) == queues, f"queues {queues} of {topic}")


async def test_c037_two_thousand_notices_make_a_handful_of_rounds(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        broker, seen = cluster.broker, Seen()
        async with consumer(cluster, seen) as reader:
            await has(reader, [0, 1])
            before = len(broker.journal.requests(38, consumerGroup=GROUP))
            for _ in range(20):
                broker.groups.notify(GROUP, 100)
                fill(broker, 1)
                await asyncio.sleep(0)
            await seen.came(20)
            await broker.journal.arrived(38, before + 2)
            broker.groups.notify(GROUP, 100)
            await broker.journal.arrived(38, before + 4)
            rounds = broker.journal.requests(38, consumerGroup=GROUP)[before:]
            assert rounds[-1].at_s - rounds[0].at_s > 0.9
            assert queues_of(reader) == [0, 1]


async def test_c038_members_share_the_queues_and_take_over_from_who_leaves(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 4}) as cluster:
        broker, seen = cluster.broker, Seen()
        async with consumer(cluster, seen) as first:
            await has(first, [0, 1, 2, 3])
            async with consumer(cluster, seen) as second:
                await until(lambda: len(queues_of(first)) == len(queues_of(second)) == 2, "two each")
                assert sorted(queues_of(first) + queues_of(second)) == [0, 1, 2, 3]
                bodies = [body for queue_id in range(4) for body in fill(broker, 5, queue_id)]
                await seen.came(20)
            await has(first, [0, 1, 2, 3])
            bodies += [body for queue_id in range(4) for body in fill(broker, 5, queue_id, first=5)]
            await seen.came(40)
        assert seen.counts == dict.fromkeys(bodies, 1)


async def test_c038_queues_that_are_added_are_read_and_those_cut_off_are_given_up(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        broker, seen = cluster.broker, Seen()
        async with consumer(cluster, seen, route_interval_s=0.2) as reader:
            await has(reader, [0, 1])
            await broker.set_topic(TOPIC, 4)
            fill(broker, 3, 3)
            await seen.came(3)
            await broker.set_topic(TOPIC, 1)
            await has(reader, [0])


async def test_a_topic_that_is_not_there_yet_is_read_when_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path) as cluster:
        broker, seen = cluster.broker, Seen()
        async with consumer(cluster, seen, route_interval_s=0.2):
            assert "topic T is not there yet" in caplog.text
            await broker.set_topic(TOPIC, 1)
            fill(broker, 1)
            await seen.came(1)


async def test_c039_a_handler_that_takes_long_is_no_dead_pull(tmp_path: Path) -> None:
    """The queue is held up by its limits; it stays, and goes on when there is room."""
    may_go = asyncio.Event()
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        bodies = fill(broker, 40)
        seen = Seen(lambda _: may_go.wait())
        async with consumer(cluster, seen, limits=HoldingLimits(messages=8), batch_messages=4, concurrency=2) as reader:
            await seen.came(2)
            broker.groups.notify(GROUP)
            await broker.journal.arrived(38, 6)
            assert queues_of(reader) == [0]
            held = [each.held for each in reader.status().queues if each.queue.topic == TOPIC]
            assert held == [8]
            may_go.set()
            await seen.came(40)
        assert seen.counts == dict.fromkeys(bodies, 1)
        assert len(broker.journal.requests(14, topic=TOPIC)) == 1


async def test_c044_a_broadcasting_member_goes_on_where_it_was_after_its_route_was_gone(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker, seen = cluster.broker, Seen()
        options: dict[str, Any] = {"broadcasting": True, "consume_from": "last", "offset_folder": tmp_path / "offsets"}
        async with consumer(cluster, seen, route_interval_s=0.2, **options) as reader:
            first = fill(broker, 5)
            await seen.came(5)
            await broker.withdraw()
            await broker.die()
            await until(lambda: reader.status().queues[0].trouble, "trouble with the queue")
            second = fill(broker, 10, first=5)
            await broker.accept_connects()
            await broker.announce()
            await seen.came(15)
        assert seen.bodies == first + second


async def test_c058_giving_up_one_topic_keeps_the_retries_of_the_other(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1, OTHER: 1}) as cluster:
        broker = cluster.broker
        broker.sends.settings.level_s = 0.2
        fails = lambda message: 1 / 0 if message.topic == OTHER and message.reconsume_times == 0 else None  # noqa: E731
        seen = Seen(fails)
        async with consumer(cluster, seen, subscriptions={TOPIC: None, OTHER: None}) as reader:
            broker.put(OTHER, b"again")
            fill(broker, 2)
            await seen.came(3)
            await reader.unsubscribe(TOPIC)
            assert queues_of(reader) == []
            fill(broker, 3, first=2)
            await seen.until(lambda: seen.counts[b"again"] == 2)
            assert len(seen.messages) == 4
            assert broker.groups.offsets[(GROUP, TOPIC, 0)] == 2
            await reader.subscribe(TOPIC)
            await seen.came(7)


@pytest.mark.parametrize(
    ("theirs", "is_same"),
    [({TOPIC: "a || b", f"%RETRY%{GROUP}": "*"}, True), ({TOPIC: "a"}, False), ({OTHER: "a || b"}, False), ({}, True)],
    ids=str,
)
async def test_c035_a_member_that_subscribes_to_something_else_can_be_refused(
    tmp_path: Path, theirs: dict[str, str], is_same: Any
) -> None:
    def connections(_: Under) -> Reply:
        table = {topic: {"topic": topic, "subString": text, "expressionType": "TAG"} for topic, text in theirs.items()}
        if not table:
            return Reply(206, f"the consumer group[{GROUP}] not online")
        return Reply(0, None, None, json.dumps({"subscriptionTable": table}).encode())

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        cluster.broker.works[203] = connections
        reader = consumer(cluster, Seen(), subscriptions={TOPIC: "a || b"}, check_group=True)
        if is_same:
            async with reader:
                assert queues_of(reader) == [0]
        else:
            with pytest.raises(ClientError, match="must subscribe to the same"):
                await reader.start()
            assert not cluster.broker.journal.requests(38)


async def test_c058_a_second_consumer_of_a_group_in_one_session_is_refused_in_one_sentence(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        seen = Seen()
        async with consumer(cluster, seen) as first:
            session: ClientSession = first._session
            second = Consumer(GROUP, subscriptions={TOPIC: None}, session=session)
            with pytest.raises(ValueError, match="a session of its own"):
                await second.start()
            fill(cluster.broker, 1)
            await seen.came(1)


async def test_c058_the_next_consumer_of_the_group_works_after_the_first_was_closed(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        for number in range(5):
            seen = Seen()
            async with consumer(cluster, seen):
                fill(cluster.broker, 1, first=number)
                await seen.came(1)
            assert seen.bodies == [b"0.%d" % number]


@pytest.mark.parametrize("fault", [Refuse(1, "not now"), Silence()], ids=named)
async def test_failed_questions_about_members_change_nothing(tmp_path: Path, fault: Any) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        broker, seen = cluster.broker, Seen()
        async with consumer(cluster, seen, request_timeout_s=0.3) as reader:
            await has(reader, [0, 1])
            asked = len(broker.journal.requests(38))
            broker.faults.add(fault, 38, times=3)
            broker.groups.notify(GROUP)
            await broker.journal.arrived(38, asked + 4)
            assert queues_of(reader) == [0, 1]
            fill(broker, 3)
            await seen.came(3)


async def test_c059_locks_follow_the_last_offset_when_a_member_closes(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, "broker-a", "broker-b", topics={TOPIC: 2}) as cluster:
        seen = Seen()
        for broker in cluster.brokers:
            fill(broker, 3)
        async with consumer(cluster, seen, orderly=True):
            await seen.came(6)
        for broker in cluster.brokers:
            ends = [each for each in broker.journal.arrivals if each.code in (15, 35, 42) and not each.is_oneway]
            assert [each.code for each in ends][-2:] == [42, 35]
            assert broker.groups.offsets[(GROUP, TOPIC, 0)] == 3
            assert not [key for key in broker.groups.locks if key[0] == GROUP]


async def test_c059_the_next_member_reads_at_once_what_the_first_gives_up(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 2}) as cluster:
        broker, first_seen, second_seen = cluster.broker, Seen(), Seen()
        async with consumer(cluster, first_seen, orderly=True) as first:
            fill(broker, 2)
            await first_seen.came(2)
            async with consumer(cluster, second_seen, orderly=True) as second:
                await until(lambda: len(queues_of(second)) == 1, "a queue of the second")
                (theirs,) = queues_of(second)
                fill(broker, 3, theirs, first=10)
                await second_seen.came(3)
                assert len(queues_of(first)) == 1
            await has(first, [0, 1])
            fill(broker, 3, theirs, first=20)
            await first_seen.came(5)
        together = first_seen.counts + second_seen.counts
        assert set(together.values()) == {1}


async def test_c059_a_lost_lock_holds_the_queue_up_and_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosmodrome.client.consumer.handover.LOCK_RENEWAL_S", 0.1)
    monkeypatch.setattr("cosmodrome.client.consumer.handover.LOST_LOCK_RETRY_S", 0.1)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker, seen = cluster.broker, Seen()
        key = (GROUP, TOPIC, 0)
        async with consumer(cluster, seen, orderly=True):
            fill(broker, 1)
            await seen.came(1)
            broker.groups.locks[key] = ("somebody else", asyncio.get_running_loop().time() + 1000)
            locks = len(broker.journal.requests(41))
            await broker.journal.arrived(41, locks + 2)
            fill(broker, 2, first=1)
            await broker.journal.arrived(41, locks + 4)
            assert len(seen.messages) == 1
            assert not broker.journal.requests(42)
            del broker.groups.locks[key]
            await seen.came(3)
        assert set(seen.counts.values()) == {1}


async def test_c060_an_orderly_member_reads_eight_queues_with_a_backlog_at_once(tmp_path: Path) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 8}) as cluster:
        seen = Seen()
        for queue_id in range(8):
            fill(cluster.broker, 10, queue_id)
        began_s = asyncio.get_running_loop().time()
        async with consumer(cluster, seen, orderly=True):
            await seen.came(80)
        firsts = {
            message.queue.queue_id: at_s for message, at_s in reversed(list(zip(seen.messages, seen.at_s, strict=True)))
        }
        assert max(firsts.values()) - began_s < 10
        for queue_id in range(8):
            mine = [message.queue_offset for message in seen.messages if message.queue.queue_id == queue_id]
            assert mine == list(range(10))


async def test_c059_a_message_that_is_handled_keeps_its_queue_until_it_is_done(tmp_path: Path) -> None:
    may_go = asyncio.Event()
    running: list[bytes] = []

    async def exclusive(body: bytes) -> None:
        running.append(body)
        assert running == [body]
        await may_go.wait()
        running.remove(body)

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker
        bodies = fill(broker, 3)
        seen = Seen(lambda message: exclusive(message.body))
        members = [consumer(cluster, seen, orderly=True) for _ in range(2)]
        await members[0].start()
        await seen.came(1)
        await members[1].start()
        for _ in range(3):
            broker.groups.notify(GROUP)
            await broker.journal.arrived(38, len(broker.journal.requests(38)) + 2)
        may_go.set()
        await seen.came(3)
        await committed(broker, 3)
        for member in members:
            await member.close()
        assert seen.bodies == bodies


async def test_c059_locks_that_cannot_be_renewed_for_a_moment_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("cosmodrome.client.consumer.handover.LOCK_RENEWAL_S", 0.05)
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        broker, seen = cluster.broker, Seen()
        async with consumer(cluster, seen, orderly=True):
            fill(broker, 1)
            await seen.came(1)
            broker.faults.add(Refuse(1, "not now"), 41, times=2)
            locks = len(broker.journal.requests(41))
            await broker.journal.arrived(41, locks + 4)
            fill(broker, 1, first=1)
            await seen.came(2)
        assert caplog.text.count("were not renewed") == 2


async def test_a_lock_that_cannot_be_given_back_does_not_keep_close(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 1}) as cluster:
        async with consumer(cluster, Seen(), orderly=True):
            cluster.broker.faults.add(Refuse(1, "not now"), 42, times=None)
        assert "were not given back" in caplog.text


async def test_c038_a_member_that_a_broker_names_twice_reads_all_queues(tmp_path: Path) -> None:
    """A broker that has not noticed the end of a connection names its client for the old and the new one."""

    def doubled(reply: Reply) -> Reply:
        ids = json.loads(reply.body)["consumerIdList"]
        return reply._replace(body=json.dumps({"consumerIdList": ids * 2}).encode())

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 4}) as cluster:
        cluster.broker.faults.add(Alter(doubled), 38, times=None)
        async with consumer(cluster, Seen()) as reader:
            await has(reader, [0, 1, 2, 3])


async def test_c038_a_broker_that_forgets_a_member_again_and_again_takes_no_queue_from_it(tmp_path: Path) -> None:
    """Its word about the others is worth nothing while it does not know the one who asks."""

    def others(reply: Reply) -> Reply:
        return reply._replace(code=0, body=json.dumps({"consumerIdList": ["somebody@else"]}).encode())

    async with undisturbed(), faulty_cluster(tmp_path, topics={TOPIC: 4}) as cluster:
        broker, seen = cluster.broker, Seen()
        async with consumer(cluster, seen) as reader:
            await has(reader, [0, 1, 2, 3])
            rule = broker.faults.add(Alter(others), 38, times=None)
            asked = len(broker.journal.requests(38))
            broker.groups.notify(GROUP)
            await broker.journal.arrived(38, asked + 3)
            assert queues_of(reader) == [0, 1, 2, 3]
            await until(lambda: "does not name this client" in str(reader.status().trouble), "the word")
            rule.stop()
            await until(lambda: reader.status().trouble is None, "the end of the trouble, without another notice", 10.0)
