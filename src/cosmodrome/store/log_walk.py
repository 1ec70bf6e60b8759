"""Walking through a commit log of which nobody knows how it ends.

Owns: what a whole record is; finding the next one behind something that is none; telling what a power cut tore from
    what was damaged later.
Must not know: queues; what is done about damage.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from cosmodrome.protocol.messages.properties import MAX_PROPERTIES_BYTES
from cosmodrome.protocol.messages.record import (
    FILLER_BYTES,
    HEADS,
    MAGIC_FILLER,
    MAGIC_V1,
    MAGIC_V2,
    MAX_TOPIC_BYTES_V1,
    MIN_RECORD_BYTES,
)
from cosmodrome.protocol.messages.sys_flag import BORN_HOST_V6, STORE_HOST_V6
from cosmodrome.store.commit_log import CommitLog

_V6: Final = BORN_HOST_V6 | STORE_HOST_V6
_V4_HEAD: Final = HEADS[0]
_BEFORE_HOSTS: Final = 8
_HEAD: Final = struct.Struct(">ii")
_SHORT: Final = struct.Struct(">h")
_MAGIC_BEGINS: Final = b"\xda\xa3\x20"
_MAGIC_AT: Final = 4
_LOOK_BYTES: Final = 1024 * 1024
_SECTOR_BYTES: Final = 512
"""The smallest piece of a file that a disk writes whole or not at all."""
_LEADING_ZEROS: Final = 4
"""So many zeros at the start of a record say that it is none."""
_NUL: Final = 0


class LogRecord(NamedTuple):
    """What is needed of a record in order to find it again."""

    position: int
    size: int
    topic: str
    queue_id: int
    queue_offset: int
    sys_flag: int
    store_timestamp_ms: int
    properties: bytes

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.position + self.size


class Damage(NamedTuple):
    """Bytes that are no record, with whole records behind them."""

    start: int
    end: int


def read_record(view: memoryview, at: int, position: int, *, is_torn_possible: bool = False) -> LogRecord | None:
    """Read the record at `at`, whose position in the log is `position`; None unless it is whole.

    With `is_torn_possible` properties with a zero byte count as torn; no checksum covers them.
    """
    try:
        return _parsed(view, at, position, is_torn_possible)
    except (struct.error, IndexError, ValueError):
        return None


def _parsed(view: memoryview, at: int, position: int, is_torn_possible: bool) -> LogRecord:  # noqa: FBT001 -- as its caller
    """Read the record.

    Raises:
        struct.error, IndexError, ValueError: It is not whole.
    """
    head = _V4_HEAD
    size, magic, crc, queue_id, _, queue_offset, log_offset, sys_flag, *rest = head.unpack_from(view, at)
    if log_offset != position or not MIN_RECORD_BYTES <= size <= len(view) - at or min(queue_offset, queue_id) < 0:
        raise ValueError
    if sys_flag & _V6:
        head = HEADS[sys_flag & _V6]
        rest = list(head.unpack_from(view, at)[_BEFORE_HOSTS:])
    body_at, end = at + head.size, at + size
    body_end = body_at + rest[-1]
    if not body_at <= body_end < end:
        raise ValueError
    topic_at, topic_end = _topic_span(view, magic, body_end)
    properties_at = topic_end + _SHORT.size
    (properties_bytes,) = _SHORT.unpack_from(view, topic_end)
    if not 0 <= properties_bytes <= MAX_PROPERTIES_BYTES or properties_at + properties_bytes != end:
        raise ValueError
    topic, properties = bytes(view[topic_at:topic_end]), bytes(view[properties_at:end])
    if not topic or _NUL in topic or (is_torn_possible and _NUL in properties):
        raise ValueError
    if zlib.crc32(view[body_at:body_end]) & 0x7FFFFFFF != crc:
        raise ValueError
    return LogRecord(position, size, topic.decode(), queue_id, queue_offset, sys_flag, rest[2], properties)


def _topic_span(view: memoryview, magic: int, body_end: int) -> tuple[int, int]:
    """Say where the topic begins and ends.

    Raises:
        IndexError: It does not fit, or the record is of a kind that nobody knows.
    """
    if magic == MAGIC_V1:
        length = view[body_end]
        if length <= MAX_TOPIC_BYTES_V1:
            return body_end + 1, body_end + 1 + length
    elif magic == MAGIC_V2:
        return body_end + 2, body_end + 2 + (view[body_end] << 8 | view[body_end + 1])
    raise IndexError


class LogWalk:
    """One walk. What was found whole so far ends at `end`; when the walk is over, so does the log.

    Attributes:
        end: Behind the last whole record.
        torn: Where a power cut left what is not whole although something whole is behind it; None if it did not.
    """

    def __init__(self, log: CommitLog, start: int, *, is_torn_possible: bool) -> None:
        """Begin at a record, or where the log ends.

        Args:
            log: The files; where it ends is not asked.
            start: Where the walk begins.
            is_torn_possible: Whether this may be what a power cut left. Then bytes that were lost in it end the log.
        """
        self.end = start
        self.torn: int | None = None
        self._segments = log.segments
        self._is_torn_possible = is_torn_possible

    def __iter__(self) -> Iterator[LogRecord | Damage]:
        """Give records and damage in order.

        Raises:
            OSError: A file cannot be read.
        """
        while self._segments.has(start := self._segments.start_of(self.end)):
            yield from self._whole_records(start)
            if self.end >= start + self._segments.file_bytes:
                continue
            behind = self._next_whole(self.end)
            if behind is None:
                return
            damage = Damage(self.end, behind.position)
            if self._is_torn_possible and self._is_torn(damage):
                self.torn = self.end
                return
            yield damage
            self.end = behind.position

    def _whole_records(self, start: int) -> Iterator[LogRecord]:
        """Give the records up to the end of a file, or to what is none."""
        view = self._segments.file(start).view()
        limit = len(view)
        while (at := self.end - start) < limit:
            if limit - at < FILLER_BYTES or _HEAD.unpack_from(view, at) == (limit - at, MAGIC_FILLER):
                self.end = start + limit
                return
            record = read_record(view, at, self.end, is_torn_possible=self._is_torn_possible)
            if record is None:
                return
            yield record
            self.end = record.end

    def _next_whole(self, position: int) -> LogRecord | None:
        """Find the first whole record behind a place where there is none."""
        start = self._segments.start_of(position)
        claimed = self._behind_its_size(start, position)
        if claimed is not None:
            return claimed
        found = self._found_from(start, position - start + 1)
        while found is None and self._segments.has(start := start + self._segments.file_bytes):
            found = self._found_from(start, 0)
        return found

    def _behind_its_size(self, start: int, position: int) -> LogRecord | None:
        """Believe the length of a record that is otherwise not whole, if a whole one follows it."""
        view = self._segments.file(start).view()
        at = position - start
        if len(view) - at < FILLER_BYTES:
            return None
        size, _ = _HEAD.unpack_from(view, at)
        if not MIN_RECORD_BYTES <= size < len(view) - at:
            return None
        return read_record(view, at + size, position + size, is_torn_possible=self._is_torn_possible)

    def _found_from(self, start: int, at: int) -> LogRecord | None:
        file = self._segments.file(start)
        view = file.view()
        while (data := file.next_data(at)) is not None:
            chunk = bytes(view[data : data + _LOOK_BYTES + len(_MAGIC_BEGINS)])
            found = chunk.find(_MAGIC_BEGINS)
            while found >= 0:
                candidate = data + found - _MAGIC_AT
                if candidate >= at - _MAGIC_AT and candidate >= 0:
                    record = read_record(view, candidate, start + candidate, is_torn_possible=self._is_torn_possible)
                    if record is not None:
                        return record
                found = chunk.find(_MAGIC_BEGINS, found + 1)
            at = data + _LOOK_BYTES
        return None

    def _is_torn(self, damage: Damage) -> bool:
        """Tell whether whole sectors of it are zeros, which nobody wrote: those that a power cut kept from the disk.

        A sector counts if it ends before the next whole record begins, or in the zeros with which the length of that
        begins; of the first one what is before the damage was written earlier.
        """
        position = damage.start
        while position < damage.end:
            start = self._segments.start_of(position)
            at = position - start
            end = start + min(at - at % _SECTOR_BYTES + _SECTOR_BYTES, self._segments.file_bytes)
            if end >= damage.end + _LEADING_ZEROS:
                return False
            piece = self._segments.read(position, end - position)
            if len(piece) >= _LEADING_ZEROS and not any(piece):
                return True
            position = end
        return False
