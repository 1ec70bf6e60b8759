"""Calling a program's handler for each message.

Owns: what a handler's end means; the tasks or threads that handlers run in; which handlers are refused.
Must not know: where messages come from; what is done about a failed one.
"""

import asyncio
import contextlib
import inspect
import logging
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, Protocol

import msgspec

from cosmodrome.client.consumer.backoff import checked_delay_level
from cosmodrome.client.consumer.deliveries import Deliveries, Source
from cosmodrome.client.message import ReceivedMessage
from cosmodrome.client.observing import NOBODY, Observers
from cosmodrome.transport.daemon_thread import in_daemon_thread

logger = logging.getLogger(__name__)

WAITING_MESSAGES: Final = 256
"""Messages that are with threads, or wait for one."""


class Later(msgspec.Struct, frozen=True):
    """What a handler returns to have a message come again.

    `delay_level` is 1 to 18, None for the level that fits the number of failures, or -1 for the dead letters. In
    orderly consumption the message comes again after the consumer's pause, or goes to the dead letters with -1.
    """

    delay_level: int | None = None

    def __post_init__(self) -> None:
        checked_delay_level(self.delay_level)


Handler = Callable[[ReceivedMessage], Awaitable[object] | object]
"""Returning normally means that the message is done; an exception, or a returned `Later`, that it comes again."""


def checked_handler(handler: object) -> Handler:
    """Refuse what cannot be called with one message.

    Raises:
        TypeError: Not callable, or not with exactly one argument.
    """
    if not callable(handler):
        raise TypeError(f"handler is a function of one message, not {type(handler).__name__}")
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):
        return handler
    try:
        signature.bind(object())
    except TypeError as error:
        raise TypeError(f"handler is called with one message, and {handler!r} cannot be: {error}") from None
    return handler


def is_async(handler: Handler) -> bool:
    """Whether a handler runs on the event loop; any other runs in a thread, where it may block."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004 -- of an object


class Ending(NamedTuple):
    """What the end of one call of a handler means: `later` is None for a message that is done."""

    later: Later | None
    error: BaseException | None = None


DONE: Final = Ending(None)
CUT_OFF: Final = Ending(Later())
"""Of a handler that was ended when its time to end was over."""


class Verdicts:
    """Reads what handlers return and raise, and tells the log what is odd."""

    def __init__(self) -> None:
        self._told: set[type] = set()

    def of_result(self, result: object) -> Ending:
        """Give what a returned value means."""
        if result is None:
            return DONE
        if isinstance(result, Later):
            return Ending(result)
        kind = type(result)
        if kind not in self._told:
            self._told.add(kind)
            logger.warning(
                "the handler returns a %s; that means done, as every normal end does. Return Later() or raise to have "
                "a message again.", kind.__name__,
            )  # fmt: skip
        return DONE

    @staticmethod
    def of_error(message: ReceivedMessage, error: BaseException) -> Ending:
        """Give what an exception means, whatever its kind: one message must not end the consumer."""
        logger.error(
            "the handler failed with %s for message %s of %s at offset %d; it comes again",
            type(error).__name__, message.msg_id, message.queue, message.queue_offset, exc_info=error,
        )  # fmt: skip
        return Ending(Later(), error)


class Runner(Protocol):
    """Whatever handles messages."""

    async def run(self) -> None:
        """Handle messages until deliveries are closed; returns when the last handler has ended."""

    async def handle(self, message: ReceivedMessage) -> Ending:
        """Have one message handled now, apart from all others, and say how it went."""


class TaskRunner:
    """`concurrency` tasks, each with one message at a time."""

    def __init__(
        self, handler: Handler, deliveries: Deliveries, concurrency: int, observers: Observers = NOBODY
    ) -> None:
        self._observers = observers
        self._handler = handler
        self._deliveries = deliveries
        self._concurrency = concurrency
        self._verdicts = Verdicts()

    async def run(self) -> None:
        """Handle messages."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._work())

    async def _work(self) -> None:
        while (found := await self._deliveries.next()) is not None:
            source, message = found
            ending = await self.handle(message)
            if ending.later is None:
                source.finish(message.queue_offset)
            else:
                await _retry(source, message, ending.later.delay_level)

    async def handle(self, message: ReceivedMessage) -> Ending:
        """Call the handler once."""
        if not self._observers:
            return await self._call(message)
        processing, ending = self._observers.processing("handler", message), CUT_OFF
        try:
            ending = await self._call(message)
        finally:
            processing.end(is_done=ending.later is None, error=ending.error)
        return ending

    async def _call(self, message: ReceivedMessage) -> Ending:
        try:
            result = self._handler(message)
            return self._verdicts.of_result(await result if inspect.isawaitable(result) else result)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Verdicts.of_error(message, error)
        except BaseException as error:  # noqa: BLE001 -- see of_error
            return Verdicts.of_error(message, error)


