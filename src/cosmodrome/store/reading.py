"""What is read from a store.

Owns: a pull's batch and its status; finding messages by place, by time and by key.
Must not know: who asks; filters beyond the two questions that it asks them.
"""

import struct
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from cosmodrome.protocol.messages.record import MAGIC_V1, MAGIC_V2, MIN_RECORD_BYTES
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6
from cosmodrome.store.commit_log import CommitLog
from cosmodrome.store.consume_queue import ConsumeQueue, Unit
from cosmodrome.store.consume_queues import ConsumeQueues
from cosmodrome.store.index import Index

_START: Final = struct.Struct(">ii20xqi8x")
"""Of a record: its size, magic number, place in the log and flag; then its born host begins."""
_TIME: Final = struct.Struct(">q")
_MAGICS: Final = frozenset({MAGIC_V1, MAGIC_V2})
_HOST_BYTES: Final = {0: 8, BORN_HOST_V6: 20}
_SCAN_UNITS: Final = 800


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
    """How much one read gives; at least one message that matches is given whatever its size."""

    messages: int = 32
    size_bytes: int = 256 * 1024
    units: int = _SCAN_UNITS


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
    """Reads a store. Every method may raise OSError when the disk fails."""

    def __init__(self, log: CommitLog, queues: ConsumeQueues, index: Index) -> None:
        """Read these."""
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
        """Give the offset behind a queue's last message; 0 for a queue that is unknown."""
        queue = self._queues.table.get((topic, queue_id))
        return queue.max_offset if queue is not None else 0

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
        """
        found = self._queues.table.get(queue)
        if found is None:
            return ReadResult(ReadStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        status, next_offset = _placed(found, offset)
        if status is not None:
            return ReadResult(status, next_offset, found.min_offset, found.max_offset)
        return self._batch(found, offset, limits, is_tag_wanted, is_wanted)

    def _batch(
        self,
        queue: ConsumeQueue,
        offset: int,
        limits: ReadLimits,
        is_tag_wanted: Callable[[int], bool] | None,
        is_wanted: Callable[[memoryview], bool] | None,
    ) -> ReadResult:
        records: list[memoryview] = []
        size = 0
        is_gone = True
        units = queue.units(offset, limits.units)
        if not units:
            return ReadResult(ReadStatus.OFFSET_FOUND_NULL, queue.next_file(offset), queue.min_offset, queue.max_offset)
        next_offset = offset
        for unit in units:
            if records and (len(records) >= limits.messages or size + unit.size > limits.size_bytes):
                break
            next_offset += 1
            if is_tag_wanted is not None and not unit.is_hole and not is_tag_wanted(unit.tag_code):
                is_gone = False
                continue
            view = self._record_of(unit)
            if view is None:
                continue
            is_gone = False
            if is_wanted is None or is_wanted(view):
                records.append(view)
                size += unit.size
        status = ReadStatus.FOUND if records else ReadStatus.NO_MATCHED_MESSAGE
        if is_gone:
            status = ReadStatus.MESSAGE_WAS_REMOVING
        return ReadResult(status, next_offset, queue.min_offset, queue.max_offset, tuple(records), size)

    def _record_of(self, unit: Unit) -> memoryview | None:
        view = None if unit.is_hole else self._log.view(unit.log_offset, unit.size)
        if view is None or len(view) < MIN_RECORD_BYTES:
            return None
        size, magic, position, _ = _START.unpack_from(view)
        return view if (size, position) == (unit.size, unit.log_offset) and magic in _MAGICS else None

    def unit(self, topic: str, queue_id: int, offset: int) -> Unit | None:
        """Give where a message of a queue is; None when there is none."""
        queue = self._queues.table.get((topic, queue_id))
        unit = queue.unit(offset) if queue is not None else None
        return None if unit is None or unit.is_hole else unit

    def record_at(self, position: int) -> memoryview | None:
        """Give the record that begins at a place in the log; None when none does."""
        head = self._log.view(position, MIN_RECORD_BYTES) if position >= self._log.start else None
        if head is None:
            return None
        size, magic, place, _ = _START.unpack_from(head)
        return self._record_of(Unit(position, size, 0)) if place == position and magic in _MAGICS else None

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
        places = self._index.find(topic, key, limit, begin_ms, end_ms)
        found = map(self.record_at, places)
        return [view for view in found if view is not None]

    def last_indexed(self) -> tuple[int, int]:
        """Give the store time and the place of the message that was indexed last; zeros when there is none."""
        return self._index.last()

    def bytes_from(self, position: int, limit: int) -> memoryview | None:
        """Give raw bytes of the log for a slave, of one file; None when there are none at that place."""
        return self._log.bytes_from(position, limit)


def _placed(queue: ConsumeQueue, offset: int) -> tuple[ReadStatus | None, int]:
    """Say what an offset outside a queue is called and where to go on; None for one inside."""
    if queue.max_offset == 0:
        return ReadStatus.NO_MESSAGE_IN_QUEUE, 0
    if offset < queue.min_offset:
        return ReadStatus.OFFSET_TOO_SMALL, queue.min_offset
    if offset == queue.max_offset:
        return ReadStatus.OFFSET_OVERFLOW_ONE, offset
    if offset > queue.max_offset:
        return ReadStatus.OFFSET_OVERFLOW_BADLY, queue.max_offset
    return None, offset


def _time_of(view: memoryview) -> int:
    flags = _START.unpack_from(view)[3] & BORN_HOST_V6
    (found,) = _TIME.unpack_from(view, _START.size + _HOST_BYTES[flags])
    return int(found)
