"""Check points and acknowledgements in the store, in Apache's revive topic.

Owns: the records as Apache's brokers write them; reading them, at the start and when others put some there.
Must not know: when anything is delivered again; the event loop.

Apache's brokers keep a record in the timer topic until its time has come. Here it goes to the revive topic at once, and
its TIMER_DELIVER_MS says so: Apache's revive service takes that for how far the topic has come.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.pop.in_flight import InFlight, Place
from cosmodrome.broker.turn import Stored, Turn
from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.pop_records import (
    ACK_TAG,
    BATCH_ACK_TAG,
    CHECK_POINT_TAG,
    PopAck,
    PopCheckPoint,
    PopKey,
    ack_id,
    ack_tag,
    check_point_id,
    decode_ack,
    decode_check_point,
    encode_ack,
    encode_check_point,
)
from cosmodrome.protocol.messages.properties import (
    TAGS,
    TIMER_DELIVER_MS,
    UNIQ_KEY,
    encode_properties,
    properties_bytes,
)
from cosmodrome.protocol.messages.record import StoredMessage, decode_record
from cosmodrome.store.appending import NewMessage, Position
from cosmodrome.store.reading import Reader

logger = logging.getLogger(__name__)

GRACE_MS: Final = 3000
"""So long after its time a check point of another process is due: acknowledgements may be on their way from the timer."""
_LIKE_IT: Final = 8
_FOR_EVER_MS: Final = 2**62
Settle = Callable[[Stored], None]
IsCopy = Callable[[StoredMessage, PopCheckPoint], bool]


class ReviveLog:
    """Writes and reads the records. `broker_name` is this broker's."""

    def __init__(self, reader: Reader, turn: Turn, clock: Clock, in_flight: InFlight, names: tuple[str, str]) -> None:
        """Use these parts; `names` are those of the revive topic and of this broker."""
        self._reader = reader
        self._turn = turn
        self._clock = clock
        self._in_flight = in_flight
        self.topic, self.broker_name = names
        self._own: set[Place] = set()
        self._grace_ms = GRACE_MS

    def key_of(self, point: PopCheckPoint) -> PopKey:
        """Give the key of a check point."""
        return point.key(self.broker_name)

    def put_check_point(self, point: PopCheckPoint, queue_id: int, born_host: bytes, settle: Settle) -> None:
        """Store a check point; it is in flight before `settle` is told that it is safe.

        Raises:
            MessageError: It cannot be stored.
            StoreUnavailableError: Nothing is accepted.
        """
        key = self.key_of(point)

        def settled(stored: Stored) -> None:
            if stored is not Stored.FAILED:
                self._in_flight.put(key, point, Place(queue_id, position.queue_offset), point.revive_time)
            settle(stored)

        body = encode_check_point(point)
        position = self._put_own(queue_id, body, (CHECK_POINT_TAG, check_point_id(key)), born_host, (settled, None))

    def put_ack(
        self, ack: PopAck, queue_id: int, born_host: bytes, settle: Settle, disk_timeout_ms: int | None = None
    ) -> None:
        """Store an acknowledgement, which counts from now on; if it cannot be stored, it never did.

        Raises:
            MessageError: It cannot be stored.
            StoreUnavailableError: Nothing is accepted.
        """
        popped = self._in_flight.get(ack.key)
        before = 0 if popped is None else popped.done

        def settled(stored: Stored) -> None:
            if stored is Stored.FAILED and popped is not None:
                self._in_flight.take_back(popped, popped.bits(ack.offsets) & ~before)
            settle(stored)

        named = (ack_tag(ack), ack_id(ack))
        self._put_own(queue_id, encode_ack(ack), named, born_host, (settled, disk_timeout_ms))
        if popped is not None:
            self._in_flight.acknowledge(popped, ack.offsets)

    def load(self, first: Callable[[int], int], *, is_complete: bool) -> Iterator[PopCheckPoint]:
        """Read everything from `first` of each revive queue on, and give the check points among it.

        `is_complete` is for a topic that has all acknowledgements: nobody needs to wait for some that are in the timer.
        """
        self._grace_ms = 0 if is_complete else GRACE_MS
        for queue_id in self._reader.queues().get(self.topic, ()):
            start = max(first(queue_id), self._reader.min_offset(self.topic, queue_id))
            if start:
                self._in_flight.read_to(Place(queue_id, start - 1))
            yield from self._read(queue_id)
        self._grace_ms = GRACE_MS

    def arrived(self, queue_id: int) -> bool:
        """Read what others have put into a revive queue; tell whether there was a check point.

        One that is there already is one of which an Apache broker's timer has a copy (timer_leftovers.py).
        """
        return any([*self._read(queue_id, is_copy=self._is_copy)])

    def is_known(self, record: StoredMessage) -> bool:
        """Whether a record of this kind about these messages is in the revive topic."""
        return self._count(record) > 0

    def adopt(self, record: StoredMessage, queue_id: int) -> None:
        """Put a copy of a record into a revive queue; it is read when it is there. Raises as `put_ack`."""
        named = (record.tag or "", record.properties.get(UNIQ_KEY, ""))
        self._put(queue_id, record.body, named, record.born_host_bytes, (lambda _: None, None))

    def _is_copy(self, record: StoredMessage, point: PopCheckPoint) -> bool:
        return self._in_flight.get(self.key_of(point)) is None and self._count(record) > 1

    def _count(self, record: StoredMessage) -> int:
        """Count the records of the revive topic with the id of this one; without an index there is none."""
        key = record.properties.get(UNIQ_KEY, "")
        found = self._reader.find(self.topic, key, _LIKE_IT, 0, _FOR_EVER_MS) if key else []
        return sum(decode_record(each)[0].properties.get(UNIQ_KEY) == key for each in found)

    def _read(self, queue_id: int, is_copy: IsCopy | None = None) -> Iterator[PopCheckPoint]:
        end = self._reader.max_offset(self.topic, queue_id)
        for offset in range(self._in_flight.end_of(queue_id), end):
            place = Place(queue_id, offset)
            self._in_flight.read_to(place)
            if place in self._own:
                self._own.discard(place)
                continue
            try:
                record = self._record(place)
                point = None if record is None else self._noted(record, place, is_copy)
            except MalformedBodyError as error:
                logger.warning("the record at %d of revive queue %d is passed over: %s", offset, queue_id, error)
                continue
            if point is not None:
                yield point

    def _noted(self, record: StoredMessage, place: Place, is_copy: IsCopy | None) -> PopCheckPoint | None:
        now_ms = self._clock.wall_ms()
        if record.tag == CHECK_POINT_TAG:
            point = decode_check_point(record.body)
            if is_copy is not None and is_copy(record, point):
                return None
            self._in_flight.put(self.key_of(point), point, place, max(point.revive_time, now_ms) + self._grace_ms)
            return point
        if record.tag in (ACK_TAG, BATCH_ACK_TAG):
            ack = decode_ack(record.body, self.broker_name)
            popped = self._in_flight.get(ack.key)
            if popped is not None:
                self._in_flight.acknowledge(popped, ack.offsets)
        return None

    def _record(self, place: Place) -> StoredMessage | None:
        unit = self._reader.unit(self.topic, place.queue_id, place.offset)
        view = None if unit is None else self._reader.record_at(unit.log_offset)
        return None if view is None else decode_record(view)[0]

    def _put(
        self, queue_id: int, body: bytes, named: tuple[str, str], born_host: bytes, settle: tuple[Settle, int | None]
    ) -> Position:
        now_ms = self._clock.wall_ms()
        text = encode_properties({TAGS: named[0], TIMER_DELIVER_MS: str(now_ms), UNIQ_KEY: named[1]})
        message = NewMessage(self.topic, queue_id, body, properties_bytes(text), now_ms, born_host)
        return self._turn.put(message, now_ms, *settle)

    def _put_own(
        self, queue_id: int, body: bytes, named: tuple[str, str], born_host: bytes, settle: tuple[Settle, int | None]
    ) -> Position:
        """Store a record that need not be read again: what it says is known here."""

        def settled(stored: Stored) -> None:
            if stored is Stored.FAILED:
                self._own.discard(place)
            settle[0](stored)

        position = self._put(queue_id, body, named, born_host, (settled, settle[1]))
        place = Place(queue_id, position.queue_offset)
        self._own.add(place)
        return position
