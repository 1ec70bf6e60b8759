"""What is handed out, finished and failed of one queue, in any order and in order."""

import asyncio
from collections.abc import Callable

import pytest
from tests.unit.client.consumer.stored import stored

from cosmodrome.client.consumer.assigned_queue import AssignedQueue, OrderlyQueue, QueueParts
from cosmodrome.client.consumer.deliveries import Deliveries
from cosmodrome.client.consumer.process_queue import HoldingLimits, Total
from cosmodrome.client.consumer.room import SharedRoom
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.protocol.messages.record import StoredMessage

QUEUE = MessageQueue("T", "broker-a", 0)
RETRY_QUEUE = MessageQueue("%RETRY%G", "broker-a", 0)
NO_PAUSE_S = 0.0
LONG_S = 60.0


class Failed:
    """Takes failed messages, or does not."""

    def __init__(self) -> None:
        self.takes = True
        self.given: list[tuple[int, int | None]] = []
        self.hold: asyncio.Event | None = None

    async def take(self, queue: MessageQueue, message: StoredMessage, delay_level: int | None) -> bool:
        self.given.append((message.queue_offset, delay_level))
        if self.hold is not None:
            await self.hold.wait()
        return self.takes


class Rig:
    """A queue and everything around it."""

    def __init__(self, kind: type[AssignedQueue] = AssignedQueue, queue: MessageQueue = QUEUE) -> None:
        self.deliveries = Deliveries()
        self.failed = Failed()
        self.total = Total(2**40)
        parts = QueueParts(self.deliveries, SharedRoom(self.total), self.failed, NO_PAUSE_S, str.lower)
        self.queue = kind(queue, 0, HoldingLimits(messages=3), parts)

    def pulled(self, *offsets: int, **more: object) -> None:
        messages = [stored(offset, topic=self.queue.queue.topic, **more) for offset in offsets]  # type: ignore[arg-type]
        self.queue.offer(self.queue.held.take(messages, offsets[-1] + 1))

    def next(self) -> ReceivedMessage | None:
        found = self.deliveries.take()
        return None if found is None else found[1]

    def message(self) -> ReceivedMessage:
        message = self.next()
        assert message is not None
        return message

    async def message_later(self) -> ReceivedMessage:
        async with asyncio.timeout(5):
            found = await self.deliveries.next()
        assert found is not None
        return found[1]


def orderly() -> Rig:
    rig = Rig(OrderlyQueue)
    assert isinstance(rig.queue, OrderlyQueue)
    rig.queue.locked(LONG_S)
    return rig


async def test_a_message_that_is_done_lets_the_offset_move() -> None:
    rig = Rig()
    rig.pulled(0, 1)

    first, second = rig.message(), rig.message()
    await second.ack()
    assert rig.queue.committable == 0
    await first.ack()

    assert (rig.queue.committable, rig.queue.handed_out, rig.total.size_bytes) == (2, 0, 0)


async def test_a_second_word_about_a_message_changes_nothing() -> None:
    rig = Rig()
    rig.pulled(0)
    message = rig.message()

    await message.ack()
    await message.ack()
    await message.retry()

    assert rig.failed.given == []


async def test_what_is_done_of_a_lost_queue_does_not_count() -> None:
    rig = Rig()
    rig.pulled(0, 1)
    message = rig.message()

    rig.queue.drop()
    await message.ack()
    await message.retry()

    assert rig.next() is None
    assert (rig.failed.given, rig.total.size_bytes) == ([], 0)


async def test_a_failed_message_that_was_taken_elsewhere_is_done_here() -> None:
    rig = Rig()
    rig.pulled(0)

    await rig.message().retry(5)

    assert rig.failed.given == [(0, 5)]
    assert rig.queue.committable == 1


