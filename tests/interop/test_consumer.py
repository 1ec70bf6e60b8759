"""Our consumer at real brokers, beside real clients: what Java sends it reads, and it shares a group with Java's members.

A broker of each release is started once; every test has a topic and a group of its own.
"""

import asyncio
import datetime as dt
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import FOR_MESSAGES, ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_1, V5_5
from tests.interop.rig.message_clients import MessageClients
from tests.interop.rig.name_servers import NameServer
from tests.interop.rig.view import ask
from tests.support.consuming import Seen, until
from tests.support.waiting import wait_until
from tests.support.wire import Wire

from cosmodrome.client.consumer.allocation import (
    AllocationStrategy,
    Averagely,
    ByCircle,
    ConsistentHash,
)
from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.consumer.filters import Sql
from cosmodrome.client.consumer.handlers import Later
from cosmodrome.client.consumer.lite_pull import LitePullConsumer
from cosmodrome.client.message import Message, MessageQueue, ReceivedMessage
from cosmodrome.client.producer.producer import Producer
from cosmodrome.errors import ClientError, RefusedError

WITHIN_S = 60.0
COUNT = 200
QUEUES = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A NameServer, a broker and Java clients of one release."""

    name_server: NameServer
    broker: ApacheBroker
    clients: MessageClients

    @property
    def address(self) -> str:
        return self.name_server.address

    def topic(self, name: str, queues: int = QUEUES) -> str:
        """Make a topic, and return its name once there is a route."""
        self.broker.create_topic(name, queues)
        wait_until(lambda: self.name_server.view.route(name), f"the route of {name}", 10)
        return name

    def consumer(self, topic: str, handler: Any = None, **options: Any) -> Consumer:
        settings: dict[str, Any] = {
            "subscriptions": {topic: None}, "consume_from": "first", "persist_interval_s": 0.5, "namesrv": self.address,
        } | options  # fmt: skip
        return Consumer(settings.pop("group", f"G-{topic}"), handler=handler, **settings)

    async def send(self, topic: str, count: int = COUNT, **options: object) -> set[bytes]:
        """Have Java send `m0`, `m1`, ... and return the bodies."""
        sent = await asyncio.to_thread(self.clients.send, "producer", topic, "m", count=count, **options)
        assert [each.status for each in sent] == ["SEND_OK"] * count
        return {b"m%d" % number for number in range(count)} if count > 1 else {b"m"}

    def committed(self, topic: str, group: str | None = None) -> list[int]:
        """Return the group's offsets at the broker, queue by queue; -1 for none."""
        name = group or f"G-{topic}"
        fields = [{"consumerGroup": name, "topic": topic, "queueId": str(each)} for each in range(QUEUES)]
        answers = [ask(self.broker.address, 14, each) for each in fields]
        return [int((answer.ext or {}).get("offset", -1)) if answer.code == 0 else -1 for answer in answers]


@pytest.fixture(scope="module", params=[V5_5, V4_9, pytest.param(V5_1, marks=pytest.mark.full)])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    release = request.param
    with new_stage(f"consumer-{release}") as stage:
        name_server = stage.name_server()
        settings = BrokerSettings(
            release=release, name="broker-consumer", name_servers=[name_server.address], config=FOR_MESSAGES
        )
        broker = stage.registered_broker(settings)
        clients = stage.message_clients(release)
        clients.producer("producer", name_server.address, "senders")
        yield Place(name_server, broker, clients)


@asynccontextmanager
async def java_member(place: Place, name: str, topic: str, **options: object) -> AsyncIterator[str]:
    """Have a Java consumer in the topic's group, and give its client id."""
    begin: Callable[..., str] = place.clients.consumer
    client_id = await asyncio.to_thread(begin, name, place.address, f"G-{topic}", topic, **options)
    try:
        yield client_id
    finally:
        await asyncio.to_thread(place.clients.end, name)


def queues_of(reader: Consumer, topic: str) -> list[MessageQueue]:
    return [each.queue for each in reader.status().queues if each.queue.topic == topic]


