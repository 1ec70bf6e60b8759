"""Messages reach whoever waits, in order, once, and not from queues that were lost."""

import asyncio
import gc
import weakref

from tests.unit.client.consumer.stored import stored

from cosmodrome.client.consumer.deliveries import Deliveries
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.protocol.messages.record import StoredMessage


class Queue:
    """A source that hands out everything."""

    def __init__(self, name: str = "broker-a") -> None:
        self.queue = MessageQueue("T", name, 0)
        self.is_dropped = False
        self.is_paused = False
        self.refuses: set[int] = set()
        self.left: list[int] = []

    def hand_out(self, message: StoredMessage) -> ReceivedMessage | None:
        if message.queue_offset in self.refuses:
            return None
        return ReceivedMessage(message, self.queue)

    def finish(self, offset: int) -> None:
        raise AssertionError(f"nobody finishes offset {offset} here")

    def put_back(self, offset: int) -> None:
        self.left.append(offset)

    async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:
        raise AssertionError(f"nobody retries {message} with {delay_level} here")


async def offset_of_next(deliveries: Deliveries) -> int | None:
    found = await deliveries.next()
    return None if found is None else found[1].queue_offset


def offsets_now(deliveries: Deliveries) -> list[int]:
    offsets = []
    while (found := deliveries.take()) is not None:
        offsets.append(found[1].queue_offset)
    return offsets


async def test_gives_messages_in_order() -> None:
    deliveries, queue = Deliveries(), Queue()

    deliveries.put(queue, [stored(0), stored(1)])
    deliveries.put(queue, [stored(2)])

    assert offsets_now(deliveries) == [0, 1, 2]


async def test_passes_over_what_is_not_this_members_any_more() -> None:
    deliveries, lost, kept = Deliveries(), Queue("a"), Queue("b")
    deliveries.put(lost, [stored(0), stored(1)])
    deliveries.put(kept, [stored(7)])

    assert await offset_of_next(deliveries) == 0
    lost.is_dropped = True

    assert offsets_now(deliveries) == [7]


async def test_passes_over_what_the_queue_does_not_hand_out() -> None:
    deliveries, queue = Deliveries(), Queue()
    queue.refuses = {1}

    deliveries.put(queue, [stored(0), stored(1), stored(2)])

    assert offsets_now(deliveries) == [0, 2]


async def test_a_paused_queue_waits_and_loses_nothing() -> None:
    deliveries, paused, other = Deliveries(), Queue("a"), Queue("b")
    deliveries.put(paused, [stored(0), stored(1)])
    deliveries.put(other, [stored(7)])
    paused.is_paused = True

    assert offsets_now(deliveries) == [7]
    paused.is_paused = False
    deliveries.resume(paused)

    assert offsets_now(deliveries) == [0, 1]


async def test_several_who_wait_get_one_each() -> None:
    deliveries = Deliveries()
    waiting = [asyncio.create_task(offset_of_next(deliveries)) for _ in range(3)]
    await asyncio.sleep(0)

    deliveries.put(Queue(), [stored(0), stored(1), stored(2)])

    assert sorted([await task or 0 for task in waiting]) == [0, 1, 2]


async def test_who_is_cancelled_when_woken_leaves_the_message_to_another() -> None:
    deliveries = Deliveries()
    first, second = (asyncio.create_task(offset_of_next(deliveries)) for _ in range(2))
    await asyncio.sleep(0)

    deliveries.put(Queue(), [stored(5)])
    first.cancel()

    assert await second == 5
    assert first.cancelled() or ((await asyncio.wait({first})) and first.cancelled())


async def test_who_is_cancelled_while_waiting_is_forgotten() -> None:
    deliveries = Deliveries()
    first = asyncio.create_task(offset_of_next(deliveries))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})

    deliveries.put(Queue(), [stored(5)])

    assert await offset_of_next(deliveries) == 5


async def test_closing_ends_all_who_wait_and_hands_out_nothing() -> None:
    deliveries = Deliveries()
    waiting = [asyncio.create_task(offset_of_next(deliveries)) for _ in range(3)]
    await asyncio.sleep(0)
    deliveries.close()
    deliveries.put(Queue(), [stored(0)])

    assert [await task for task in waiting] == [None, None, None]
    assert await deliveries.next() is None


async def test_c027_one_who_never_waits_lets_others_run() -> None:
    deliveries = Deliveries()
    deliveries.put(Queue(), [stored(offset) for offset in range(1000)])
    taken_when_others_ran: list[int] = []
    taken = 0

    async def other() -> None:
        taken_when_others_ran.append(taken)

    beside = asyncio.create_task(other())
    for _ in range(1000):
        await deliveries.next()
        taken += 1
    await beside

    assert taken_when_others_ran[0] < 300


async def test_what_waits_for_the_end_of_a_pause_goes_with_its_queue() -> None:
    deliveries, queue, kept = Deliveries(), Queue(), Queue("broker-b")
    messages = [stored(0), stored(1)]
    watched = weakref.ref(queue)
    queue.is_paused = True
    deliveries.put(queue, messages)
    assert deliveries.take() is None

    queue.is_dropped = True
    deliveries.resume(queue)
    deliveries.put(kept, [stored(7)])

    assert offsets_now(deliveries) == [7]
    del queue
    gc.collect()
    assert watched() is None