async def test_c054_a_failed_message_that_nobody_takes_comes_again_and_holds_the_offset() -> None:
    rig = Rig()
    rig.failed.takes = False
    rig.pulled(0, 1)
    first, second = rig.message(), rig.message()
    await second.ack()

    await first.retry()
    again = await rig.message_later()

    assert (again.queue_offset, again.reconsume_times, rig.queue.committable) == (0, 1, 0)
    await again.ack()
    assert rig.queue.committable == 2


async def test_cancelling_while_a_message_is_sent_back_does_not_lose_it() -> None:
    rig = Rig()
    rig.failed.hold = asyncio.Event()
    rig.pulled(0)
    failing = asyncio.create_task(rig.message().retry())
    await asyncio.sleep(0)

    failing.cancel()

    assert (await rig.message_later()).queue_offset == 0


async def test_a_bad_delay_level_is_refused_and_the_message_stays() -> None:
    rig = Rig()
    rig.pulled(0)
    message = rig.message()

    with pytest.raises(ValueError, match="delay_level"):
        await message.retry(19)

    assert rig.queue.committable == 0
    await message.ack()
    assert rig.queue.committable == 1


async def test_a_message_of_the_retry_topic_has_the_topic_that_it_was_sent_to() -> None:
    """And all topics are named as the program knows them: here in lower case."""
    rig = Rig(queue=RETRY_QUEUE)

    rig.pulled(0, properties={"RETRY_TOPIC": "Orders"}, reconsume_times=2)
    rig.pulled(1)

    message = rig.message()
    assert (message.topic, message.reconsume_times, message.queue) == ("orders", 2, RETRY_QUEUE)
    assert rig.message().topic == "%retry%g"


async def test_moving_elsewhere_forgets_what_was_pulled() -> None:
    rig = Rig()
    rig.pulled(0, 1, 2)
    old = rig.message()

    rig.queue.move_to(1)
    assert rig.next() is None
    await old.ack()
    assert rig.queue.committable == 1
    rig.pulled(1)

    assert rig.message().queue_offset == 1
    assert rig.next() is None


async def test_pulling_waits_for_room_and_goes_on_when_there_is_some() -> None:
    rig = Rig()
    rig.pulled(0, 1, 2)
    assert not rig.queue.may_pull
    waiting = asyncio.create_task(rig.queue.change())
    await asyncio.sleep(0)

    await rig.message().ack()
    await waiting

    assert rig.queue.may_pull


async def test_a_paused_queue_neither_pulls_nor_hands_out() -> None:
    rig = Rig()
    rig.pulled(0)

    rig.queue.pause()
    assert (rig.queue.may_pull, rig.next()) == (False, None)
    rig.queue.resume()

    assert rig.queue.may_pull
    assert rig.message().queue_offset == 0


async def test_in_order_there_is_one_message_at_a_time() -> None:
    rig = orderly()
    rig.pulled(0, 1)
    rig.pulled(2)

    first = rig.message()
    assert rig.next() is None
    await first.ack()
    second = rig.message()
    assert rig.next() is None
    await second.ack()

    assert rig.message().queue_offset == 2


async def test_in_order_those_behind_a_failed_message_wait() -> None:
    rig = orderly()
    rig.failed.takes = False
    rig.pulled(0, 1)

    await rig.message().retry()
    again = await rig.message_later()
    assert (again.queue_offset, again.reconsume_times) == (0, 1)
    assert rig.next() is None
    await again.retry()
    third = await rig.message_later()
    assert (third.queue_offset, third.reconsume_times) == (0, 2)
    await third.ack()

    assert (await rig.message_later()).queue_offset == 1


async def test_in_order_a_message_that_is_given_up_lets_the_next_one_go() -> None:
    rig = orderly()
    rig.pulled(0, 1)

    await rig.message().retry()

    assert rig.message().queue_offset == 1