async def test_what_java_sends_is_iterated_over_and_its_offsets_are_javas(place: Place) -> None:
    topic = place.topic("Iterated")
    bodies = await place.send(topic)
    seen: Counter[bytes] = Counter()
    async with place.consumer(topic) as reader:
        async with asyncio.timeout(WITHIN_S):
            async for message in reader:
                seen[message.body] += 1
                await message.ack()
                if len(seen) == COUNT:
                    break
    assert seen == dict.fromkeys(bodies, 1)
    assert sum(place.committed(topic)) == COUNT
    async with java_member(place, "after-iterated", topic):
        await place.send(topic, 1)
        (one,) = await asyncio.to_thread(place.clients.wait_seen, "after-iterated", 1)
    assert one.body == b"m"


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_handlers_get_every_message_once(place: Place, kind: str) -> None:
    topic = place.topic(f"Handled-{kind}")
    bodies = await place.send(topic, tag="TagA", keys="k1 k2", properties={"colour": "blue"})
    seen: list[ReceivedMessage] = []

    async def on_loop(message: ReceivedMessage) -> None:
        seen.append(message)

    async with place.consumer(topic, on_loop if kind == "async" else seen.append):
        await until(lambda: len(seen) >= COUNT, "all messages", WITHIN_S)
        await until(lambda: sum(place.committed(topic)) == COUNT, "all offsets", WITHIN_S)
    assert Counter(message.body for message in seen) == dict.fromkeys(bodies, 1)
    assert {(message.topic, message.tag, message.keys, message.properties["colour"]) for message in seen} == {
        (topic, "TagA", ("k1", "k2"), "blue")
    }


async def test_what_our_producer_sends_both_kinds_of_consumer_get(place: Place) -> None:
    topic = place.topic("Ours")
    bodies = [b"n%d" % number for number in range(COUNT)]
    async with Producer("our-producer", namesrv=place.address) as producer:
        await asyncio.gather(*(producer.send(Message(topic=topic, body=body, tag="T")) for body in bodies))
    ours = Seen()
    async with place.consumer(topic, ours, group="G-ours-alone"), java_member(place, "ours", topic):
        await ours.came(COUNT, WITHIN_S)
        java = await asyncio.to_thread(place.clients.wait_seen, "ours", COUNT)
    assert ours.counts == Counter(each.body for each in java) == dict.fromkeys(bodies, 1)
    assert {message.msg_id for message in ours.messages} == {each.msg_id for each in java}


@pytest.mark.parametrize("strategy", [Averagely(), ByCircle(), ConsistentHash()], ids=lambda each: each.name)
async def test_a_group_of_java_and_ours_shares_the_queues_as_all_of_it_computes(
    place: Place, strategy: AllocationStrategy
) -> None:
    topic = place.topic(f"Mixed-{strategy.name}", 6)
    queues = [MessageQueue(topic, place.broker.name, number) for number in range(6)]
    seen = Seen()
    names = [f"mixed-{strategy.name}-{number}" for number in range(2)]
    async with (
        java_member(place, names[0], topic, strategy=strategy.name) as first,
        java_member(place, names[1], topic, strategy=strategy.name) as second,
        place.consumer(topic, seen, allocation=strategy) as reader,
    ):
        members = sorted([first, second, reader.status().client_id])
        for name, member in zip(names, (first, second), strict=True):
            expected = strategy.allocate(member, members, queues)
            await asyncio.to_thread(place.clients.wait_allocation, name, topic, len(expected))
            theirs = await asyncio.to_thread(place.clients.allocation, name)
            assert [tuple(each) for each in theirs if each.topic == topic] == [
                (each.topic, each.broker_name, each.queue_id) for each in expected
            ]
        mine = strategy.allocate(members[members.index(reader.status().client_id)], members, queues)
        await until(lambda: queues_of(reader, topic) == mine, f"our queues {mine}", WITHIN_S)
        bodies = await place.send(topic, 60)

        async def all_seen() -> Counter[bytes]:
            java = [each.body for name in names for each in await asyncio.to_thread(place.clients.seen, name)]
            return Counter(java) + seen.counts

        async with asyncio.timeout(WITHIN_S):
            while (together := await all_seen()) != dict.fromkeys(bodies, 1):
                assert max(together.values(), default=0) <= 1
                await asyncio.sleep(0.1)
        assert {message.queue for message in seen.messages} <= set(mine)


