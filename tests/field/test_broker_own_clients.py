"""Our producer and consumer with our broker."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from tests.support.broker_calls import Caller

from cosmodrome import Broker, Consumer, Later, Message, NameServer, Producer, ReceivedMessage

WITHIN_S = 40.0


@pytest.fixture
async def name_server() -> AsyncIterator[str]:
    async with (
        NameServer(port=0) as server,
        Broker(namesrv=server.address, message_delay_level=" ".join(["1s"] * 18)),
    ):
        yield server.address


async def test_everything_that_is_sent_is_consumed(name_server: str) -> None:
    seen: Counter[bytes] = Counter()
    async with Producer("pg", namesrv=name_server) as producer:
        await asyncio.gather(*(producer.send(Message(topic="T", body=b"%d" % number)) for number in range(500)))
        async with (
            asyncio.timeout(WITHIN_S),
            Consumer("g", namesrv=name_server, subscriptions={"T": None}, consume_from="first") as consumer,
        ):
            async for message in consumer:
                seen[message.body] += 1
                await message.ack()
                if len(seen) == 500:
                    break
    assert seen == {b"%d" % number: 1 for number in range(500)}


async def test_a_new_member_goes_on_where_the_group_was(name_server: str) -> None:
    seen: list[bytes] = []
    async with Producer("pg", namesrv=name_server) as producer, asyncio.timeout(WITHIN_S):
        for begin in (0, 20):
            for number in range(begin, begin + 20):
                await producer.send(Message(topic="T", body=b"%d" % number))
            async with Consumer("g", namesrv=name_server, subscriptions={"T": None}, consume_from="first") as consumer:
                async for message in consumer:
                    seen.append(message.body)
                    await message.ack()
                    if len(seen) == begin + 20:
                        break
    assert Counter(seen) == {b"%d" % number: 1 for number in range(40)}


async def test_a_failed_message_comes_again(name_server: str) -> None:
    times: asyncio.Queue[int] = asyncio.Queue()

    async def handle(message: ReceivedMessage) -> object:
        times.put_nowait(message.reconsume_times)
        return Later(1) if message.reconsume_times < 2 else None

    async with (
        asyncio.timeout(WITHIN_S),
        Producer("pg", namesrv=name_server) as producer,
        Consumer("g", namesrv=name_server, subscriptions={"T": None}, consume_from="first", handler=handle),
    ):
        await producer.send(Message(topic="T", body=b"x"))
        assert [await times.get() for _ in range(3)] == [0, 1, 2]


async def test_a_popping_consumer_gets_everything_and_what_failed_again() -> None:
    mode = {"topic": "T", "consumerGroup": "g", "mode": "POP", "popShareQueueNum": 0}
    seen: Counter[tuple[bytes, int]] = Counter()
    all_seen = asyncio.Event()

    async def handle(message: ReceivedMessage) -> object:
        seen[message.body, message.reconsume_times] += 1
        if len(seen) == 42:
            all_seen.set()
        return Later(1) if message.body in (b"3", b"4") and message.reconsume_times == 0 else None

    async with (
        asyncio.timeout(WITHIN_S),
        NameServer(port=0) as server,
        Broker(namesrv=server.address) as broker,
        Caller(broker.address) as caller,
        Producer("pg", namesrv=server.address) as producer,
    ):
        for number in range(40):
            await producer.send(Message(topic="T", body=b"%d" % number))
        await caller.ok(401, {}, json.dumps(mode).encode())
        topics: dict[str, None] = {"T": None}
        async with Consumer(
            "g", handler=handle, namesrv=server.address, subscriptions=topics, pop=True, consume_from="first"
        ):
            await all_seen.wait()
    assert seen == {(b"%d" % number, 0): 1 for number in range(40)} | {(b"3", 1): 1, (b"4", 1): 1}
