"""Delivering timer messages when they are due.

Owns: reading the timer topic; storing what is due where it belongs; which messages were taken back.
Must not know: the event loop; the files of timers.

What an Apache broker left there about popped messages is taken over at the start (pop/timer_leftovers.py), and is nothing here.
"""

import logging
from collections.abc import Callable
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.delivery import AFTER_FAILURE_MS
from cosmodrome.broker.timer_messages import delivered, parked_of, rolled
from cosmodrome.broker.timers import Parked, Timers, Waiting
from cosmodrome.broker.topics import TIMER_TOPIC
from cosmodrome.broker.turn import Stored, Turn
from cosmodrome.errors import MalformedBodyError, MessageError, StoreUnavailableError
from cosmodrome.protocol.messages.checks import REVIVE_PREFIX
from cosmodrome.protocol.messages.properties import REAL_TOPIC, TIMER_DEL_UNIQKEY, UNIQ_KEY
from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.reading import Reader

logger = logging.getLogger(__name__)

AT_ONCE: Final = 200
"""Messages that are looked at in one turn; others have their turn between."""
ROLL_SLOTS: Final = 2 * 24 * 3600
"""Moments from which on a message is parked once more."""
_TOLD: Final = 10
_NEVER_PARKED: Final = 2**63 - 1
"""Noted of a message that was due before it could be parked."""


class TimerDelivery:
    """Moves messages from the timer topic to theirs. `on_put_back` is told of what could not be stored."""

    def __init__(self, timers: Timers, reader: Reader, turn: Turn, clock: Clock, precision_ms: int) -> None:
        """Use these parts."""
        self._timers = timers
        self._reader = reader
        self._turn = turn
        self._clock = clock
        self._precision_ms = precision_ms
        self.on_put_back: Callable[[], None] = lambda: None
        self.skipped = 0
        """Messages that could not be delivered."""
        self.read = 0
        """Messages of the timer topic that were read."""
        self.taken = 0
        """Messages that were due and looked at."""

    def run(self) -> int | None:
        """Deliver what is due, and give the wall-clock time at which there is more to do; None when nothing waits."""
        now_ms = self._clock.wall_ms()
        try:
            left = self._deliver_due(now_ms, self._read_topic(now_ms, AT_ONCE))
        except StoreUnavailableError:
            return now_ms + AFTER_FAILURE_MS
        return now_ms if left <= 0 else self._timers.next_due_ms()

    @property
    def behind(self) -> int:
        """How many messages of the timer topic were not read yet."""
        return max(0, self._reader.max_offset(TIMER_TOPIC, 0) - self._timers.next_offset)

    def _read_topic(self, now_ms: int, most: int) -> int:
        """Read what is new in the timer topic; give how many more may be looked at."""
        end = self._reader.max_offset(TIMER_TOPIC, 0)
        self._timers.ends_at(end)
        while most > 0 and self._timers.next_offset < end:
            offset = max(self._timers.next_offset, self._reader.min_offset(TIMER_TOPIC, 0))
            record, size = self._at(offset)
            parked = None if record is None else parked_of(record, size)
            if parked is None:
                self._skip(f"what is at {offset} of the timer topic is no timer message")
            elif parked.topic.startswith(REVIVE_PREFIX):
                parked = None
            if not self._timers.is_known(offset, parked) and record is not None and parked is not None:
                self._park(offset, record, parked, now_ms)
            self.read += 1
            most -= 1
        return most

    def _at(self, offset: int) -> tuple[StoredMessage | None, int]:
        unit = self._reader.unit(TIMER_TOPIC, 0, offset)
        return (None, 0) if unit is None else (self._record(unit.log_offset), unit.size)

    def _park(self, offset: int, record: StoredMessage, parked: Parked, now_ms: int) -> None:
        if not self._timers.is_late(parked, now_ms):
            self._timers.add(offset, parked, now_ms, ROLL_SLOTS * self._precision_ms)
            return
        message = None if parked.is_delete else delivered(record, _NEVER_PARKED, now_ms)
        if message is None:
            self._timers.is_known(offset, None)
            return

        def settle(stored: Stored) -> None:
            self._timers.settled_late(offset, is_stored=stored is not Stored.FAILED)
            if stored is Stored.FAILED:
                self.on_put_back()

        is_put = self._put(message, now_ms, settle)
        self._timers.add_late(offset, parked, now_ms)
        if not is_put:
            settle(Stored.SAFE)

    def _deliver_due(self, now_ms: int, most: int) -> int:
        """Store what is due; give how many more could have been looked at."""
        while most > 0 and (found := self._timers.due(now_ms, most)):
            moment = found[0].moment
            recalled = self._timers.recalled(moment)
            if recalled is None:
                recalled = self._recalled(moment)
                self._timers.set_recalled(moment, recalled)
            for waiting in found:
                self._deliver(waiting, recalled, now_ms)
            self.taken += len(found)
            most -= len(found)
        return most

    def _recalled(self, moment: int) -> frozenset[str]:
        records = (self._record(each.log_offset) for each in self._timers.deletes(moment))
        return frozenset(record.properties.get(TIMER_DEL_UNIQKEY, "") for record in records if record is not None)

    def _deliver(self, waiting: Waiting, recalled: frozenset[str], now_ms: int) -> None:
        message = self._message(waiting, recalled, now_ms)
        if message is None:
            self._timers.take(waiting, is_in_flight=False)
            return

        def settle(stored: Stored) -> None:
            self._timers.settled(waiting, is_stored=stored is not Stored.FAILED)
            if stored is Stored.FAILED:
                self.on_put_back()

        is_put = self._put(message, now_ms, settle)
        self._timers.take(waiting, is_in_flight=is_put)

    def _message(self, waiting: Waiting, recalled: frozenset[str], now_ms: int) -> NewMessage | None:
        """Give what is to be stored now; None when it was taken back, or is not what it should be."""
        record = self._record(waiting.log_offset)
        parked = None if record is None else parked_of(record, 0)
        is_fit = parked is not None and (waiting.is_roll or parked.due_ms // self._precision_ms <= waiting.moment)
        if record is None or not is_fit:
            self._skip(f"what is at {waiting.log_offset} of the log is not the timer message that is due")
            return None
        enqueued_ms = record.store_timestamp_ms // self._precision_ms * self._precision_ms
        if waiting.is_roll:
            return rolled(record, enqueued_ms, now_ms)
        named = record.properties
        if named.get(REAL_TOPIC, "").startswith(REVIVE_PREFIX):
            return None
        key = named.get(UNIQ_KEY, "")
        if waiting.is_delete or (recalled and not recalled.isdisjoint((key, f"{named.get(REAL_TOPIC)}+{key}"))):
            return None
        message = delivered(record, enqueued_ms, now_ms)
        if message is None:
            self._skip(f"the timer message at {waiting.log_offset} does not say where it goes")
        return message

    def _put(self, message: NewMessage, now_ms: int, settle: Callable[[Stored], None]) -> bool:
        """Store a message; False when it cannot be stored ever. Raises StoreUnavailableError as the turn does."""
        try:
            self._turn.put(message, now_ms, settle)
        except MessageError as error:
            self._skip(f"a timer message of {message.topic} cannot be delivered: {error}")
            return False
        return True

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        if self.skipped <= _TOLD or self.skipped % 1000 == 0:
            logger.warning("%s (%d until now)", reason, self.skipped)

    def _record(self, log_offset: int) -> StoredMessage | None:
        view = self._reader.record_at(log_offset)
        try:
            return None if view is None else decode_record(view)[0]
        except MalformedBodyError:
            return None