_Job = tuple[Source, ReceivedMessage]


class ThreadRunner:
    """Up to `concurrency` threads, as many as are busy; they end with the process, whatever a handler does.

    Messages wait for them in one line, so that quick handlers are not slowed down by changes from thread to thread.
    """

    def __init__(
        self, handler: Handler, deliveries: Deliveries, concurrency: int, observers: Observers = NOBODY
    ) -> None:
        self._observers = observers
        self._handler = handler
        self._deliveries = deliveries
        self._concurrency = concurrency
        self._verdicts = Verdicts()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._ended: deque[tuple[_Job, Ending | None]] = deque()
        self._is_announced = False
        self._places = max(2 * concurrency, WAITING_MESSAGES)
        self._slots = asyncio.Semaphore(self._places)
        self._is_stopping = False
        self._threads = 0
        self._unended = 0

    async def run(self) -> None:
        """Handle messages."""
        try:
            async with asyncio.TaskGroup() as group:
                await self._feed(group)
        finally:
            self._is_stopping = True
            for _ in range(self._threads):
                self._jobs.put(None)

    async def handle(self, message: ReceivedMessage) -> Ending:
        """Call the handler once, in a thread of its own."""
        return await in_daemon_thread(self._judged, message)

    async def _feed(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        loop = asyncio.get_running_loop()
        while True:
            await self._slots.acquire()
            job = await self._deliveries.next()
            if job is None:
                break
            self._unended += 1
            self._jobs.put(job)
            if self._threads < min(self._unended, self._concurrency):
                self._threads += 1
                name = f"cosmodrome-handler-{self._threads}"
                threading.Thread(target=self._work, args=(loop,), name=name, daemon=True).start()
        self._slots.release()
        for _ in range(self._places):
            await self._slots.acquire()

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (job := self._jobs.get()) is not None and not self._is_stopping:
            source, message = job
            # What was not begun when the consumer was closed, or the queue lost, is left: another member has it.
            is_left = self._deliveries.is_closed or source.is_dropped or source.is_paused
            self._ended.append((job, None if is_left else self._judged(message)))
            if not self._is_announced:
                self._is_announced = True
                # The loop may be closed by now: then nobody waits.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._settle)

    def _judged(self, message: ReceivedMessage) -> Ending:
        if not self._observers:
            return self._call(message)
        processing = self._observers.processing("handler", message)
        ending = self._call(message)
        processing.end(is_done=ending.later is None, error=ending.error)
        return ending

    def _call(self, message: ReceivedMessage) -> Ending:
        try:
            return self._verdicts.of_result(self._handler(message))
        except BaseException as error:  # noqa: BLE001 -- see of_error
            return Verdicts.of_error(message, error)

    def _settle(self) -> None:
        self._is_announced = False
        while self._ended:
            (source, message), ending = self._ended.popleft()
            self._slots.release()
            self._unended -= 1
            if ending is None:
                source.put_back(message.queue_offset)
            elif ending.later is None:
                source.finish(message.queue_offset)
            elif not self._is_stopping:
                self._group.create_task(_retry(source, message, ending.later.delay_level))


async def _retry(source: Source, message: ReceivedMessage, delay_level: int | None) -> None:
    """Have a message come again; whatever goes wrong with one ends nobody who handles the others."""
    try:
        await source.retry(message, delay_level)
    except Exception:
        logger.exception("message %s of %s could not be sent back", message.msg_id, message.queue)
