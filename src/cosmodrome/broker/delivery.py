"""Delivering delayed messages when they are due.

Owns: reading what is due, and storing it where it belongs; what a message that cannot be delivered holds up.
Must not know: the event loop; files.
"""

import logging
from collections.abc import Callable
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.delays import Delays, Head
from cosmodrome.broker.messages import due
from cosmodrome.broker.topics import SCHEDULE_TOPIC
from cosmodrome.broker.turn import Stored, Turn
from cosmodrome.errors import MalformedBodyError, MessageError, StoreUnavailableError
from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.reading import Reader

logger = logging.getLogger(__name__)

AT_ONCE: Final = 500
"""Messages that are delivered in one turn; others have their turn between."""
AFTER_FAILURE_MS: Final = 1000


class DelayedDelivery:
    """Moves messages from the delay levels to their topics. `on_put_back` is told of what could not be stored."""

    def __init__(self, delays: Delays, reader: Reader, turn: Turn, clock: Clock) -> None:
        """Use these parts."""
        self._delays = delays
        self._reader = reader
        self._turn = turn
        self._clock = clock
        self.on_put_back: Callable[[], None] = lambda: None
        self.on_delivered: Callable[[str, int], None] = lambda _, __: None
        """Told of topic and size of each message that is where it belongs."""

    def run(self, most: int = AT_ONCE) -> int | None:
        """Deliver what is due, and give the wall-clock time at which there is more to do; None when nothing waits.

        At most so many messages of each level are delivered.

        Raises:
            NotInMemoryError: Reads may not wait, and the next message is on disk only. Those before it are delivered.
        """
        now_ms = self._clock.wall_ms()
        for _ in range(most):
            heads = self._heads()
            ready = [head for head in heads if self._delays.is_due(head, now_ms)]
            if not ready:
                return min((head.due_ms for head in heads), default=None)
            for head in ready:
                if not self._deliver(head, now_ms):
                    return now_ms + AFTER_FAILURE_MS
        return now_ms

    def _heads(self) -> list[Head]:
        ends = {
            level: end
            for level in range(1, self._delays.highest + 1)
            if (end := self._reader.max_offset(SCHEDULE_TOPIC, level - 1))
        }
        return self._delays.heads(ends, self._peek)

    def _peek(self, level: int, offset: int) -> int | None:
        unit = self._reader.unit(SCHEDULE_TOPIC, level - 1, offset)
        return None if unit is None else unit.tag_code

    def _deliver(self, head: Head, now_ms: int) -> bool:
        """Deliver one message; False when the store takes nothing."""
        message = self._message(head)
        self._delays.take(head)
        if message is None:
            self._delays.done(head)
            return True
        try:
            position = self._turn.put(
                message, now_ms, self._settling(head, lambda: self.on_delivered(message.topic, position.size))
            )
        except MessageError as error:
            logger.warning("a message of delay level %d at %d cannot be delivered: %s", head.level, head.offset, error)
            self._delays.done(head)
        except StoreUnavailableError:
            self._delays.put_back(head)
            return False
        return True

    def _settling(self, head: Head, delivered: Callable[[], None]) -> Callable[[Stored], None]:
        def settle(stored: Stored) -> None:
            if stored is Stored.FAILED:
                self._delays.put_back(head)
                self.on_put_back()
            else:
                self._delays.done(head)
                delivered()

        return settle

    def _message(self, head: Head) -> NewMessage | None:
        record = self._record(head)
        message = None if record is None else due(record)
        if message is None:
            logger.warning("what is at %d of delay level %d cannot be delivered", head.offset, head.level)
        return message

    def _record(self, head: Head) -> StoredMessage | None:
        unit = self._reader.unit(SCHEDULE_TOPIC, head.level - 1, head.offset)
        view = None if unit is None else self._reader.record_at(unit.log_offset)
        try:
            return None if view is None else decode_record(view)[0]
        except MalformedBodyError:
            return None
