"""Our producer and Apache's brokers, which find each other through our NameServer."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.interop.conftest import StageMaker
from tests.interop.rig.brokers import ApacheBroker, BrokerSettings
from tests.interop.rig.jars import V4_9, V5_1, V5_5
from tests.interop.rig.name_servers import NameServer
from tests.support.builders import eventually

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.consumer.consumer import Consumer
from cosmodrome.client.consumer.handlers import Later
from cosmodrome.client.consumer.lite_pull import LitePullConsumer
from cosmodrome.client.message import Message, MessageQueue, ReceivedMessage, SendResult, SendStatus
from cosmodrome.client.producer.producer import Producer
from cosmodrome.client.producer.transactions import TransactionState
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import NotPermittedError, RefusedError
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.protocol.messages.record import StoredMessage, decode_record

WITHIN_S = 40.0
"""A broker looks for transactions to ask about every few seconds, and for due messages twice a second."""


@dataclass(frozen=True)
class Place:
    """A broker that runs, and where clients begin."""

    release: str
    name_server: NameServer
    broker: ApacheBroker

    @property
    def is_5(self) -> bool:
        return self.release != V4_9


@pytest.fixture(scope="module", params=[V5_5, V4_9, pytest.param(V5_1, marks=pytest.mark.full)])
def place(request: pytest.FixtureRequest, new_stage: StageMaker) -> Iterator[Place]:
    release = request.param
    with new_stage(f"producer-{release}") as stage:
        name_server = stage.name_server()
        broker = stage.registered_broker(
            BrokerSettings(
                release=release,
                name="broker-a",
                name_servers=[name_server.address],
                config={
                    "transactionCheckInterval": "1000",
                    "transactionTimeOut": "1000",
                    "recallMessageEnable": "true",
                },
            )
        )
        broker.create_topic("T", 4)
        yield Place(release, name_server, broker)


@pytest.fixture
async def session(place: Place) -> AsyncIterator[ClientSession]:
    async with ClientSession(ClientConfig(namesrv=place.name_server.address)) as one:
        yield one


async def stored(session: ClientSession, place: Place, offset_msg_id: str) -> StoredMessage:
    found = decode_offset_msg_id(offset_msg_id)
    assert found is not None
    answer = await session.requests.ask(
        place.broker.address, BrokerRequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(found.commit_log_offset)}
    )
    return decode_record(answer.body)[0]


async def pulled(session: ClientSession, place: Place, queue: MessageQueue, offset: int) -> list[StoredMessage]:
    """Give what is in a queue from an offset on."""
    header = {
        "consumerGroup": "looker",
        "topic": queue.topic,
        "queueId": str(queue.queue_id),
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": "4",
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subscription": "*",
        "subVersion": "0",
    }
    answer = await session.requests.ask_any(place.broker.address, BrokerRequestCode.PULL_MESSAGE, header)
    if answer.code != ResponseCode.SUCCESS:
        return []
    found, at = [], 0
    while at < len(answer.body):
        record, at = decode_record(answer.body, at)
        found.append(record)
    return found


async def newest(session: ClientSession, place: Place, queue: MessageQueue) -> list[StoredMessage]:
    """Give the last messages of a queue."""
    end = await max_offset(session, place, queue)
    return await pulled(session, place, queue, max(0, end - 32))


async def arrived(session: ClientSession, place: Place, result: SendResult) -> StoredMessage:
    """Wait until a message is in the queue that its result names, and give it."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            for record in await newest(session, place, result.queue):
                if record.msg_id == result.msg_id:
                    return record
            await asyncio.sleep(0.2)


