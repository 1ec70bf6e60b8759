"""Putting right, while the store is open, what a failed write or sync left.

Owns: removing what of a failed turn is in the files; writing once more what was never known to be on disk.
Must not know: when it is tried; what is refused meanwhile.

Whoever reads is not disturbed: what is written again are the bytes that are there.
"""

from dataclasses import dataclass, field
from typing import Final

from cosmodrome.protocol.messages.sys_flag import TRANSACTION_MASK
from cosmodrome.store.commit_log import CommitLog
from cosmodrome.store.consume_queue import ConsumeQueue
from cosmodrome.store.log_walk import Damage, LogRecord, LogWalk
from cosmodrome.store.recovery import NOT_QUEUED, StoreParts, unit_code

_COPY_BYTES: Final = 1024 * 1024


@dataclass(slots=True)
class FailedTurns:
    """How far the writes of failed turns may have come: in the log, and in each queue."""

    log_end: int = 0
    queue_ends: dict[ConsumeQueue, int] = field(default_factory=dict)

    def add(self, parts: StoreParts) -> None:
        """Take what is gathered now."""
        self.log_end = max(self.log_end, parts.log.reserved)
        for queue in parts.queues.touched:
            self.queue_ends[queue] = max(self.queue_ends.get(queue, 0), queue.next_offset)


def heal_files(parts: StoreParts, failed: FailedTurns, certain_to: int) -> bool:
    """Make the files hold what they should, to be synced by the caller.

    What failed is overwritten with zeros every time, whatever seems to be there: an earlier sync may have failed after it.

    Args:
        parts: The store's.
        failed: How far what failed may have come.
        certain_to: A place in the log: what is before it is on disk, in the log and in the queues.

    Returns:
        False when the log no longer holds what was written: then everything has to be read again.

    Raises:
        OSError: The disk fails still. Nothing that can be read has changed.
    """
    log = parts.log
    log.segments.cut(log.end)
    log.segments.write_zeros(log.end, failed.log_end)
    for queue, offset in failed.queue_ends.items():
        queue.clear_to(offset)
    write_log_again(log, log.synced)
    return _write_units(parts, max(certain_to, log.start))


def write_log_again(log: CommitLog, position: int) -> None:
    """Write once more what is in the log from a place on.

    Raises:
        OSError: The disk fails.
    """
    position = max(position, log.start)
    while (view := log.bytes_from(position, _COPY_BYTES)) is not None:
        log.segments.write(position, bytes(view))
        position += len(view)


def _write_units(parts: StoreParts, start: int) -> bool:
    walk = LogWalk(parts.log, start, is_torn_possible=False)
    for found in walk:
        if isinstance(found, Damage):
            return False
        _write_unit(parts, found)
    return walk.end == parts.log.end


def _write_unit(parts: StoreParts, record: LogRecord) -> None:
    queue = parts.queues.table.get((record.topic, record.queue_id))
    if queue is None or record.sys_flag & TRANSACTION_MASK in NOT_QUEUED or record.queue_offset >= queue.max_offset:
        return
    queue.write_again(record.queue_offset, record.position, record.size, unit_code(parts.settings, queue, record))