async def test_queues_are_handed_over_between_java_and_ours_both_ways(place: Place) -> None:
    topic = place.topic("HandedOver")
    seen = Seen()
    async with java_member(place, "hand-over", topic):
        await place.send(topic, 20)
        await asyncio.to_thread(place.clients.wait_seen, "hand-over", 20)
        async with place.consumer(topic, seen) as reader:
            await until(lambda: len(queues_of(reader, topic)) == 2, "our half", WITHIN_S)
            await asyncio.to_thread(place.clients.wait_allocation, "hand-over", topic, 2)
        await asyncio.to_thread(place.clients.wait_allocation, "hand-over", topic, QUEUES)
    async with place.consumer(topic, seen) as reader:
        await until(lambda: len(queues_of(reader, topic)) == QUEUES, "all queues", WITHIN_S)
        before = len(seen.messages)
        await place.send(topic, 20)
        await seen.came(before + 20, WITHIN_S)


async def test_failed_messages_come_again_and_end_in_the_dead_letters(place: Place) -> None:
    topic = place.topic("Failed")
    await place.send(topic, 3)

    def act(message: ReceivedMessage) -> object:
        if message.body == b"m0":
            raise ValueError("the handler of this test fails")
        return Later(1) if message.body == b"m1" and message.reconsume_times < 1 else None

    seen = Seen(act)
    async with place.consumer(topic, seen, max_reconsume_times=2):
        await seen.came(3 + 1 + 2, WITHIN_S)
        dead = f"%DLQ%G-{topic}"
        await until(lambda: place.name_server.view.route(dead), "the route of the dead letters", WITHIN_S)
    tries = [message.reconsume_times for message in seen.messages if message.body == b"m0"]
    assert tries == [0, 1, 2]
    assert {message.topic for message in seen.messages} == {topic}
    async with place.consumer(dead, group=f"G-dead-{topic}") as undertaker:
        async with asyncio.timeout(WITHIN_S):
            letter = await anext(undertaker)
        await letter.ack()
    assert (letter.body, letter.properties["RETRY_TOPIC"], letter.reconsume_times) == (b"m0", topic, 3)


async def test_in_order_each_queue_comes_in_order_and_members_hand_locks_over(place: Place) -> None:
    topic = place.topic("Ordered")
    await place.send(topic, 40)
    fails = {b"m7", b"m12"}
    seen = Seen(lambda message: Later() if message.body in fails and message.reconsume_times < 2 else None)
    async with place.consumer(topic, seen, orderly=True, orderly_pause_s=0.1) as first:
        await seen.came(40 + 4, WITHIN_S)
        for queue_id in range(QUEUES):
            mine = [message.queue_offset for message in seen.messages if message.queue.queue_id == queue_id]
            assert mine == sorted(mine)
        async with java_member(place, "ordered", topic, orderly=True):
            await asyncio.to_thread(place.clients.wait_allocation, "ordered", topic, 2)
            await until(lambda: len(queues_of(first, topic)) == 2, "our half", WITHIN_S)
            await place.send(topic, 40)
            await asyncio.to_thread(place.clients.wait_seen, "ordered", 20)
            await seen.came(44 + 20, WITHIN_S)
        await until(lambda: len(queues_of(first, topic)) == QUEUES, "all queues", WITHIN_S)


async def test_in_order_a_message_that_always_fails_becomes_a_dead_letter(place: Place) -> None:
    topic = place.topic("OrderedDead", 1)
    await place.send(topic, 3)
    seen = Seen(lambda message: Later() if message.body == b"m1" else None)
    async with place.consumer(topic, seen, orderly=True, orderly_pause_s=0.1, max_reconsume_times=1):
        await seen.came(4, WITHIN_S)
        dead = f"%DLQ%G-{topic}"
        await until(lambda: place.name_server.view.route(dead), "the route of the dead letters", WITHIN_S)
    assert seen.bodies == [b"m0", b"m1", b"m1", b"m2"]


async def test_broadcasting_members_get_everything_and_go_on_where_they_were(place: Place, tmp_path: Path) -> None:
    topic = place.topic("Broadcast")
    sent = Counter(await place.send(topic, 20))
    for instance in ("a", "b"):
        seen = Seen()
        options = {"broadcasting": True, "offset_folder": tmp_path, "instance_name": instance}
        async with place.consumer(topic, seen, **options):
            await seen.came(sent.total(), WITHIN_S)
            assert seen.counts == sent
        sent += Counter(await place.send(topic, 1))
        async with place.consumer(topic, seen, **options):
            await seen.came(sent.total(), WITHIN_S)
        assert seen.counts == sent


