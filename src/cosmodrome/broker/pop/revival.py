"""Delivering popped messages again that nobody has acknowledged (Java: PopReviveService).

Owns: the copy that is delivered, to where it goes; what is passed over because its topic or group is gone.
Must not know: the event loop; who pops.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.messages import failed, of_record, with_properties
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.pop.in_flight import InFlight, Popped
from cosmodrome.broker.pop.names import ORIGIN_GROUP, normal_topic, pop_retry_topic
from cosmodrome.broker.pop.revive_log import ReviveLog
from cosmodrome.broker.topics import Topics, dead_letter_topic
from cosmodrome.broker.turn import Stored, Turn
from cosmodrome.errors import MalformedBodyError, MessageError, StoreUnavailableError
from cosmodrome.protocol.bodies.groups import SubscriptionGroupConfig
from cosmodrome.protocol.bodies.pop_records import PopAck
from cosmodrome.protocol.messages.checks import RETRY_PREFIX
from cosmodrome.protocol.messages.properties import FIRST_POP_TIME
from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.store.appending import NewMessage
from cosmodrome.store.reading import Reader

logger = logging.getLogger(__name__)

AT_ONCE: Final = 128
"""Messages that are dealt with in one turn, and a check point more; others have their turn between."""
AFTER_FAILURE_MS: Final = 1000
_OTHER_MESSAGE_MS: Final = 60_000
"""A message that was stored so long after it was popped is another one, of a topic that was made anew."""
_NOTHING: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RevivalParts:
    """What is delivered with."""

    topics: Topics
    groups: Groups
    offsets: Offsets
    in_flight: InFlight
    log: ReviveLog
    reader: Reader
    turn: Turn


class Revival:
    """Delivers again. `on_put_back` is told when something could not be stored and is to be tried again."""

    def __init__(self, parts: RevivalParts, clock: Clock, store_host: bytes) -> None:
        """Use these parts; `store_host` is who sends what comes again, as in Java."""
        self._parts = parts
        self._clock = clock
        self._store_host = store_host
        self.on_put_back: Callable[[], None] = lambda: None
        self.on_dead: Callable[[str, str], None] = lambda _, __: None
        """Told of topic and group of each message that is given up."""

    def run(self) -> int | None:
        """Deliver what is due, and give the wall-clock time at which there is more to do; None when nothing waits."""
        now_ms = self._clock.wall_ms()
        flight = self._parts.in_flight
        messages = 0
        while messages < AT_ONCE and (due := flight.take_due(now_ms, 1)):
            messages += len(due[0].open_offsets)
            if not self._revive(due[0], now_ms):
                flight.later(due[0], now_ms + AFTER_FAILURE_MS)
                return now_ms + AFTER_FAILURE_MS
        return flight.next_due_ms()

    def _revive(self, popped: Popped, now_ms: int) -> bool:
        """Deliver what is left of a check point, and write down that it is; False when the store takes nothing."""
        point, parts = popped.point, self._parts
        open_offsets = popped.open_offsets
        group = parts.groups.get(point.group)
        is_meant = group is not None and normal_topic(point.topic, point.group) in parts.topics
        try:
            for offset in open_offsets if is_meant else ():
                record = self._record(popped, offset, now_ms)
                if record is not None and group is not None:
                    self._put(popped, record, group, now_ms)
            ack = PopAck(popped.key, open_offsets)
            parts.log.put_ack(ack, popped.place.queue_id, self._store_host, self._settling(popped))
        except StoreUnavailableError:
            return False
        return True

    def _settling(self, popped: Popped) -> Callable[[Stored], None]:
        def settle(stored: Stored) -> None:
            if stored is Stored.FAILED:
                self._parts.in_flight.later(popped, self._clock.wall_ms() + AFTER_FAILURE_MS)
                self.on_put_back()

        return settle

    def _record(self, popped: Popped, offset: int, now_ms: int) -> StoredMessage | None:
        point, reader = popped.point, self._parts.reader
        unit = reader.unit(point.topic, point.queue_id, offset)
        view = None if unit is None else reader.record_at(unit.log_offset)
        try:
            record = None if view is None else decode_record(view)[0]
        except MalformedBodyError:
            record = None
        if record is None:
            logger.warning("offset %d of %s@%d is gone and cannot come again", offset, point.topic, point.queue_id)
            return None
        is_other = point.pop_time + _OTHER_MESSAGE_MS < record.store_timestamp_ms <= now_ms
        return None if is_other or record.topic != point.topic else record

    def _put(self, popped: Popped, record: StoredMessage, group: SubscriptionGroupConfig, now_ms: int) -> None:
        turn, is_failure = self._parts.turn, not popped.point.is_suspended
        if is_failure and record.reconsume_times >= group.retry_max_times:
            turn.put(self._dead(record, group.group_name, now_ms), now_ms)
            self.on_dead(record.topic, group.group_name)
            return
        try:
            turn.put(self._again(popped, record, now_ms), now_ms)
        except MessageError as error:
            logger.warning("a message of group %s is given up: %s", group.group_name, error)
            dead = self._parts.topics.ensure(dead_letter_topic(group.group_name), 1, now_ms)
            turn.put(of_record(record)._replace(topic=dead.topic_name, queue_id=0), now_ms)
            self.on_dead(record.topic, group.group_name)

    def _dead(self, record: StoredMessage, group: str, now_ms: int) -> NewMessage:
        dead = self._parts.topics.ensure(dead_letter_topic(group), 1, now_ms)
        return failed(record, dead.topic_name, 0, _NOTHING)

    def _again(self, popped: Popped, record: StoredMessage, now_ms: int) -> NewMessage:
        point = popped.point
        name = point.topic
        if not name.startswith(RETRY_PREFIX):
            name = pop_retry_topic(name, point.group)
        if name not in self._parts.topics:
            self._parts.topics.ensure(name, 1, now_ms)
            if self._parts.offsets.committed(name, point.group, 0) is None:
                self._parts.offsets.commit(name, point.group, 0, 0)
        first = record.properties.get(FIRST_POP_TIME) if record.reconsume_times else None
        own = {ORIGIN_GROUP: point.group, FIRST_POP_TIME: first or str(point.pop_time)}
        return with_properties(of_record(record), own)._replace(
            topic=name,
            queue_id=0,
            born_host=self._store_host,
            reconsume_times=record.reconsume_times + (0 if point.is_suspended else 1),
            prepared_transaction_offset=0,
        )
