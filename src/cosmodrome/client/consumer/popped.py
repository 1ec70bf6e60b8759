"""Popped messages: one by one, or those of a queue in their order.

Owns: what their end means for them and for those behind them; which are too old to be begun.
Must not know: how they were popped, how a broker is told.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from cosmodrome.client.config import ClientConfig
from cosmodrome.client.consumer import backoff
from cosmodrome.client.consumer.deliveries import Deliveries
from cosmodrome.client.consumer.failed_messages import SendBack
from cosmodrome.client.consumer.pop_handle import Receipt
from cosmodrome.client.consumer.requests import ConsumerRequests
from cosmodrome.client.consumer.settings import ConsumerSettings
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.client.session import ClientSession
from cosmodrome.protocol.messages.record import StoredMessage

INVISIBLE_S: Final = 60.0
LATE_S: Final = 1.0
"""So long before others may have a message it is not begun any more."""
LEFT_MS: Final = 100
"""Until others may have what a member of an orderly group did not begin."""


class PopParts(msgspec.Struct, frozen=True, kw_only=True):
    """What the pops of one consumer share."""

    settings: ConsumerSettings
    session: ClientSession
    group: str
    deliveries: Deliveries
    subscriptions: Subscriptions
    requests: ConsumerRequests
    send_back: SendBack
    max_reconsume_times: int


class Popping(Protocol):
    """Who popped messages, and tells the broker of their ends."""

    @property
    def is_stopped(self) -> bool:
        """Nothing is begun any more."""

    def offer(self, message: "PoppedMessage") -> None:
        """Let a message be handled."""

    def finished(self, message: "PoppedMessage") -> None:
        """It is done."""

    def settled(self, message: "PoppedMessage") -> None:
        """It is no concern of this client any more."""

    async def hide(self, message: "PoppedMessage", delay_level: int | None) -> None:
        """It failed: have it come again later, or put it to the dead letters."""

    async def hide_for(self, message: "PoppedMessage", invisible_ms: int) -> bool:
        """Have it come again when so much time is over; whether the broker took it."""

    def over(self, run: "OrderlyRun") -> None:
        """A run has ended."""


class PoppedMessage:
    """One popped message, as deliveries hand it out and handlers settle it. `run` is what it is one of, in order."""

    is_paused = False

    def __init__(self, stored: StoredMessage, receipt: Receipt, popping: Popping, config: ClientConfig) -> None:
        self.stored = stored
        self.receipt = receipt
        self.run: OrderlyRun | None = None
        self.is_settled = False
        self._popping = popping
        self._config = config
        self._visible_at_s = asyncio.get_running_loop().time() + INVISIBLE_S

    @property
    def is_dropped(self) -> bool:
        """Whether nothing of it is begun any more."""
        return self._popping.is_stopped

    def hand_out(self, stored: StoredMessage) -> ReceivedMessage | None:
        """Give it, unless others may have it soon: it comes again."""
        if self.left_s < LATE_S:
            self.let_go()
            if self.run is not None:
                self.run.give_up()
            return None
        queue = MessageQueue(stored.topic, self.receipt.handle.split(" ")[5], stored.queue_id)
        return ReceivedMessage(stored, queue, self, topic=self._config.unwrap(stored.topic))

    async def ack(self, message: ReceivedMessage) -> None:
        """Settle it as handled."""
        self.finish(message.queue_offset)

    async def retry(self, message: ReceivedMessage, delay_level: int | None) -> None:  # noqa: ARG002 -- this one
        """Settle it as failed.

        Raises:
            ValueError: No such delay level.
        """
        backoff.checked_delay_level(delay_level)
        if self.is_settled:
            return
        self.is_settled = True
        if self.run is not None:
            await self.run.failed(self, delay_level)
            return
        await self._popping.hide(self, delay_level)
        self._popping.settled(self)

    def put_back(self, offset: int) -> None:
        """Nothing to do: it comes to others when its time is over."""

    def finish(self, offset: int) -> None:  # noqa: ARG002 -- this one
        """Settle it as handled."""
        if not self.is_settled:
            self.is_settled = True
            self._popping.finished(self)
            if self.run is not None:
                self.run.go_on()

    @property
    def left_s(self) -> float:
        """How long nobody else gets it."""
        return self._visible_at_s - asyncio.get_running_loop().time()

    def is_ours_again(self) -> None:
        """Its time began anew."""
        self._visible_at_s = asyncio.get_running_loop().time() + INVISIBLE_S

    def fails_again(self) -> None:
        """It is handled once more, after a failure."""
        self.is_settled = False
        self.stored = msgspec.structs.replace(self.stored, reconsume_times=self.stored.reconsume_times + 1)

    def let_go(self) -> None:
        """It is no concern of this client any more, and nobody was told. May be called again."""
        if not self.is_settled:
            self.is_settled = True
            self._popping.settled(self)


class OrderlyRun:
    """The messages of one queue that one pop gave, in their order: each is begun when the one before is done.

    A broker gives no more of the queue until all of them are done, or may be given again. One that failed is tried
    again here after a pause, and those behind it wait; they are kept for this member as long as that takes.
    """

    def __init__(self, messages: Sequence[PoppedMessage], popping: Popping, parts: PopParts) -> None:
        self._rest = deque(messages)
        self._popping = popping
        self._parts = parts
        for message in messages:
            message.run = self

    def begin(self) -> None:
        """Offer the first message."""
        self._popping.offer(self._rest[0])

    def go_on(self) -> None:
        """The message that was begun is done: offer the next."""
        if self._rest:
            self._rest.popleft()
        if not self._rest:
            self._popping.over(self)
        elif not self._popping.is_stopped:
            self._popping.offer(self._rest[0])

    async def failed(self, message: PoppedMessage, delay_level: int | None) -> None:
        """The message that was begun failed: it comes again, or is given up for good and the next one is offered."""
        parts = self._parts
        is_last = message.stored.reconsume_times >= parts.max_reconsume_times or delay_level == backoff.TO_DEAD_LETTERS
        queue = MessageQueue(message.stored.topic, message.receipt.broker_name, message.stored.queue_id)
        if is_last and await parts.send_back.send_copy(queue, message.stored, backoff.TO_DEAD_LETTERS):
            self._popping.finished(message)
            self.go_on()
            return
        pause_s = parts.settings.orderly_pause_s
        if message.left_s < pause_s + INVISIBLE_S / 2:
            await self._extend()
        asyncio.get_running_loop().call_later(pause_s, self._again, message)

    def give_up(self) -> None:
        """What was not begun comes again when its time is over."""
        for message in self._rest:
            message.let_go()
        self._rest.clear()
        self._popping.over(self)

    async def leave(self) -> None:
        """Let others have what was not settled."""
        # The last one first: as long as the first one is hidden, none is given.
        left = list(reversed(self._rest))
        self.give_up()
        for message in left:
            await self._popping.hide_for(message, LEFT_MS)

    def _again(self, message: PoppedMessage) -> None:
        if self._rest and self._rest[0] is message and not self._popping.is_stopped:
            message.fails_again()
            self._popping.offer(message)

    async def _extend(self) -> None:
        """Keep what was not settled for this member; what fails here is noticed when the time is over."""
        for message in tuple(self._rest):
            if await self._popping.hide_for(message, int(INVISIBLE_S * 1000)):
                message.is_ours_again()
