"""What handlers may be, and what their end means."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from tests.unit.client.consumer.stored import stored

from cosmodrome.client.consumer.deliveries import Deliveries
from cosmodrome.client.consumer.handlers import (
    Handler,
    Later,
    Runner,
    TaskRunner,
    ThreadRunner,
    checked_handler,
    is_async,
)
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.transport.daemon_thread import in_daemon_thread

QUEUE = MessageQueue("T", "broker-a", 0)


class Source:
    """Notes what becomes of its messages."""

    is_dropped = False
    is_paused = False

    def __init__(self) -> None:
        self.done: list[int] = []
        self.left: list[int] = []
        self.failed: list[tuple[int, int | None]] = []
        self._change = asyncio.Event()

    async def settled(self, count: int) -> None:
        """Wait until so many messages have come to an end."""
        async with asyncio.timeout(10):
            while len(self.done) + len(self.failed) < count:
                self._change.clear()
                await self._change.wait()

    def hand_out(self, message: StoredMessage) -> ReceivedMessage:
        return ReceivedMessage(message, QUEUE)

    def finish(self, offset: int) -> None:
        self.done.append(offset)
        self._change.set()

    def put_back(self, offset: int) -> None:
        self.left.append(offset)

    async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:
        self.failed.append((message.queue_offset, delay_level))
        self._change.set()


def runner_of(handler: Handler, deliveries: Deliveries, concurrency: int = 2) -> Runner:
    kind = TaskRunner if is_async(handler) else ThreadRunner
    return kind(handler, deliveries, concurrency)


async def handled(handler: Handler, count: int = 1) -> Source:
    """Give messages to a handler, and what became of them after all were handled."""
    deliveries, source = Deliveries(), Source()
    running = asyncio.create_task(runner_of(handler, deliveries).run())
    deliveries.put(source, [stored(offset) for offset in range(count)])
    await source.settled(count)
    deliveries.close()
    async with asyncio.timeout(10):
        await running
    return source


def returning(value: object) -> list[Handler]:
    async def in_loop(_: ReceivedMessage) -> object:
        return value

    return [in_loop, lambda _: value]


def raising(error: BaseException) -> list[Handler]:
    async def in_loop(_: ReceivedMessage) -> None:
        raise error

    def in_thread(_: ReceivedMessage) -> None:
        raise error

    return [in_loop, in_thread]


@pytest.mark.parametrize("value", [None, True, False, "ok", 0, object()], ids=lambda each: type(each).__name__)
async def test_c029_a_handler_that_returns_has_succeeded(value: object) -> None:
    for handler in returning(value):
        source = await handled(handler)
        assert (source.done, source.failed) == ([0], [])


@pytest.mark.parametrize("level", [None, 1, 18, -1])
async def test_c029_later_says_so(level: int | None) -> None:
    for handler in returning(Later(level)):
        source = await handled(handler)
        assert (source.done, source.failed) == ([], [(0, level)])


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, asyncio.CancelledError, TimeoutError])
async def test_c029_an_exception_means_later_and_the_handler_lives(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    for handler in raising(kind("no")):
        source = await handled(handler, count=50)
        assert sorted(source.failed) == [(offset, None) for offset in range(50)]
        assert kind.__name__ in caplog.text
        assert stored(0).msg_id in caplog.text


@pytest.mark.parametrize("level", [19, -2, "3"])
def test_c029_a_level_that_is_none_is_refused(level: object) -> None:
    with pytest.raises(ValueError, match="delay_level"):
        Later(level)  # type: ignore[arg-type]


@pytest.mark.parametrize("handler", [None, 3, "handler", lambda: None, lambda a, b: None, lambda *, key: None])
def test_c029_what_cannot_be_called_with_one_message_is_refused(handler: object) -> None:
    with pytest.raises(TypeError, match="handler is"):
        checked_handler(handler)


class Program:
    """An object whose method is the handler."""

    def __init__(self, seen: list[int]) -> None:
        self._seen = seen

    async def on_message(self, message: ReceivedMessage) -> None:
        self._seen.append(message.queue_offset)

    async def __call__(self, message: ReceivedMessage) -> None:
        self._seen.append(message.queue_offset)


@pytest.mark.parametrize("made", [lambda seen: Program(seen).on_message, Program])
async def test_c029_a_method_of_an_object_that_is_dropped_works(made: Callable[[list[int]], Handler]) -> None:
    seen: list[int] = []
    handler = checked_handler(made(seen))

    assert is_async(handler)
    assert (await handled(handler, count=3)).done == [0, 1, 2]
    assert seen == [0, 1, 2]


async def test_c033_a_plain_function_blocks_its_thread_and_nothing_else() -> None:
    may_go = threading.Event()

    def blocking(_: ReceivedMessage) -> None:
        assert threading.current_thread().daemon
        may_go.wait(10)

    deliveries, source = Deliveries(), Source()
    running = asyncio.create_task(runner_of(blocking, deliveries, concurrency=3).run())
    deliveries.put(source, [stored(offset) for offset in range(6)])
    for _ in range(100):
        await asyncio.sleep(0)
    assert source.done == []
    may_go.set()
    await source.settled(6)
    deliveries.close()
    await running


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_no_more_messages_are_handled_at_a_time_than_asked_for(concurrency: int) -> None:
    running = highest = 0

    async def handler(_: ReceivedMessage) -> None:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        await asyncio.sleep(0)
        running -= 1

    deliveries, source = Deliveries(), Source()
    work = asyncio.create_task(runner_of(handler, deliveries, concurrency).run())
    deliveries.put(source, [stored(offset) for offset in range(20)])
    await source.settled(20)
    deliveries.close()
    await work

    assert highest == concurrency


async def test_closing_waits_for_handlers_and_begins_no_other() -> None:
    begun: list[int] = []
    has_begun, may_go = threading.Event(), threading.Event()

    def slow(message: ReceivedMessage) -> None:
        begun.append(message.queue_offset)
        has_begun.set()
        may_go.wait(10)

    deliveries, source = Deliveries(), Source()
    running = asyncio.create_task(runner_of(slow, deliveries, concurrency=1).run())
    deliveries.put(source, [stored(offset) for offset in range(10)])
    assert await in_daemon_thread(has_begun.wait, 10)
    deliveries.close()
    await asyncio.sleep(0)
    assert not running.done()
    may_go.set()
    async with asyncio.timeout(10):
        await running

    assert source.done == begun == [0]
    assert source.left == list(range(1, 10))


async def test_what_was_not_begun_of_a_lost_queue_is_left() -> None:
    begun: list[int] = []
    has_begun, may_go = threading.Event(), threading.Event()

    def slow(message: ReceivedMessage) -> None:
        begun.append(message.queue_offset)
        has_begun.set()
        may_go.wait(10)

    deliveries, source = Deliveries(), Source()
    running = asyncio.create_task(runner_of(slow, deliveries, concurrency=1).run())
    deliveries.put(source, [stored(offset) for offset in range(5)])
    assert await in_daemon_thread(has_begun.wait, 10)
    source.is_paused = True
    may_go.set()
    await source.settled(1)
    deliveries.close()
    async with asyncio.timeout(10):
        await running

    assert begun == source.done == [0]
    assert source.left == [1, 2, 3, 4]


async def test_a_handler_that_ends_after_everybody_gave_it_up_disturbs_nobody() -> None:
    has_begun, may_go, has_ended = threading.Event(), threading.Event(), threading.Event()

    def late(_: ReceivedMessage) -> object:
        has_begun.set()
        may_go.wait(10)
        has_ended.set()
        return Later()

    deliveries, source = Deliveries(), Source()
    running = asyncio.create_task(runner_of(late, deliveries, concurrency=1).run())
    deliveries.put(source, [stored(0)])
    assert await in_daemon_thread(has_begun.wait, 10)
    running.cancel()
    await asyncio.wait({running})
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    may_go.set()
    assert await in_daemon_thread(has_ended.wait, 10)
    await in_daemon_thread(threading.Event().wait, 0.05)

    assert faults == []


@pytest.mark.parametrize("handler", [*returning(Later(2)), *raising(ValueError("no"))])
async def test_a_single_message_can_be_handled_apart(handler: Handler) -> None:
    ending = await runner_of(handler, Deliveries()).handle(ReceivedMessage(stored(0), QUEUE))

    assert ending.later is not None
    assert ending.error is None or isinstance(ending.error, ValueError)


@pytest.mark.parametrize("handler", raising(ValueError("not now")))
async def test_a_message_that_cannot_be_sent_back_ends_nobody(
    handler: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty(Source):
        async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:
            await super().retry(message, delay_level)
            raise ZeroDivisionError

    deliveries, source = Deliveries(), Faulty()
    running = asyncio.create_task(runner_of(handler, deliveries, 1).run())
    for offset in range(3):
        deliveries.put(source, [stored(offset)])
        await source.settled(offset + 1)
    deliveries.close()
    async with asyncio.timeout(10):
        await running

    assert [offset for offset, _ in source.failed] == [0, 1, 2]
    assert caplog.text.count("could not be sent back") == 3
