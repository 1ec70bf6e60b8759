"""What users ran into with clients, played by our client against our broker.

The same ids against a faulty broker, and against Apache's, are in other modules; here the broker is ours.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_calls import Caller
from tests.support.consuming import Seen

from cosmodrome import (
    Broker,
    Consumer,
    Later,
    LitePullConsumer,
    Message,
    MessageQueue,
    NameServer,
    Producer,
    ReceivedMessage,
    RefusedError,
    SendResult,
    SendStatus,
    TransactionState,
)

WITHIN_S = 40.0
FAST = " ".join(["1s"] * 18)
QUICK: dict[str, Any] = {"message_delay_level": FAST, "transaction_time_out": 50, "transaction_check_interval": 50}


class Place:
    """A NameServer and a broker of ours, which may be stopped and started again with its store."""

    def __init__(self, namesrv: str, store: Path, settings: dict[str, Any]) -> None:
        self.namesrv = namesrv
        self._store = store
        self._settings = settings
        self._port = 0
        self.broker = Broker()

    async def start(self) -> None:
        self.broker = Broker(namesrv=self.namesrv, store=self._store, port=self._port, **self._settings)
        await self.broker.start()
        self._port = int(self.broker.address.rpartition(":")[2])

    async def restart(self) -> None:
        await self.broker.stop()
        await self.start()

    async def topic(self, name: str, queues: int) -> None:
        fields: dict[str, str | None] = {
            "topic": name, "defaultTopic": "TBW102", "readQueueNums": str(queues), "writeQueueNums": str(queues), "perm": "6",
            "topicFilterType": "SINGLE_TAG", "order": "false",
        }  # fmt: skip
        async with Caller(self.broker.address) as caller:
            await caller.ok(17, fields)

    async def committed(self, group: str, topic: str, queues: int) -> int:
        """Give the sum of what a group has committed."""
        async with Caller(self.broker.address) as caller:
            places = ({"consumerGroup": group, "topic": topic, "queueId": str(each)} for each in range(queues))
            answers = [await caller.ask(14, each) for each in places]
        return sum(int((each.ext_fields or {})["offset"] or 0) for each in answers if each.code == 0)

    def consumer(self, handler: Any = None, **options: Any) -> Consumer:
        settings: dict[str, Any] = {
            "subscriptions": {"T": None},
            "consume_from": "first",
            "persist_interval_s": 0.2,
        } | options
        return Consumer(settings.pop("group", "g"), namesrv=self.namesrv, handler=handler, **settings)


@asynccontextmanager
async def served(folder: Path, **settings: Any) -> AsyncIterator[Place]:
    async with NameServer(port=0) as name_server:
        place = Place(name_server.address, folder, QUICK | settings)
        await place.start()
        try:
            yield place
        finally:
            await place.broker.stop()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with served(tmp_path) as place:
        yield place


async def until(probe: Callable[[], Any], what: str) -> None:
    """Wait until an awaited value is true."""
    try:
        async with asyncio.timeout(WITHIN_S):
            while not await probe():  # noqa: ASYNC110 -- what is asked for is a broker's state
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"waited for {what}")


async def send(place: Place, count: int, topic: str = "T", **options: Any) -> list[bytes]:
    bodies = [b"%d" % number for number in range(count)]
    async with Producer("pg", namesrv=place.namesrv) as producer:
        await asyncio.gather(*(producer.send(Message(topic=topic, body=each, **options)) for each in bodies))
    return bodies


async def test_c004_closing_waits_for_sends_that_are_under_way(place: Place) -> None:
    await send(place, 1)
    producer = Producer("pg", namesrv=place.namesrv)
    await producer.start()
    sends = [asyncio.create_task(producer.send(Message(topic="T", body=b"%d" % each))) for each in range(500)]
    await asyncio.sleep(0)
    await producer.close()
    results = await asyncio.gather(*sends)
    assert {each.status for each in results} == {SendStatus.OK}


@pytest.mark.parametrize("size", [32_000, 32_766, 32_767, 32_768])
async def test_c009_long_properties_are_stored_or_refused_as_a_whole(place: Place, size: int) -> None:
    """With what the broker adds they may have 32,767 bytes; the connection lives, and offsets have no gap."""
    value = "v" * (size - len("own\x01\x02"))
    async with Producer("pg", namesrv=place.namesrv) as producer, Caller(place.broker.address) as caller:
        await producer.send(Message(topic="T", body=b"before"), queue=MessageQueue("T", "broker-a", 0))
        text = f"own\x01{value}\x02"
        answer = await caller.ask(310, fields_with(text), b"long")
        assert answer.code == (0 if size == 32_000 else 13)
        await producer.send(Message(topic="T", body=b"after"), queue=MessageQueue("T", "broker-a", 0))
        found = await caller.messages("T")
    middle = [b"long"] if size == 32_000 else []
    assert [each.body for each in found] == [b"before", *middle, b"after"]
    assert [each.queue_offset for each in found] == list(range(len(found)))


def fields_with(properties: str) -> dict[str, str | None]:
    return {
        "a": "pg", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1700000000000", "h": "0", "i": properties,
        "j": "0", "k": "false", "m": "false",
    }  # fmt: skip


async def test_c010_a_failed_message_with_nearly_full_properties_is_not_lost_and_stops_nobody(place: Place) -> None:
    """The broker's additions at a retry pass the limit: the rest of the queue goes on."""
    seen: Counter[bytes] = Counter()

    async def handle(message: ReceivedMessage) -> object:
        seen[message.body] += 1
        return Later(1) if message.body == b"full" else None

    async with Producer("pg", namesrv=place.namesrv) as producer, Caller(place.broker.address) as caller:
        await producer.send(Message(topic="T", body=b"first"), queue=MessageQueue("T", "broker-a", 0))
        text = f"own\x01{'v' * 32_500}\x02"
        await caller.ok(310, fields_with(text), b"full")
        await producer.send(Message(topic="T", body=b"last"), queue=MessageQueue("T", "broker-a", 0))
        async with place.consumer(handle, max_reconsume_times=2):

            async def is_settled() -> bool:
                return seen[b"last"] > 0 and seen[b"full"] > 0

            await until(is_settled, "the rest of the queue")

            async def is_kept() -> bool:
                dead = await caller.messages("%DLQ%g")
                return bool(dead) or await place.committed("g", "T", 1) <= 1 or seen[b"full"] > 1

            await until(is_kept, "the full one to come again, to be dead, or to hold the offset")
    assert seen[b"first"] == seen[b"last"] == 1