async def test_tags_and_sql_choose(place: Place) -> None:
    topic = place.topic("Chosen")
    for number, tag in enumerate("ABCA"):
        await place.send(topic, 1, tag=tag, properties={"n": number})
    by_tag, by_sql = Seen(), Seen()
    async with (
        place.consumer(topic, by_tag, group="G-tags", subscriptions={topic: "A || C"}),
        place.consumer(topic, by_sql, group="G-sql", subscriptions={topic: Sql("n > 0 AND TAGS IN ('A','B')")}),
    ):
        await by_tag.came(3, WITHIN_S)
        await by_sql.came(2, WITHIN_S)
    assert sorted(message.properties["n"] for message in by_tag.messages) == ["0", "2", "3"]
    assert sorted(message.properties["n"] for message in by_sql.messages) == ["1", "3"]


async def test_sql_that_does_not_parse_makes_the_start_raise(place: Place) -> None:
    topic = place.topic("WrongSql")
    with pytest.raises(RefusedError, match="code 23"):
        await place.consumer(topic, subscriptions={topic: Sql("n >")}).start()


async def test_a_new_group_begins_at_a_time(place: Place) -> None:
    """A 4.9 broker answers 0 for a group without an offset in a young queue: such a group begins there, as Java's does."""
    topic = place.topic("ByTime")
    await place.send(topic, 8)
    await asyncio.sleep(1.1)
    moment = dt.datetime.now(dt.UTC)
    await asyncio.sleep(0.1)
    await place.send(topic, 8)
    seen = Seen()
    expected = 16 if place.clients.release == V4_9 else 8
    async with place.consumer(topic, seen, consume_from=moment):
        await until(lambda: place.committed(topic) == [4] * QUEUES, "the end of all queues", WITHIN_S)
    assert len(seen.messages) == expected


async def test_polling(place: Place) -> None:
    topic = place.topic("Polled")
    bodies = await place.send(topic)
    seen: Counter[bytes] = Counter()
    async with LitePullConsumer(
        f"G-{topic}", namesrv=place.address, subscriptions={topic: None}, consume_from="first", persist_interval_s=0.5
    ) as reader:
        async with asyncio.timeout(WITHIN_S):
            while len(seen) < COUNT:
                seen.update(message.body for message in await reader.poll())
        queue = reader.assignment()[0]
        await reader.seek_to_begin(queue)
        async with asyncio.timeout(WITHIN_S):
            (first, *_) = await reader.poll(WITHIN_S)
        assert (first.queue, first.queue_offset) == (queue, 0)
        await reader.seek_to_end(queue)
        await reader.commit()
    assert seen == dict.fromkeys(bodies, 1)
    assert sum(place.committed(topic)) == COUNT


async def test_a_tool_sees_a_running_consumer_through_the_broker(place: Place) -> None:
    topic = place.topic("Watched")
    await place.send(topic, 20)
    seen = Seen()
    async with place.consumer(topic, seen) as reader:
        await seen.came(20, WITHIN_S)
        fields = {"consumerGroup": f"G-{topic}", "clientId": reader.status().client_id, "jstackEnable": "false"}
        info = await asyncio.to_thread(ask, place.broker.address, 307, fields)
        assert info.code == 0
        assert b'"PROP_CONSUME_TYPE":"CONSUME_PASSIVELY"' in info.body
        members = await asyncio.to_thread(ask, place.broker.address, 203, {"consumerGroup": f"G-{topic}"})
        assert reader.status().client_id.encode() in members.body
        assert b'"PYTHON"' in members.body
        message = seen.messages[0]
        fields = {
            "consumerGroup": f"G-{topic}",
            "clientId": reader.status().client_id,
            "msgId": message.offset_msg_id,
            "brokerName": place.broker.name,
        }
        again = await asyncio.to_thread(ask, place.broker.address, 309, fields)
        assert (again.code, b'"CR_SUCCESS"' in again.body) == (0, True)
        assert seen.counts[message.body] == 2


async def test_a_tool_resets_the_offsets_of_a_running_consumer(place: Place) -> None:
    topic = place.topic("Reset")
    await place.send(topic, 20)
    seen = Seen()
    async with place.consumer(topic, seen, suspend_s=1.0):
        await seen.came(20, WITHIN_S)
        await until(lambda: sum(place.committed(topic)) == 20, "all offsets", WITHIN_S)
        fields = {"topic": topic, "group": f"G-{topic}", "timestamp": "0", "isForce": "true"}
        answer = await asyncio.to_thread(ask, place.broker.address, 222, fields)
        assert answer.code == 0
        await seen.came(40, WITHIN_S)
        await until(lambda: sum(place.committed(topic)) == 20, "all offsets again", WITHIN_S)


