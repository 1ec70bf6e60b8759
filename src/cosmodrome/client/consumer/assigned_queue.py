"""One queue while it is this member's.

Owns: which of its messages are held, which were handed out, what finishing and failing of one means for the others.
Must not know: how messages are pulled; where offsets are stored; who handles messages.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from cosmodrome.client.consumer.backoff import checked_delay_level
from cosmodrome.client.consumer.deliveries import Deliveries
from cosmodrome.client.consumer.process_queue import HoldingLimits, ProcessQueue
from cosmodrome.client.consumer.room import SharedRoom
from cosmodrome.client.consumer.start_offset import RETRY_TOPIC_PREFIX
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.protocol.messages.properties import RETRY_TOPIC
from cosmodrome.protocol.messages.record import StoredMessage


class FailedMessages(Protocol):
    """What becomes of a message that failed."""

    async def take(self, queue: MessageQueue, stored: StoredMessage, delay_level: int | None) -> bool:
        """See to it that a message comes again later, or give it up. False: it has to be tried again here."""


class AssignedQueue:
    """The messages of one queue, handed out in any number at a time.

    Attributes:
        is_dropped: The queue is not this member's any more: nothing is handed out, nothing that is finished counts.
        is_paused: Nothing is pulled nor handed out until `resume`.
        last_pull_ms: When the last pull was sent, in milliseconds since the epoch; 0 before the first.
        trouble: Why pulls bring nothing at present, in words for people; None when they work.
    """

    def __init__(self, queue: MessageQueue, start_offset: int, limits: HoldingLimits, parts: "QueueParts") -> None:
        self.queue: Final = queue
        self.limits = limits
        self.held: ProcessQueue[StoredMessage] = ProcessQueue(start_offset, parts.room.total)
        self.is_dropped = False
        self.is_paused = False
        self.trouble: str | None = None
        self.last_pull_ms = 0
        self._parts = parts
        self._is_retry = queue.topic.startswith(RETRY_TOPIC_PREFIX)
        self._handed: set[int] = set()
        self._coming_again: set[int] = set()
        self._change = asyncio.Event()
        self._is_watched = False
        self._last_committable: int | None = None

    @property
    def committable(self) -> int:
        """The offset that may be committed now; once the queue is dropped, the last one that might have been."""
        return self.held.committable if self._last_committable is None else self._last_committable

    @property
    def may_pull(self) -> bool:
        """Whether this queue's own limits allow another pull."""
        return not self.is_paused and self.held.has_room(self.limits)

    @property
    def handed_out(self) -> int:
        """How many messages somebody handles now."""
        return len(self._handed)

    def is_handed_out(self, offset: int) -> bool:
        """Whether somebody handles the message at this offset."""
        return offset in self._handed

    def offer(self, messages: Sequence[StoredMessage]) -> None:
        """Let what a pull brought be handled."""
        if messages:
            self._parts.deliveries.put(self, messages)

    def hand_out(self, stored: StoredMessage) -> ReceivedMessage | None:
        """Give a message as handlers see it: one that failed before under the topic that it was sent to.

        None for one that is not held any more, since the queue was moved to another offset.
        """
        offset = stored.queue_offset
        if offset in self._handed or self.held.get(offset) is None:
            return None
        self._handed.add(offset)
        topic = stored.properties.get(RETRY_TOPIC) if self._is_retry else None
        return ReceivedMessage(stored, self.queue, self, topic=self._parts.visible_topic(topic or stored.topic))

    async def ack(self, message: ReceivedMessage) -> None:
        """Settle a message as handled. Nothing happens when the queue was lost, or the message is settled."""
        self.finish(message.queue_offset)

    async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:
        """Settle a message as failed.

        Raises:
            ValueError: No such delay level.
        """
        checked_delay_level(delay_level)
        await self.fail(message.stored, delay_level)

    def finish(self, offset: int) -> None:
        """Let go of a message that was handed out, and was not said to have failed."""
        if not self._is_open(offset):
            return
        self._handed.discard(offset)
        self.held.finish(offset)
        self.changed()

    def put_back(self, offset: int) -> None:
        """A message was not begun, since this queue is about to leave: whoever has it next handles it."""
        self._handed.discard(offset)
        self.changed()

    async def fail(self, stored: StoredMessage, delay_level: int | None) -> None:
        """Have a message that was handed out come again later, from the broker or else from here."""
        offset = stored.queue_offset
        if not self._is_open(offset):
            return
        is_taken = False
        try:
            is_taken = await self._parts.failed.take(self.queue, stored, delay_level)
        finally:
            if is_taken:
                self.finish(offset)
            else:
                self.offer_again(stored, self._parts.again_after_s)

    def offer_again(self, stored: StoredMessage, after_s: float) -> None:
        """Hand a message out once more, from here, counted as another failure."""
        self._coming_again.add(stored.queue_offset)
        again = msgspec.structs.replace(stored, reconsume_times=stored.reconsume_times + 1)
        asyncio.get_running_loop().call_later(after_s, self._offer_one, again)

    def pause(self) -> None:
        """Pull nothing and hand out nothing; what was handed out goes on. May be called again."""
        self.is_paused = True

    def resume(self) -> None:
        """End a pause. May be called again."""
        self.is_paused = False
        self._parts.deliveries.resume(self)
        self.changed()

    def move_to(self, offset: int) -> None:
        """Forget what is held, and go on elsewhere."""
        self.held.clear()
        self._handed.clear()
        self._coming_again.clear()
        self.held = ProcessQueue(offset, self._parts.room.total)
        self.changed()

    async def quiet(self, within_s: float) -> bool:
        """Wait until nothing of this queue is being handled; False when that takes longer."""
        try:
            async with asyncio.timeout(within_s):
                while self._handed and not self.is_dropped:
                    await self.change()
        except TimeoutError:
            return False
        return True

    def drop(self) -> None:
        """Make this queue nobody's here. May be called again."""
        # What is let go of unfinished is not done: no offset beyond it may ever be saved.
        self._last_committable = self.committable
        self.is_dropped = True
        self.held.clear()
        self._handed.clear()
        self._coming_again.clear()
        self._parts.deliveries.resume(self)  # what waits there for the end of a pause is thrown away
        self.changed()

    def changed(self) -> None:
        """Let whoever waits for a change of this queue look again."""
        if self._is_watched:
            self._is_watched = False
            self._change.set()
        self._parts.room.freed()

    async def change(self) -> None:
        """Wait until something about this queue is different."""
        self._change.clear()
        self._is_watched = True
        await self._change.wait()

    def _is_open(self, offset: int) -> bool:
        return offset in self._handed and offset not in self._coming_again and not self.is_dropped

    def _offer_one(self, stored: StoredMessage) -> None:
        if self._has_come_again(stored.queue_offset):
            self._parts.deliveries.put(self, (stored,))

    def _has_come_again(self, offset: int) -> bool:
        """Whether a message is still to be handled here, when its time has come; it is in nobody's hands then."""
        is_wanted = offset in self._coming_again and not self.is_dropped
        self._coming_again.discard(offset)
        if is_wanted:
            self._handed.discard(offset)
        return is_wanted