@pytest.mark.parametrize(
    ("outcome", "delivered"),
    [(TransactionState.COMMIT, 1), (TransactionState.ROLLBACK, 0), (None, 1), ("odd", 1), (ValueError("no"), 1)],
)
async def test_c014_a_local_transaction_that_says_nothing_clear_is_asked_about(
    place: Place, outcome: object, delivered: int
) -> None:
    asked = asyncio.Event()

    def local(_: Message, __: SendResult) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def check(_: object) -> TransactionState:
        asked.set()
        return outcome if isinstance(outcome, TransactionState) else TransactionState.COMMIT

    async with (
        Producer("pg", namesrv=place.namesrv, check_transaction=check) as producer,
        Caller(place.broker.address) as caller,
    ):
        await producer.send(Message(topic="T", body=b"before"), queue=MessageQueue("T", "broker-a", 0))
        result = await producer.send_transaction(Message(topic="Tx", body=b"half"), local)
        is_clear = isinstance(outcome, TransactionState)
        assert result.state is (outcome if is_clear else TransactionState.UNKNOWN)

        async def count() -> int:
            return sum([len(await caller.messages("Tx", each)) for each in range(4)])

        async def is_there() -> bool:
            return await count() == delivered and (is_clear or asked.is_set())

        await until(is_there, "the end of the transaction")


async def test_c022_a_consumer_that_is_closed_and_started_again_consumes(place: Place) -> None:
    """Many times; another client of the process notices nothing."""
    bystander = Seen()
    async with place.consumer(bystander, group="other"), Producer("pg", namesrv=place.namesrv) as producer:
        for number in range(8):
            await producer.send(Message(topic="T", body=b"%d" % number))
            seen = Seen()
            async with place.consumer(seen):
                await seen.came(1)
            assert seen.bodies == [b"%d" % number]
        await bystander.came(8)
    assert sorted(bystander.bodies) == [b"%d" % number for number in range(8)]


async def test_c038_more_and_fewer_queues_while_members_consume(place: Place) -> None:
    """From 4 to 8 and back: what is in queues that were cut off is delivered as far as it can be read, the rest for certain."""
    await place.topic("T", 4)
    seen = Seen()
    async with (
        Producer("pg", namesrv=place.namesrv, route_interval_s=0.1) as producer,
        place.consumer(seen, route_interval_s=0.1),
        place.consumer(seen, route_interval_s=0.1),
    ):
        sent = 0
        for queues in (4, 8, 4):
            await place.topic("T", queues)
            for _ in range(40):
                await sent_at_last(producer, b"%d" % sent)
                sent += 1
            await seen.until(lambda sent=sent: len(seen.counts) == sent)  # type: ignore[misc]
    assert seen.counts.keys() == {b"%d" % number for number in range(sent)}, (
        "while a queue changes hands it may come twice"
    )


