"""What is read from a store.

Owns: a pull's batch and its status; finding messages by place, by time and by key.
Must not know: who asks; filters beyond the two questions that it asks them.
"""

import struct
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple

from cosmodrome.protocol.messages.record import MAGIC_V1, MAGIC_V2, MIN_RECORD_BYTES
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6
from cosmodrome.store.cold import FilePart, NotInMemoryError, read_record, reading
from cosmodrome.store.commit_log import CommitLog
from cosmodrome.store.consume_queue import HOLE_SIZE, UNIT, ConsumeQueue, Unit
from cosmodrome.store.consume_queues import ConsumeQueues
from cosmodrome.store.index import Index
from cosmodrome.store.readable import ReadableEnds

_START: Final = struct.Struct(">ii20xqi8x")
"""Of a record: its size, magic number, place in the log and flag; then its born host begins."""
_TIME: Final = struct.Struct(">q")
_MAGICS: Final = frozenset({MAGIC_V1, MAGIC_V2})
_HOST_BYTES: Final = {0: 8, BORN_HOST_V6: 20}
_SCAN_UNITS: Final = 800
RECENT_BYTES: Final = 16 * 1024 * 1024
RECENT_UNITS: Final = 50_000
_NEAR_BYTES: Final = 16 * 1024
_JOINED_BYTES: Final = 256 * 1024