class OrderlyQueue(AssignedQueue):
    """One message at a time, in order, while the broker's lock of the queue is this client's.

    A failed message is tried again after a pause, and those behind it wait. A lock that was lost holds up what was not
    handed out; nothing is given up for it.
    """

    def __init__(self, queue: MessageQueue, start_offset: int, limits: HoldingLimits, parts: "QueueParts") -> None:
        super().__init__(queue, start_offset, limits, parts)
        self._waiting: deque[StoredMessage] = deque()
        # In deliveries or in somebody's hands; there is one at a time.
        self._offered: StoredMessage | None = None
        self._locked_until_s = 0.0
        self.is_leaving = False

    @property
    def is_locked(self) -> bool:
        """Whether the lock is known to be held."""
        return asyncio.get_running_loop().time() < self._locked_until_s

    @property
    def may_pull(self) -> bool:
        """Whether this queue's limits and its lock allow another pull."""
        return super().may_pull and self.is_locked and not self.is_leaving

    def locked(self, for_s: float) -> None:
        """The broker granted or renewed the lock."""
        self._locked_until_s = asyncio.get_running_loop().time() + for_s
        self.changed()
        self._offer_next()

    def unlocked(self) -> None:
        """The broker gave the lock to somebody else, or forgot it."""
        self._locked_until_s = 0.0

    async def leave(self, within_s: float) -> bool:
        """Hand out nothing any more, and wait for the end of what is being handled. False: it goes on."""
        self.is_leaving = True
        return await self.quiet(within_s)

    def stay(self) -> None:
        """Go on with a queue that was about to leave."""
        self.is_leaving = False
        self.changed()
        self._offer_next()

    def offer(self, messages: Sequence[StoredMessage]) -> None:
        """Let what a pull brought be handled, in its order."""
        self._waiting.extend(messages)
        self._offer_next()

    def hand_out(self, stored: StoredMessage) -> ReceivedMessage | None:
        """Give a message, or put it back because the lock was lost since it was offered."""
        if stored is not self._offered:
            return None
        if not self.is_locked or self.is_leaving:
            self._waiting.appendleft(stored)
            self._offered = None
            return None
        return super().hand_out(stored)

    def finish(self, offset: int) -> None:
        """Let go of a message that was handed out, and offer the next."""
        is_end = self._is_open(offset)
        super().finish(offset)
        if is_end:
            self._offered = None
            self._offer_next()

    def move_to(self, offset: int) -> None:
        """Forget what is held, and go on elsewhere."""
        self._waiting.clear()
        self._offered = None
        super().move_to(offset)

    def drop(self) -> None:
        """Make this queue nobody's here."""
        self._waiting.clear()
        super().drop()

    def _offer_next(self) -> None:
        if self._offered is not None or self.is_dropped or self.is_leaving or not self._waiting or not self.is_locked:
            return
        self._offered = self._waiting.popleft()
        self._parts.deliveries.put(self, (self._offered,))

    def _offer_one(self, stored: StoredMessage) -> None:
        if self._has_come_again(stored.queue_offset):
            self._waiting.appendleft(stored)
            self._offered = None
            self.changed()
            self._offer_next()


class QueueParts:
    """What the queues of one consumer share.

    Attributes:
        again_after_s: Until a message that could not be taken elsewhere is handed out again.
        visible_topic: Gives the name of a topic as the program knows it, without a namespace.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        room: SharedRoom,
        failed: FailedMessages,
        again_after_s: float,
        visible_topic: Callable[[str], str],
    ) -> None:
        self.deliveries: Final = deliveries
        self.room: Final = room
        self.failed: Final = failed
        self.again_after_s: Final = again_after_s
        self.visible_topic: Final = visible_topic
