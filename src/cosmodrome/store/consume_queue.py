"""One consume queue: where its messages are in the log.

Owns: the unit and its three numbers; what is added in a turn; finding the ends of a queue that somebody else left.
Must not know: records; which queues there are.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from cosmodrome.errors import StoreFormatError
from cosmodrome.store.files import StoreFile
from cosmodrome.store.segments import Segments
from cosmodrome.store.settings import UNIT_BYTES

UNIT: Final = struct.Struct(">qiq")
HOLE_SIZE: Final = 2**31 - 1
HOLE: Final = UNIT.pack(0, HOLE_SIZE, 0)
"""Where there is no message: before the first one of a file, and in the place of one that is damaged."""
_READ_UNITS: Final = 4096
_PENDING_LIMIT: Final = 4096


class Unit(NamedTuple):
    """Where a message is, how long its record is, and the hash of its tag (or when it is due)."""

    log_offset: int
    size: int
    tag_code: int

    @property
    def is_hole(self) -> bool:
        """Whether there is no message."""
        return self.size == HOLE_SIZE

    @property
    def is_written(self) -> bool:
        """Whether it is a unit at all; a file is zeros before it is written."""
        return self.size > 0 and self.log_offset >= 0


class ConsumeQueue:
    """One queue as it is written, and what of a turn is to be written next.

    Attributes:
        topic: Whose queue it is.
        queue_id: Which of them.
        topic_field: The topic as it stands in a record, with its length before it.
        magic: Of a record with this topic.
        key_hash: Of the topic and `#`, with which every key in an index begins.
        is_schedule: Whether its units tell when a message is due.
        min_offset: Of the first message that is still there; max_offset if there is none.
        max_offset: Behind the last message that may be read.
        next_offset: Behind the last one that is gathered.
    """

    __slots__ = (
        "_pending", "is_schedule", "key_hash", "magic", "max_offset", "min_offset", "next_offset", "queue_id",
        "segments", "topic", "topic_field",
    )  # fmt: skip

    def __init__(self, topic: str, queue_id: int, segments: Segments) -> None:
        """Know of no unit yet."""
        self.topic = topic
        self.queue_id = queue_id
        self.segments = segments
        self.topic_field = b""
        self.magic = self.key_hash = 0
        self.is_schedule = False
        self.min_offset = self.max_offset = self.next_offset = 0
        self._pending: list[bytes] = []

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.segments.folder

    def put(self, log_offset: int, size: int, tag_code: int) -> None:
        """Gather the unit of the next message."""
        self._pending.append(UNIT.pack(log_offset, size, tag_code))
        self.next_offset += 1

    def put_holes(self, count: int) -> None:
        """Gather units without a message."""
        self._pending.append(HOLE * count)
        self.next_offset += count

    @property
    def is_full(self) -> bool:
        """Whether it is time to write, for who gathers without an end."""
        return len(self._pending) >= _PENDING_LIMIT

    def write(self) -> None:
        """Write what is gathered; `commit` makes it readable.

        Raises:
            OSError: A part of it may be written; call `give_up`.
        """
        pending = self._pending
        if pending:
            self.segments.write(self.max_offset * UNIT_BYTES, pending[0] if len(pending) == 1 else b"".join(pending))

    def commit(self) -> None:
        """Let what was written be part of the queue."""
        self.max_offset = self.next_offset
        self._pending.clear()

    def write_again(self, offset: int, log_offset: int, size: int, tag_code: int) -> None:
        """Write a unit that was written before.

        Raises:
            OSError: A part of it may be written.
        """
        self.segments.write(offset * UNIT_BYTES, UNIT.pack(log_offset, size, tag_code))

    def give_up(self) -> None:
        """Forget what is gathered."""
        self._pending.clear()
        self.next_offset = self.max_offset

    def units(self, offset: int, count: int) -> list[Unit]:
        """Give units from there on, fewer at the end of the queue or of a file; none outside.

        Raises:
            OSError: They cannot be read.
        """
        count = min(count, self.max_offset - offset)
        if count <= 0 or offset < 0:
            return []
        return self._read(offset, count)

    def unit_bytes(self, offset: int, count: int) -> bytes:
        """Give units of one file as they are written, fewer at its end; none where there is no file.

        Raises:
            OSError: They cannot be read.
        """
        data = self.segments.read(offset * UNIT_BYTES, count * UNIT_BYTES)
        return data[: len(data) - len(data) % UNIT_BYTES]

    def cold_part(self, offset: int, count: int) -> tuple[StoreFile, int, int] | None:
        """Give the part of a file with these units (file, place, length) if it is not in memory; None if it is.

        Raises:
            OSError: The file cannot be opened.
        """
        return self.segments.cold_part(offset * UNIT_BYTES, count * UNIT_BYTES)

    def _read(self, offset: int, count: int) -> list[Unit]:
        return list(map(Unit._make, UNIT.iter_unpack(self.unit_bytes(offset, count))))

    def next_file(self, offset: int) -> int:
        """Give the offset with which the next file begins, or the maximum if there is none."""
        per_file = self.segments.file_bytes // UNIT_BYTES
        return min(offset - offset % per_file + per_file, self.max_offset)

    def unit(self, offset: int) -> Unit | None:
        """Give one unit; None outside the queue.

        Raises:
            OSError: It cannot be read.
        """
        found = self.units(offset, 1)
        return found[0] if found else None

    def load(self, log_end: int | None) -> None:
        """Find where the queue ends: before the first unit that points behind `log_end`, or is none.

        None: everything that is written counts. What is behind the end stays on disk; `cut` removes it.

        Raises:
            StoreFormatError: Its files are not what the settings say, or what is in them is not the units of a queue.
            OSError: They cannot be read.
        """
        self.segments.load()
        self._pending.clear()
        units_per_file = self.segments.file_bytes // UNIT_BYTES
        end = 0
        for start in reversed(self.segments.starts):
            first = start // UNIT_BYTES
            end = first + self._written(first, units_per_file)
            if end > first:
                break
        end = self._before(end, log_end) if log_end is not None else end
        self.max_offset = self.next_offset = end
        self._check_files(end)

    def _check_files(self, end: int) -> None:
        """Look at the first and the last unit of each file: they must be units, and lead forward through the log."""
        per_file = self.segments.file_bytes // UNIT_BYTES
        place = -1
        for start in self.segments.starts:
            first = start // UNIT_BYTES
            if first >= end:
                return
            for offset in (first, min(first + per_file, end) - 1):
                unit = next(iter(self._read(offset, 1)), None)
                if unit is None or not unit.is_written or (not unit.is_hole and unit.log_offset < place):
                    raise StoreFormatError(f"{self.segments.path(start)} does not hold the units of a queue.")
                place = place if unit.is_hole else unit.log_offset

    @property
    def lacks_its_beginning(self) -> bool:
        """Whether there must have been a file before the first one, if nothing of the log was deleted."""
        unit = next(iter(self._read(self.segments.start // UNIT_BYTES, 1)), None)
        return self.segments.start > 0 and unit is not None and not unit.is_hole

    def _written(self, first: int, count: int) -> int:
        """Say how many units of a file are written, by halving: they are written in order."""
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            found = self._read(first + middle, 1)
            if found and found[0].is_written:
                low = middle + 1
            else:
                high = middle
        return low

    def _before(self, end: int, log_end: int) -> int:
        """Go back from `end` over units that point behind the log's end, are none, or are holes."""
        first = self.segments.start // UNIT_BYTES
        while end > first:
            in_file = (end - 1) % (self.segments.file_bytes // UNIT_BYTES)
            begin = max(end - 1 - in_file, end - _READ_UNITS)
            for at, unit in reversed(list(enumerate(self._read(begin, end - begin), begin))):
                if unit.is_written and not unit.is_hole and unit.log_offset < log_end:
                    return at + 1
            end = begin
        return end

    def cut(self, end: int) -> None:
        """Let the queue end there, on disk too.

        Raises:
            OSError: Something of it may be done.
        """
        self._pending.clear()
        self.segments.cut(end * UNIT_BYTES)
        self.max_offset = self.next_offset = end
        self.min_offset = min(self.min_offset, end)

    def clear_to(self, offset: int) -> None:
        """Remove what a failed write left behind the end of the queue, up to an offset.

        Raises:
            OSError: Something of it may be done.
        """
        self.segments.cut(self.max_offset * UNIT_BYTES)
        self.segments.write_zeros(self.max_offset * UNIT_BYTES, offset * UNIT_BYTES)

    def begin_at(self, offset: int) -> None:
        """Begin anew: the next message has this offset, what is before it in its file are holes.

        Raises:
            OSError: Something of it may be done.
        """
        self._pending.clear()
        self.segments.drop_all()
        first = self.segments.start_of(offset * UNIT_BYTES) // UNIT_BYTES
        self.max_offset = self.next_offset = first
        self.min_offset = offset
        if offset > first:
            self.put_holes(offset - first)

    def find_min(self, log_start: int) -> None:
        """Find the first message that is still in the log, by halving: offsets in the log ascend.

        Raises:
            OSError: Units cannot be read.
        """
        low, high = self.segments.start // UNIT_BYTES, self.max_offset
        while low < high:
            middle = (low + high) // 2
            found = self._message_from(middle, high)
            if found is None or found[1].log_offset >= log_start:
                high = middle
            else:
                low = found[0] + 1
        found = self._message_from(low, self.max_offset)
        self.min_offset = found[0] if found is not None else self.max_offset

    def _message_from(self, offset: int, end: int) -> tuple[int, Unit] | None:
        """Give the first unit from there on that is no hole."""
        for at, unit in self.scan(offset, end):
            if not unit.is_hole:
                return at, unit
        return None

    def scan(self, offset: int, end: int) -> Iterator[tuple[int, Unit]]:
        """Give units with their offsets.

        Raises:
            OSError: They cannot be read.
        """
        while offset < end:
            found = self._read(offset, min(_READ_UNITS, end - offset)) if offset >= 0 else []
            if not found:
                return
            yield from enumerate(found, offset)
            offset += len(found)

    def drop_before(self, log_start: int) -> int:
        """Remove files all of whose messages are gone, but the last one; say how many that were.

        Raises:
            OSError: Some of them are still there.
        """
        count = 0
        per_file = self.segments.file_bytes // UNIT_BYTES
        while len(self.segments.starts) > 1:
            first = self.segments.starts[0] // UNIT_BYTES
            units = self._read(first + per_file - 1, 1)
            if units and units[-1].is_hole:
                units = [unit for unit in self._read(first, per_file) if not unit.is_hole]
            if units and units[-1].log_offset >= log_start:
                break
            self.segments.drop_first()
            count += 1
        return count
