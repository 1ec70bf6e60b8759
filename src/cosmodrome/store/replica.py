"""The store of a slave: a master's log, byte for byte, with queues and an index of its own.

Owns: finding the records in bytes that come in pieces.
Must not know: connections; what is reported to the master.
"""

import struct
from typing import Final

from cosmodrome.errors import StoreFormatError
from cosmodrome.protocol.messages.record import FILLER_BYTES, MAGIC_FILLER, MIN_RECORD_BYTES
from cosmodrome.store.checkpoint import Times
from cosmodrome.store.log_walk import read_record
from cosmodrome.store.recovery import Recovery, StoreParts, StoreState

_HEAD: Final = struct.Struct(">ii")


class Replica:
    """Takes what a master sends."""

    def __init__(self, parts: StoreParts) -> None:
        """Go on where the log ends, which must be behind a whole record."""
        self._parts = parts
        self._records = Recovery(parts, StoreState(Times(), None, is_clean=True))
        self._records.index_from(parts.log.end)
        self._queued_to = parts.log.end

    @property
    def last_store_ms(self) -> int:
        """Store time of the newest record that was taken."""
        return self._records.last_store_ms

    def append(self, position: int, data: bytes | memoryview) -> None:
        """Write bytes, and queue the records that are whole now.

        Raises:
            StoreFormatError: They do not follow what is here, or are no records.
            OSError: A part of them may be written.
        """
        log = self._parts.log
        if not log.end:
            self._queued_to = position
        log.append_raw(position, data)
        while self._take_next():
            pass
        self._parts.queues.write()
        self._parts.queues.commit()
        self._parts.index.write(self._queued_to)

    def _take_next(self) -> bool:
        """Queue the next record if it is whole; pass a filler."""
        log, position = self._parts.log, self._queued_to
        room = log.segment_bytes - position % log.segment_bytes
        if room < FILLER_BYTES and position + room <= log.end:
            self._queued_to = position + room
            return True
        head = log.view(position, FILLER_BYTES)
        if head is None:
            return False
        size, magic = _HEAD.unpack(head)
        if magic == MAGIC_FILLER and size == room:
            # The zeros behind it may come later, or not at all before the next file begins.
            if position + room > log.end:
                return False
            self._queued_to = position + room
            return True
        is_possible = MIN_RECORD_BYTES <= size <= room
        view = log.view(position, size) if is_possible else head
        if view is None:
            return False
        record = read_record(view, 0, position) if is_possible else None
        if record is None:
            raise StoreFormatError(f"what the master sent for {position} is no record.")
        self._records.take(record)
        self._queued_to = record.end
        return True