async def test_a_message_is_stored_as_it_was_sent(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        message = Message(
            topic="T",
            body="Grüße, 消息 🚀".encode(),
            tag="TagÄ",
            keys=["k1", "k2"],
            properties={"color": "blau 🚀"},
            flag=7,
        )
        result = await producer.send(message)
        assert (result.status, result.queue.topic, result.queue.broker_name) == (SendStatus.OK, "T", "broker-a")
        record = await stored(session, place, result.offset_msg_id)
        assert (record.topic, record.body, record.flag) == ("T", message.body, 7)
        assert (record.queue_id, record.queue_offset) == (result.queue.queue_id, result.queue_offset)
        assert record.msg_id == result.msg_id
        assert record.properties["TAGS"] == "TagÄ"
        assert record.properties["KEYS"] == "k1 k2"
        assert record.properties["color"] == "blau 🚀"


async def test_queues_take_turns_and_keys_keep_theirs(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        turns = [(await producer.send(Message(topic="T", body=b"x"))).queue.queue_id for _ in range(8)]
        assert sorted(turns) == [0, 0, 1, 1, 2, 2, 3, 3]
        keyed = [await producer.send(Message(topic="T", body=b"x", sharding_key="order-7")) for _ in range(3)]
        assert len({each.queue for each in keyed}) == 1
        chosen = await producer.send(Message(topic="T", body=b"x"), queue=MessageQueue("T", "broker-a", 3))
        assert chosen.queue.queue_id == 3


async def test_many_sends_at_once(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        results = await asyncio.gather(*(producer.send(Message(topic="T", body=b"%d" % n)) for n in range(500)))
        assert len({each.msg_id for each in results}) == len({each.offset_msg_id for each in results}) == 500
        assert producer.pending_count == producer.pending_bytes == 0


async def test_a_topic_is_made_by_sending_to_it(place: Place, session: ClientSession) -> None:
    topic = f"Made-{place.release.replace('.', '-')}"
    async with Producer("pg", session=session) as producer:
        result = await producer.send(Message(topic=topic, body=b"first"))
        assert result.queue.queue_id in range(4)
        assert (await stored(session, place, result.offset_msg_id)).topic == topic


async def test_batches(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        messages = [Message(topic="T", body=b"%d" % n, keys=[f"schlüssel-{n}"]) for n in range(20)]
        result = await producer.send_batch(messages)
        ids = result.offset_msg_id.split(",")
        assert len(ids) == len(result.msg_id.split(",")) == 20
        records = [await stored(session, place, each) for each in ids]
        assert [record.body for record in records] == [message.body for message in messages]
        assert [record.msg_id for record in records] == result.msg_id.split(",")
        assert [record.queue_offset for record in records] == list(range(result.queue_offset, result.queue_offset + 20))


async def test_c008_every_piece_of_a_split_batch_is_accepted(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session, max_message_bytes=128 * 1024) as producer:
        messages = [
            Message(topic="T", body=b"x" * 900, keys=[f"键{n}"], properties={"Eigenschaft": "值" * 100})
            for n in range(300)
        ]
        pieces = producer.split_batch(messages)
        assert len(pieces) > 2
        results = [await producer.send_batch(piece) for piece in pieces]
        assert sum(len(each.msg_id.split(",")) for each in results) == 300


async def test_large_bodies_are_compressed(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        for size in (4095, 4096, 300_000):
            result = await producer.send(Message(topic="T", body=b"ab" * (size // 2) + b"c" * (size % 2)))
            record = await stored(session, place, result.offset_msg_id)
            assert bool(record.sys_flag & 1) == (size >= 4096)
            assert ReceivedMessage(record, result.queue).body == b"ab" * (size // 2) + b"c" * (size % 2)


async def test_delay_levels(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        result = await producer.send(Message(topic="T", body=b"later", delay_level=1))
        record = await arrived(session, place, result)
        assert record.body == b"later"
        assert record.store_timestamp_ms - record.born_timestamp_ms >= 900


async def test_timed_messages(place: Place, session: ClientSession) -> None:
    """A 4.9 broker does not know them and delivers at once; 5.1 does not tell a handle."""
    async with Producer("pg", session=session) as producer:
        by_delay = await producer.send(Message(topic="T", body=b"delay", delay=timedelta(seconds=2.5)))
        at = datetime.now(UTC) + timedelta(seconds=3)
        by_time = await producer.send(Message(topic="T", body=b"time", deliver_at=at))
        records = [await arrived(session, place, result) for result in (by_delay, by_time)]
        assert [record.body for record in records] == [b"delay", b"time"]
        for record in records:
            waited_ms = record.store_timestamp_ms - record.born_timestamp_ms
            assert waited_ms >= 1000 if place.is_5 else waited_ms < 1000


async def test_a_timed_message_is_taken_back(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        result = await producer.send(Message(topic="T", body=b"never", delay=60))
        if place.release != V5_5:
            assert result.recall_handle is None
            return
        assert result.recall_handle is not None
        assert await producer.recall("T", result.recall_handle) == result.msg_id


async def test_a_transaction_is_committed_or_rolled_back(place: Place, session: ClientSession) -> None:
    async with Producer("tg", session=session, check_transaction=lambda _: TransactionState.UNKNOWN) as producer:
        seen: list[SendResult] = []

        async def commit(_: Message, result: SendResult) -> TransactionState:
            seen.append(result)
            return TransactionState.COMMIT

        committed = await producer.send_transaction(Message(topic="T", body=b"kept"), commit)
        rolled_back = await producer.send_transaction(
            Message(topic="T", body=b"gone"), lambda *_: TransactionState.ROLLBACK
        )
        assert seen == [committed.send_result]
        assert (await arrived(session, place, committed.send_result)).body == b"kept"
        in_queue = await newest(session, place, rolled_back.send_result.queue)
        assert rolled_back.send_result.msg_id not in {record.msg_id for record in in_queue}


async def test_a_broker_asks_about_a_transaction_whose_end_is_unknown(place: Place, session: ClientSession) -> None:
    asked: list[ReceivedMessage] = []

    async def check(message: ReceivedMessage) -> TransactionState:
        asked.append(message)
        return TransactionState.COMMIT

    async with Producer("tg-check", session=session, check_transaction=check) as producer:
        unknown = await producer.send_transaction(Message(topic="T", body=b"a" * 5000), lambda *_: None)
        assert unknown.state is TransactionState.UNKNOWN
        record = await arrived(session, place, unknown.send_result)
        assert ReceivedMessage(record, unknown.send_result.queue).body == b"a" * 5000
        assert (asked[0].topic, asked[0].msg_id) == ("T", unknown.send_result.msg_id)
        assert asked[0].body == b"a" * 5000


async def test_request_and_reply(place: Place, session: ClientSession) -> None:
    """The replying side is another client, which reads the request from its queue."""
    async with (
        Producer("requesters", session=session) as asking,
        Producer("repliers", namesrv=place.name_server.address) as replying,
    ):
        queues = await asking.queues("T")
        starts = {queue: await max_offset(session, place, queue) for queue in queues}

        async def serve() -> None:
            while True:
                for queue, start in starts.items():
                    for record in await pulled(session, place, queue, start):
                        if record.body == b"question":
                            await replying.reply(ReceivedMessage(record, queue), b"answer")
                            return
                await asyncio.sleep(0.05)

        server = asyncio.create_task(serve())
        reply = await asking.request(Message(topic="T", body=b"question"), timeout=20)
        await server
        assert reply.body == b"answer"


async def max_offset(session: ClientSession, place: Place, queue: MessageQueue) -> int:
    header = {"topic": queue.topic, "queueId": str(queue.queue_id)}
    answer = await session.requests.ask(place.broker.address, BrokerRequestCode.GET_MAX_OFFSET, header)
    return int((answer.ext_fields or {})["offset"] or "")


async def test_a_oneway_is_stored(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        queue = MessageQueue("T", "broker-a", 2)
        start = await max_offset(session, place, queue)
        msg_id = await producer.send_oneway(Message(topic="T", body=b"oneway"), queue=queue)
        async with asyncio.timeout(WITHIN_S):
            while not (found := await pulled(session, place, queue, start)):  # noqa: ASYNC110 -- nobody is told
                await asyncio.sleep(0.05)
        assert found[0].msg_id == msg_id


async def test_c009_the_largest_properties_round_trip_and_larger_ones_are_refused(
    place: Place, session: ClientSession
) -> None:
    async with Producer("pg", session=session) as producer:
        largest = Message(topic="T", body=b"x", properties={"p": "v" * 32_500})
        result = await producer.send(largest)
        record = await stored(session, place, result.offset_msg_id)
        assert record.properties["p"] == "v" * 32_500
        too_large_with_additions = Message(
            topic="T", body=b"x", properties={"p": "v" * (32_767 - len("UNIQ_KEY") - 34 - len("WAIT_true_p__"))}
        )
        with pytest.raises(RefusedError) as caught:
            await producer.send(too_large_with_additions)
        assert caught.value.code == ResponseCode.MESSAGE_ILLEGAL
        assert (await producer.send(Message(topic="T", body=b"after"))).status is SendStatus.OK


async def test_a_topic_that_is_closed_is_refused_by_both_sides(place: Place, session: ClientSession) -> None:
    async with Producer("pg", session=session) as producer:
        with pytest.raises(NotPermittedError) as caught:
            await session.requests.ask(
                place.broker.address,
                BrokerRequestCode.SEND_MESSAGE_V2,
                {"a": "pg", "b": "SELF_TEST_TOPIC", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"},
                b"x",
            )
        with pytest.raises(ValueError, match="is forbidden") as ours:
            await producer.send(Message(topic="SELF_TEST_TOPIC", body=b"x"))
        assert str(ours.value) == caught.value.remark


async def test_a_namespace_is_put_before_the_topic_and_taken_off_the_result(place: Place) -> None:
    async with Producer("pg", namesrv=place.name_server.address, namespace="INST") as producer:
        result = await producer.send(Message(topic="T", body=b"x"))
        assert result.queue.topic == "T"
        record = await stored(producer._session, place, result.offset_msg_id)
        assert record.topic == "INST%T"
        assert record.properties["INSTANCE_ID"] == "INST"


async def test_c015_traces_of_consumers_are_read_by_the_java_tool(place: Place, new_stage: StageMaker) -> None:
    """Of a handler, an iteration and polls, each of a group of its own; one message fails once and comes again."""
    topic = "TracedConsumers"
    place.broker.create_topic(topic, 1)
    options: dict[str, Any] = {
        "namesrv": place.name_server.address, "subscriptions": {topic: None}, "consume_from": "first", "trace": True
    }  # fmt: skip
    failures: list[str] = []

    def handle(message: ReceivedMessage) -> Later | None:
        if failures:
            return None
        failures.append(message.msg_id)
        return Later(1)

    async with Producer("pg-traced", namesrv=place.name_server.address, trace=True) as producer:
        sent = [await producer.send(Message(topic=topic, body=b"x", keys=keys)) for keys in ((), ("k1", "k2"))]
    async with (
        Consumer("G-traced-handler", handler=handle, **options) as by_handler,
        Consumer("G-traced-next", **options) as iterated,
        LitePullConsumer("G-traced-poll", **options) as polled,
    ):
        for _ in sent:
            await (await anext(iterated)).ack()
        while len(await polled.poll(1)) > 0:
            pass
        await eventually(lambda: failures, "a handler", 10)
    assert not by_handler.dropped_traces + iterated.dropped_traces + polled.dropped_traces
    with new_stage(f"trace-consumers-{place.release}") as stage:
        tool = stage.mqadmin(place.release)
        for result in sent:
            shown = await asyncio.to_thread(
                tool.run, "queryMsgTraceById", "-n", place.name_server.address, "-i", result.msg_id
            )
            for group in ("G-traced-handler", "G-traced-next", "G-traced-poll"):
                assert group in shown, shown


async def test_c015_traces_are_read_by_the_java_tool(place: Place, new_stage: StageMaker) -> None:
    """Of messages that were sent just before the end; the tool finds them by the message's id."""
    async with Producer(
        "pg-traced", namesrv=place.name_server.address, trace=True, check_transaction=lambda _: TransactionState.UNKNOWN
    ) as producer:
        await producer.queues("T")
        sent = await producer.send(Message(topic="T", body=b"x", keys=["traced"], tag="TagT"))
        outcome = await producer.send_transaction(Message(topic="T", body=b"x"), lambda *_: TransactionState.COMMIT)
        batch = await producer.send_batch([Message(topic="T", body=b"x"), Message(topic="T", body=b"y")])
    with new_stage(f"trace-{place.release}") as stage:
        tool = stage.mqadmin(place.release)
        for msg_id, words in (
            (sent.msg_id, ["Pub", "pg-traced", "success"]),
            (outcome.send_result.msg_id, ["Pub", "success"]),
            (batch.msg_id.split(",")[1], ["Pub", "success"]),
        ):
            shown = tool.run("queryMsgTraceById", "-n", place.name_server.address, "-i", msg_id)
            assert all(word in shown for word in words), shown