class ReadStatus(StrEnum):
    """What became of a read; the values are Apache's, which clients find in a remark."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"


class ReadLimits(NamedTuple):
    """How much one read gives; at least one message that matches is given whatever its size.

    With `is_patient` a read waits for the disk if reads may; else it raises NotInMemoryError when it would have to.
    """

    messages: int = 32
    size_bytes: int = 256 * 1024
    units: int = _SCAN_UNITS
    is_patient: bool = True


class ReadResult(NamedTuple):
    """What was read.

    Attributes:
        records: Views of whole records, in order. They stay valid whatever happens to the file.
        next_offset: Where to go on.
        min_offset: Of the queue.
        max_offset: Of the queue.
        size_bytes: Of all records.
    """

    status: ReadStatus
    next_offset: int
    min_offset: int
    max_offset: int
    records: tuple[memoryview, ...] = ()
    size_bytes: int = 0


class Reader:
    """Reads a store. Every method may raise OSError when the disk fails.

    Attributes:
        may_wait: Whether reads wait for the disk. While it is unset, every method that reads messages, units or keys raises
            NotInMemoryError when it would have to, and has changed nothing; offsets of queues are always in memory.
        recent_bytes: So much at the end of the log counts as being in memory, unasked.
        recent_units: So many at the end of a queue likewise.
    """

    def __init__(self, log: CommitLog, queues: ConsumeQueues, index: Index, readable: ReadableEnds) -> None:
        """Read these, of queues as far as they may be read."""
        self.may_wait = True
        self.recent_bytes = RECENT_BYTES
        self.recent_units = RECENT_UNITS
        self._readable = readable
        self._log = log
        self._queues = queues
        self._index = index

    def queues(self) -> dict[str, list[int]]:
        """Give the numbers of all queues by topic."""
        found: dict[str, list[int]] = {}
        for topic, queue_id in sorted(self._queues.table):
            found.setdefault(topic, []).append(queue_id)
        return found

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Give the offset of a queue's first message; 0 for a queue that is unknown."""
        queue = self._queues.table.get((topic, queue_id))
        return queue.min_offset if queue is not None else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Give the offset behind a queue's last message that may be read; 0 for a queue that is unknown."""
        queue = self._queues.table.get((topic, queue_id))
        return self._readable.end_of(queue) if queue is not None else 0

    def read(
        self,
        queue: tuple[str, int],
        offset: int,
        limits: ReadLimits,
        is_tag_wanted: Callable[[int], bool] | None = None,
        is_wanted: Callable[[memoryview], bool] | None = None,
    ) -> ReadResult:
        """Read messages of a queue, given by topic and number, from an offset on.

        Args:
            queue: Topic and number.
            offset: Of the first message that is asked for.
            limits: How much to give.
            is_tag_wanted: Asked with the third number of each unit; None takes all.
            is_wanted: Asked with each record; None takes all.

        Raises:
            NotInMemoryError: The limits are not patient, or reads may not wait, and it would have to.
        """
        found = self._queues.table.get(queue)
        if found is None:
            return ReadResult(ReadStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        max_offset = self._readable.end_of(found)
        status, next_offset = _placed(found.min_offset, max_offset, offset)
        if status is not None:
            return ReadResult(status, next_offset, found.min_offset, max_offset)
        return self._batch(found, offset, limits, is_tag_wanted, is_wanted)

    def _batch(
        self,
        queue: ConsumeQueue,
        offset: int,
        limits: ReadLimits,
        is_tag_wanted: Callable[[int], bool] | None,
        is_wanted: Callable[[memoryview], bool] | None,
    ) -> ReadResult:
        max_offset, is_patient = self._readable.end_of(queue), limits.is_patient and self.may_wait
        batch = _Batch(limits, is_tag_wanted, is_wanted, offset)
        end = min(offset + limits.units, max_offset, queue.next_file(offset))
        # Without a filter nearly every unit is a message that is given.
        step = limits.units if is_tag_wanted is not None or is_wanted is not None else max(limits.messages, 1)
        while not batch.is_full and batch.next_offset < end:
            count = min(step, end - batch.next_offset)
            if not is_patient:
                self._check_units(queue, batch.next_offset, count)
            data = queue.unit_bytes(batch.next_offset, count)
            if not data:
                break
            if not is_patient:
                self._check_records(data, limits)
            batch.take(self._log, data)
        if batch.next_offset == offset:
            return ReadResult(ReadStatus.OFFSET_FOUND_NULL, queue.next_file(offset), queue.min_offset, max_offset)
        records, next_offset = tuple(batch.records), batch.next_offset
        return ReadResult(batch.status, next_offset, queue.min_offset, max_offset, records, batch.size_bytes)

    def _check_units(self, queue: ConsumeQueue, offset: int, count: int) -> None:
        if queue.max_offset - offset <= self.recent_units:
            return
        cold = queue.cold_part(offset, count)
        if cold is not None:
            raise NotInMemoryError(reading([cold]))

    def _check_records(self, data: bytes, limits: ReadLimits) -> None:
        """Look whether the records of some units are in memory, as far as a read may come; recent ones are."""
        recent_from = self._log.end - self.recent_bytes
        places = [
            (log_offset, size)
            for log_offset, size, _ in UNIT.iter_unpack(data[: limits.messages * UNIT.size])
            if size != HOLE_SIZE and log_offset < recent_from
        ]
        cold = [part for place in joined(places) if (part := self._log.cold_part(*place)) is not None]
        if cold:
            raise NotInMemoryError(reading(cold))

    def _check_head(self, position: int) -> None:
        """Look whether a record's head is in memory, of which only its place is known."""
        cold = self._cold_record(position, MIN_RECORD_BYTES)
        if cold is not None:
            raise NotInMemoryError(partial(read_record, cold))

    def _cold_record(self, position: int, size: int) -> FilePart | None:
        if self.may_wait or position >= self._log.end - self.recent_bytes:
            return None
        return self._log.cold_part(position, size)

    def _record_of(self, unit: Unit) -> memoryview | None:
        if unit.is_hole:
            return None
        self._check_head(unit.log_offset)
        view = self._log.view(unit.log_offset, unit.size)
        if view is None or len(view) < MIN_RECORD_BYTES:
            return None
        size, magic, position, _ = _START.unpack_from(view)
        return view if (size, position) == (unit.size, unit.log_offset) and magic in _MAGICS else None

    def unit(self, topic: str, queue_id: int, offset: int) -> Unit | None:
        """Give where a message of a queue is; None when there is none."""
        queue = self._queues.table.get((topic, queue_id))
        is_there = queue is not None and offset < self._readable.end_of(queue)
        if queue is None or not is_there:
            return None
        if not self.may_wait:
            self._check_units(queue, offset, 1)
        unit = queue.unit(offset)
        return None if unit is None or unit.is_hole else unit

    def record_at(self, position: int) -> memoryview | None:
        """Give the record that begins at a place in the log; None when none does."""
        head = self._log.view(position, MIN_RECORD_BYTES) if position >= self._log.start else None
        if head is None:
            return None
        self._check_head(position)
        size, magic, place, _ = _START.unpack_from(head)
        if place != position or magic not in _MAGICS:
            return None
        cold = self._cold_record(position, size)
        if cold is not None:
            raise NotInMemoryError(reading([cold]))
        return self._record_of(Unit(position, size, 0))

    def store_time_ms(self, topic: str, queue_id: int, offset: int) -> int | None:
        """Give the store time of a message of a queue; None when there is none."""
        unit = self.unit(topic, queue_id, offset)
        view = self._record_of(unit) if unit is not None else None
        return _time_of(view) if view is not None else None

    def offset_by_time(self, topic: str, queue_id: int, time_ms: int) -> int:
        """Give the offset of the first message of a queue that was stored then or later; the maximum if there is none."""
        low, high = self.min_offset(topic, queue_id), self.max_offset(topic, queue_id)
        while low < high:
            middle = (low + high) // 2
            at = middle
            while at < high and (found_ms := self.store_time_ms(topic, queue_id, at)) is None:
                at += 1
            if at == high or found_ms is None or found_ms >= time_ms:
                high = middle
            else:
                low = at + 1
        return low

    def earliest_store_time_ms(self) -> int | None:
        """Give the store time of the first message in the log; None when there is none."""
        view = self.record_at(self._log.start)
        return _time_of(view) if view is not None else None

    def find(self, topic: str, key: str, limit: int, begin_ms: int, end_ms: int) -> list[memoryview]:
        """Give at most so many records with a key, the newest first. Some may have another key with the same hash.

        A tag is the key `T#<tag>` where tags are indexed.
        """
        places = self._index.find(topic, key, limit, (begin_ms, end_ms), may_wait=self.may_wait)
        found = map(self.record_at, places)
        return [view for view in found if view is not None]

    def last_indexed(self) -> tuple[int, int]:
        """Give the store time and the place of the message that was indexed last; zeros when there is none."""
        return self._index.last()

    def bytes_from(self, position: int, limit: int) -> memoryview | None:
        """Give raw bytes of the log for a slave, of one file; None when there are none at that place."""
        return self._log.bytes_from(position, limit)

    def reading_from(self, position: int, limit: int) -> Callable[[], object] | None:
        """Give what reads these bytes of one file into memory, in any thread, for `bytes_from` not to wait; else None."""
        return self._log.reading_from(position, limit)


class _Batch:
    """What one read has found so far."""

    __slots__ = (
        "_is_gone", "_is_tag_wanted", "_is_wanted", "_limits", "is_full", "next_offset", "records", "size_bytes",
    )  # fmt: skip

    def __init__(
        self,
        limits: ReadLimits,
        is_tag_wanted: Callable[[int], bool] | None,
        is_wanted: Callable[[memoryview], bool] | None,
        offset: int,
    ) -> None:
        self._limits = limits
        self._is_tag_wanted = is_tag_wanted
        self._is_wanted = is_wanted
        self._is_gone = True
        self.records: list[memoryview] = []
        self.size_bytes = 0
        self.next_offset = offset
        self.is_full = False

    @property
    def status(self) -> ReadStatus:
        if self._is_gone:
            return ReadStatus.MESSAGE_WAS_REMOVING
        return ReadStatus.FOUND if self.records else ReadStatus.NO_MATCHED_MESSAGE

    def take(self, log: CommitLog, data: bytes) -> None:
        """Take the messages of some units, as far as there is room. This is where a pull's time goes."""
        records, is_tag_wanted, is_wanted = self.records, self._is_tag_wanted, self._is_wanted
        most, room = self._limits.messages, self._limits.size_bytes - self.size_bytes
        count = 0
        for log_offset, size, tag_code in UNIT.iter_unpack(data):
            if records and (len(records) >= most or size > room):
                self.is_full = True
                break
            count += 1
            if size == HOLE_SIZE:
                continue
            if is_tag_wanted is not None and not is_tag_wanted(tag_code):
                self._is_gone = False
                continue
            view = log.view(log_offset, size)
            if view is None or size < MIN_RECORD_BYTES:
                continue
            found_size, magic, position, _ = _START.unpack_from(view)
            if found_size != size or position != log_offset or magic not in _MAGICS:
                continue
            self._is_gone = False
            if is_wanted is None or is_wanted(view):
                records.append(view)
                room -= size
        self.next_offset += count
        self.size_bytes = self._limits.size_bytes - room
        self.is_full = self.is_full or (bool(records) and len(records) >= most)


def _placed(min_offset: int, max_offset: int, offset: int) -> tuple[ReadStatus | None, int]:
    """Say what an offset outside a queue is called and where to go on; None for one inside."""
    if max_offset == 0:
        return ReadStatus.NO_MESSAGE_IN_QUEUE, 0
    if offset < min_offset:
        return ReadStatus.OFFSET_TOO_SMALL, min_offset
    if offset == max_offset:
        return ReadStatus.OFFSET_OVERFLOW_ONE, offset
    if offset > max_offset:
        return ReadStatus.OFFSET_OVERFLOW_BADLY, max_offset
    return None, offset


def joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join places (offset and length, ascending) that are so near to each other that one call for both costs less."""
    found: list[tuple[int, int]] = []
    for offset, length in places:
        if found and 0 <= offset - sum(found[-1]) <= _NEAR_BYTES and offset + length - found[-1][0] <= _JOINED_BYTES:
            found[-1] = (found[-1][0], offset + length - found[-1][0])
        else:
            found.append((offset, length))
    return found


def _time_of(view: memoryview) -> int:
    flags = _START.unpack_from(view)[3] & BORN_HOST_V6
    (found,) = _TIME.unpack_from(view, _START.size + _HOST_BYTES[flags])
    return int(found)