@pytest.mark.parametrize("lose", [OrderlyQueue.unlocked, lambda queue: queue.locked(0.0)])
async def test_c059_a_lost_lock_holds_up_what_was_not_handed_out(lose: Callable[[OrderlyQueue], None]) -> None:
    rig = orderly()
    assert isinstance(rig.queue, OrderlyQueue)
    rig.pulled(0, 1)
    first = rig.message()

    lose(rig.queue)
    await first.ack()
    assert (rig.next(), rig.queue.may_pull, rig.queue.committable) == (None, False, 1)
    rig.queue.locked(LONG_S)

    assert rig.message().queue_offset == 1


async def test_c059_a_lock_that_is_lost_after_a_message_was_offered_keeps_it_here() -> None:
    rig = orderly()
    assert isinstance(rig.queue, OrderlyQueue)
    rig.pulled(0, 1)

    rig.queue.unlocked()
    assert rig.next() is None
    rig.queue.locked(LONG_S)

    assert rig.message().queue_offset == 0


async def test_c059_leaving_waits_for_the_message_that_is_handled_and_hands_out_no_other() -> None:
    rig = orderly()
    assert isinstance(rig.queue, OrderlyQueue)
    rig.pulled(0, 1)
    message = rig.message()

    assert not await rig.queue.leave(0.01)
    leaving = asyncio.create_task(rig.queue.leave(5))
    await asyncio.sleep(0)
    await message.ack()

    assert await leaving
    assert (rig.next(), rig.queue.committable) == (None, 1)


async def test_a_queue_that_need_not_leave_goes_on() -> None:
    rig = orderly()
    assert isinstance(rig.queue, OrderlyQueue)
    rig.pulled(0, 1)
    await rig.queue.leave(0.01)

    rig.queue.stay()

    assert rig.message().queue_offset == 0
    assert rig.queue.may_pull


async def test_moving_elsewhere_in_order_begins_anew() -> None:
    rig = orderly()
    rig.failed.takes = False
    rig.pulled(0, 1, 2)
    old = rig.message()
    failing = asyncio.create_task(old.retry())

    rig.queue.move_to(1)
    await failing
    rig.pulled(1, 2)

    assert rig.message().queue_offset == 1
    assert rig.next() is None


async def test_moving_elsewhere_after_a_message_was_offered_in_order_hands_out_the_new_one() -> None:
    rig = orderly()
    rig.pulled(0, 1)

    rig.queue.move_to(5)
    rig.pulled(5, 6)

    assert rig.message().queue_offset == 5
    assert rig.next() is None


@pytest.mark.parametrize("kind", [AssignedQueue, OrderlyQueue])
async def test_a_message_that_comes_again_is_forgotten_with_its_queue(kind: type[AssignedQueue]) -> None:
    rig = orderly() if kind is OrderlyQueue else Rig()
    rig.failed.takes = False
    rig.pulled(0)
    await rig.message().retry()

    rig.queue.drop()
    await asyncio.sleep(0.01)

    assert rig.next() is None


async def test_what_was_not_begun_is_nobodys() -> None:
    rig = Rig()
    rig.pulled(0)
    message = rig.message()

    rig.queue.put_back(0)
    await message.ack()

    assert (rig.queue.handed_out, rig.queue.committable) == (0, 0)


async def test_in_order_a_second_word_about_a_message_lets_no_other_go() -> None:
    rig = orderly()
    rig.pulled(0, 1, 2)
    first = rig.message()

    await first.ack()
    await first.ack()

    assert rig.message().queue_offset == 1
    assert rig.next() is None


@pytest.mark.parametrize("kind", [AssignedQueue, OrderlyQueue])
async def test_a_failed_message_that_comes_again_is_not_done_by_a_later_word(kind: type[AssignedQueue]) -> None:
    rig = orderly() if kind is OrderlyQueue else Rig()
    rig.failed.takes = False
    rig.pulled(0)
    message = rig.message()

    await message.retry()
    await message.ack()
    await message.retry()

    assert rig.queue.committable == 0
    assert (await rig.message_later()).reconsume_times == 1
    assert rig.failed.given == [(0, None)]