async def sent_at_last(producer: Producer, body: bytes) -> None:
    """Send; a queue that is gone is refused until the producer knows."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            with contextlib.suppress(RefusedError):
                await producer.send(Message(topic="T", body=body))
                return


async def test_c041_a_broker_restarts_under_its_consumers(tmp_path: Path) -> None:
    """The first request after that is a pull, which says that the group is not known; nobody starts anything anew."""
    async with served(tmp_path) as place:
        seen = Seen()
        consumers = [place.consumer(seen, group=f"g{number}") for number in range(5)]
        for each in consumers:
            await each.start()
        try:
            await send(place, 20)
            await seen.came(100)
            await place.restart()
            await send(place, 20)
            await seen.came(200)
        finally:
            for each in consumers:
                await each.close()
    assert set(seen.counts.values()) >= {10}
    assert all(count >= 10 for count in seen.counts.values()), "20 bodies, each twice for five groups"


async def test_c046_a_reader_below_the_minimum_goes_on_from_it(tmp_path: Path) -> None:
    small = {"mapped_file_size_commit_log": 16_384, "file_reserved_time": 0, "delete_when": ""}
    async with served(tmp_path, **small) as place, Caller(place.broker.address) as caller:
        await place.topic("T", 1)
        await send(place, 200, keys=["k" * 200])
        await caller.heartbeat("g")
        await caller.ok(15, {"consumerGroup": "g", "topic": "T", "queueId": "0", "commitOffset": "3"})
        await caller.ok(329)
        low = int(((await caller.ok(31, {"topic": "T", "queueId": "0"})).ext_fields or {})["offset"] or 0)
        assert 3 < low < 200
        seen = Seen()
        async with place.consumer(seen):
            await seen.came(200 - low)

            async def is_committed() -> bool:
                return await place.committed("g", "T", 1) == 200

            await until(is_committed, "the end to be committed")
        queue = MessageQueue("T", "broker-a", 0)
        async with LitePullConsumer("lite", namesrv=place.namesrv) as reader:
            await reader.assign([queue])
            await reader.seek(queue, 1)
            async with asyncio.timeout(WITHIN_S):
                while not (polled := await reader.poll(timeout_s=1)):
                    continue
    assert len(seen.bodies) == 200 - low
    assert min(each.queue_offset for each in polled) == low


async def test_c048_when_all_is_handled_the_end_is_committed(place: Place) -> None:
    bodies = await send(place, 3000)
    seen = Seen()
    async with place.consumer(seen):
        await seen.came(3000)

        async def is_committed() -> bool:
            return await place.committed("g", "T", 4) == 3000

        await until(is_committed, "the end to be committed")
    assert seen.counts == dict.fromkeys(bodies, 1)


async def test_c052_offsets_that_are_stored_and_not(place: Place) -> None:
    """Whether 14 says 0 or that there is none: a group begins where its rule says, and goes on where it was."""
    await send(place, 5)
    seen = Seen()
    async with place.consumer(seen):
        await seen.came(5)
    assert await place.committed("g", "T", 4) == 5, "closing commits"
    again = Seen()
    async with place.consumer(again):
        await send(place, 3)
        await again.came(3)
    assert len(again.bodies) == 3


@pytest.mark.parametrize("most", [0, 1, 3])
async def test_c055_a_message_comes_as_often_as_its_limit_says_and_is_kept_then(place: Place, most: int) -> None:
    times: list[int] = []

    async def handle(message: ReceivedMessage) -> object:
        times.append(message.reconsume_times)
        return Later(1)

    await send(place, 1)
    async with place.consumer(handle, max_reconsume_times=most), Caller(place.broker.address) as caller:
        (dead,) = await caller.until("%DLQ%g", 1)
    assert times == list(range(most + 1))
    assert dead.body == b"0"


async def test_c059_locks_are_given_back_when_a_member_goes(place: Place) -> None:
    """The next member need not wait until they run out, which takes a minute; queues stay in order."""
    await place.topic("T", 2)
    first, second = Seen(), Seen()
    async with Producer("pg", namesrv=place.namesrv) as producer:
        one = place.consumer(first, orderly=True)
        await one.start()
        for number in range(20):
            await producer.send(
                Message(topic="T", body=b"%d" % number), queue=MessageQueue("T", "broker-a", number % 2)
            )
        await first.came(20)
        await one.close()
        async with place.consumer(second, orderly=True):
            for number in range(20, 40):
                await producer.send(
                    Message(topic="T", body=b"%d" % number), queue=MessageQueue("T", "broker-a", number % 2)
                )
            await second.came(20)
    for seen, begin in ((first, 0), (second, 20)):
        numbers = [int(each) for each in seen.bodies]
        for queue in (0, 1):
            assert [each for each in numbers if each % 2 == queue] == list(range(begin + queue, begin + 20, 2))


async def test_c064_tags_with_one_hash_are_told_apart(place: Place) -> None:
    async with Producer("pg", namesrv=place.namesrv) as producer:
        for tag in ("Aa", "BB", "AaAa", "BBBB", "\u706b", "\U0001f680"):
            await producer.send(Message(topic="T", body=tag.encode(), tag=tag))
    for tag in ("Aa", "AaAa", "\U0001f680"):
        seen = Seen()
        async with place.consumer(seen, group=f"g-{ord(tag[0])}-{len(tag)}", subscriptions={"T": tag}):
            await seen.came(1)
        assert seen.bodies == [tag.encode()]


async def test_c002_refusals_of_our_broker_are_final_and_say_why(place: Place) -> None:
    await send(place, 1)
    async with Producer("pg", namesrv=place.namesrv) as producer:
        with pytest.raises(RefusedError, match="queueId"):
            await producer.send(Message(topic="T", body=b"x"), queue=MessageQueue("T", "broker-a", 99))
        assert (await producer.send(Message(topic="T", body=b"x"))).status is SendStatus.OK
