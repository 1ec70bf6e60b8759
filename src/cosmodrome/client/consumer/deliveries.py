"""Messages that wait for somebody to handle them.

Owns: their order over all queues of a consumer; who waits for one; what becomes of them when a queue is lost.
Must not know: how messages got here; what handling means.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from cosmodrome.client.message import ReceivedMessage
from cosmodrome.protocol.messages.record import StoredMessage

TURN_MESSAGES: Final = 256
"""Messages that one task may take before the others get their turn of the event loop."""


class Source(Protocol):
    """A queue whose messages are handed out."""

    @property
    def is_dropped(self) -> bool:
        """Nothing of it is handed out any more."""

    @property
    def is_paused(self) -> bool:
        """Nothing of it is handed out for now."""

    def hand_out(self, stored: StoredMessage) -> ReceivedMessage | None:
        """Give a message in the form that handlers see; None when it may not be handed out any more."""

    def finish(self, offset: int) -> None:
        """Let go of a message that was handled."""

    def put_back(self, offset: int) -> None:
        """A message that was handed out was not begun, and will not be."""

    async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:
        """See to it that a message comes again."""


class Deliveries:
    """A queue of queues: each pull's messages together, in the order in which the pulls came.

    Messages of a queue that was dropped meanwhile are passed over.

    Attributes:
        is_closed: Nothing is handed out any more.
    """

    def __init__(self) -> None:
        self._chunks: deque[tuple[Source, Iterator[StoredMessage]]] = deque()
        self._paused: list[tuple[Source, Iterator[StoredMessage]]] = []
        self._waiters: deque[asyncio.Future[None]] = deque()
        self.is_closed = False
        self._taken = 0

    def put(self, source: Source, messages: Iterable[StoredMessage]) -> None:
        """Add messages of one queue, lowest offset first."""
        self._chunks.append((source, iter(messages)))
        self._wake_one()

    def resume(self, source: Source) -> None:
        """Let messages of a queue that was paused have their turn again."""
        mine = [chunk for chunk in self._paused if chunk[0] is source]
        self._paused = [chunk for chunk in self._paused if chunk[0] is not source]
        self._chunks.extend(mine)
        self._wake_one()

    def take(self) -> tuple[Source, ReceivedMessage] | None:
        """Give the next message, if there is one."""
        chunks = self._chunks
        while chunks:
            source, rest = chunks[0]
            if source.is_paused and not source.is_dropped:
                self._paused.append(chunks.popleft())
                continue
            stored = None if source.is_dropped else next(rest, None)
            if stored is None:
                chunks.popleft()
                continue
            message = source.hand_out(stored)
            if message is not None:
                return source, message
        return None

    async def next(self) -> tuple[Source, ReceivedMessage] | None:
        """Give the next message as soon as there is one; None when this is closed. Any number of tasks may wait."""
        await self._let_others_run()
        while not self.is_closed:
            found = self.take()
            if found is not None:
                if self._chunks:
                    self._wake_one()
                return found
            await self._wait()
        return None

    def close(self) -> None:
        """Hand out nothing any more. May be called again."""
        self.is_closed = True
        self._chunks.clear()
        self._paused.clear()
        while self._waiters:
            self._wake_one()

    async def _let_others_run(self) -> None:
        """A handler that never waits must not keep pulls, heartbeats and timers from running."""
        self._taken += 1
        if self._taken >= TURN_MESSAGES:
            self._taken = 0
            await asyncio.sleep(0)

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                with contextlib.suppress(ValueError):
                    self._waiters.remove(waiter)
            else:
                self._wake_one()  # what this one was woken for is for another now
            raise

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