async def test_c035_a_member_that_subscribes_to_something_else_can_be_refused(place: Place) -> None:
    topic = place.topic("Checked")
    async with java_member(place, "checked", topic, tags="A || B"):
        with pytest.raises(ClientError, match=r"Checked \(A \|\| B\).*Checked \(A\)"):
            await place.consumer(topic, subscriptions={topic: "A"}, check_group=True).start()
        async with place.consumer(topic, subscriptions={topic: "A || B"}, check_group=True) as reader:
            await until(lambda: queues_of(reader, topic), "our queues", WITHIN_S)
    async with place.consumer(topic, group="G-checked-alone", check_group=True) as alone:
        assert len(queues_of(alone, topic)) == QUEUES


async def test_pop_mode(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """A 4.9 broker knows none: the consumer says so and goes on. Acknowledgements go together."""
    topic = place.topic("Popped")
    mode = {"topic": topic, "consumerGroup": f"G-{topic}", "mode": "POP", "popShareQueueNum": 0}
    with Wire(place.broker.address) as wire:
        switched = await asyncio.to_thread(wire.request, 401, None, json.dumps(mode).encode())
    bodies = await place.send(topic, 50)
    seen = Seen(lambda message: Later(2) if message.body == b"m7" and message.reconsume_times == 0 else None)
    async with place.consumer(topic, seen, pop=True) as reader:
        if place.clients.release == V4_9:
            assert switched.code == 3
            assert "code 3" in str(reader.status().trouble)
            return
        await seen.came(51, WITHIN_S)
        assert seen.counts == Counter(bodies) + Counter([b"m7"])
        await until(lambda: sum(place.committed(topic)) >= 50, "all offsets", WITHIN_S)
        assert "not acknowledged" not in caplog.text


async def test_pop_mode_in_order(place: Place) -> None:
    """Each queue in its order; a failed message holds up those behind it; what a member leaves the next one has."""
    if place.clients.release == V4_9:
        async with place.consumer("T-none", Seen(), pop=True, orderly=True) as reader:
            assert reader.status().trouble
        return
    topic = place.topic("PoppedInOrder")
    place.broker.serve_by_pop(topic, f"G-{topic}")
    await place.send(topic, 100)
    failed: list[str] = []

    def act(message: ReceivedMessage) -> Later | None:
        if message.body == b"m50" and len(failed) < 2:
            failed.append(message.msg_id)
            return Later()
        return Later(-1) if message.body == b"m60" else None

    seen = Seen(act)
    options: dict[str, Any] = {"pop": True, "orderly": True, "orderly_pause_s": 0.2, "batch_messages": 8}
    async with place.consumer(topic, **options) as first:
        for _ in range(5):
            message = await anext(first)
            seen.messages.append(message)
            await message.ack()
        await anext(first)
    async with place.consumer(topic, seen, **options), place.consumer(topic, seen, **options):
        await seen.came(102, WITHIN_S)
        await until(lambda: sum(place.committed(topic)) == 100, "all offsets", WITHIN_S)
    bodies = Counter(b"m%d" % number for number in range(100)) + Counter({b"m50": 2})
    assert seen.counts == bodies
    for queue_id in range(QUEUES):
        offsets = [each.queue_offset for each in seen.messages if each.queue.queue_id == queue_id]
        assert offsets == sorted(offsets)
    dead: list[bytes] = []
    async with place.consumer(f"%DLQ%G-{topic}", group=f"G-dead-{topic}") as reader:
        dead.append((await anext(reader)).body)
    assert dead == [b"m60"]


async def test_the_broker_restarts_under_a_consumer(place: Place) -> None:
    """The last test of a broker. Nothing is lost; what was not committed may come twice."""
    topic = place.topic("Restarted")
    bodies = await place.send(topic, 100)
    seen = Seen()
    async with place.consumer(topic, seen) as reader:
        await seen.came(50, WITHIN_S)
        await asyncio.to_thread(place.broker.stop)
        await asyncio.to_thread(place.broker.start_registered)
        await until(lambda: all(each.trouble is None for each in reader.status().queues), "pulls that work", WITHIN_S)
        await place.send(topic, 50)
        await until(lambda: len(seen.messages) >= 150, "all messages", WITHIN_S)
        await until(lambda: sum(place.committed(topic)) == 150, "all offsets", WITHIN_S)
    assert set(seen.counts) == bodies
