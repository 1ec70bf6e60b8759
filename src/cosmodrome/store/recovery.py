"""Making the files of a store agree with each other, after whatever ended it.

Owns: where the log has to be read again and where it ends; building queues and index from it; the report of what was
    found.
Must not know: who opened the store; requests.

The log is the only truth. Units that point at or behind the place where reading begins are written anew, so it does not
matter what became of them.
"""

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cosmodrome.protocol.messages.sys_flag import TRANSACTION_MASK, TransactionType
from cosmodrome.protocol.messages.tag_hash import java_hash
from cosmodrome.store.checkpoint import Mark, Times
from cosmodrome.store.commit_log import CommitLog
from cosmodrome.store.consume_queue import ConsumeQueue
from cosmodrome.store.consume_queues import ConsumeQueues, is_safe
from cosmodrome.store.files import FileSystem
from cosmodrome.store.index import Index
from cosmodrome.store.log_walk import Damage, LogRecord, LogWalk, read_record
from cosmodrome.store.settings import StoreSettings, file_name
from cosmodrome.store.stored_properties import code_of, due_code_of, index_keys_of, tag_of

logger = logging.getLogger(__name__)

NOT_QUEUED: Final = frozenset({int(TransactionType.PREPARED), int(TransactionType.ROLLBACK)})
"""Records of these kinds have no place in a queue."""
_JAVA_SEGMENTS: Final = 3
"""So many of the last segments are read after a clean stop that says nothing more exact."""
_DOUBTFUL_SEGMENTS: Final = 2
"""Of a store that a crashed broker left, so many of the last segments may not be on disk although they are read."""
_JAVA_DOUBT_MS: Final = 3000
"""Java takes its checkpoint for that much less than it says."""
_MAX_HOLES: Final = 65536
"""So many numbers of a queue may be missing in a row; a record that is further away is misnumbered."""
_COPY_BYTES: Final = 16 * 1024 * 1024


@dataclass(slots=True)
class RecoveryReport:
    """What opening a store found and did.

    Attributes:
        is_clean: Whether it had been closed.
        is_new: Whether nothing was there.
        read_from: Where reading the log began.
        certain_to: What is before it in the log is on disk for certain; the rest may be what an earlier process could
            not sync, and the system no longer knows that it is to be written.
        end: Where the log ends now.
        records: How many records were read.
        damaged: Where bytes are no record although records follow; they are still there.
        cut_from: Where what a power cut tore was cut off, with whole records behind it; they are copied aside.
        rebuilt: Queues whose files could not be used.
        misnumbered: Places of records that are in no queue, because their topic or their number in it cannot be.
    """

    is_clean: bool = True
    is_new: bool = False
    read_from: int = 0
    certain_to: int = 0
    end: int = 0
    records: int = 0
    damaged: list[Damage] = field(default_factory=list)
    cut_from: int | None = None
    rebuilt: list[tuple[str, int]] = field(default_factory=list)
    misnumbered: list[int] = field(default_factory=list)

    def log(self, folder: Path) -> None:
        """Write what an operator has to know of the store in this folder."""
        name = {"event": "store.opened"}
        if self.is_new:
            logger.info("the store %s is new", folder, extra=name)
        else:
            logger.info(
                "the store %s was opened after %s: %s records read from %s to %s",
                folder, "a clean stop" if self.is_clean else "a crash", self.records, self.read_from, self.end,
                extra=name,
            )  # fmt: skip
        for each in self.damaged:
            logger.error("the log is damaged from %s to %s; it is skipped and left as it is", each.start, each.end)
        if self.cut_from is not None:
            logger.error("the log was torn at %s and ends there; what was behind it is copied aside", self.cut_from)
        for topic, queue_id in self.rebuilt:
            logger.warning("queue %s of topic %s was built anew from the log", queue_id, topic)
        for position in self.misnumbered[:10]:
            logger.error("the record at %s has no place in a queue and is not delivered", position)
        if len(self.misnumbered) > 10:
            logger.error("%s records have no place in a queue", len(self.misnumbered))


class _QueueBehindError(Exception):
    """A queue lacks units of records before the place where reading began."""


@dataclass(frozen=True, slots=True)
class StoreParts:
    """The parts of a store that have to agree."""

    settings: StoreSettings
    files: FileSystem
    log: CommitLog
    queues: ConsumeQueues
    index: Index


@dataclass(frozen=True, slots=True)
class StoreState:
    """What is known of a store before its log is read: its checkpoint, and whether it was closed."""

    times: Times
    mark: Mark | None
    is_clean: bool


def _write(queue: ConsumeQueue) -> None:
    queue.write()
    queue.commit()


def unit_code(settings: StoreSettings, queue: ConsumeQueue, record: LogRecord) -> int:
    """Give the third number of a record's unit."""
    if queue.is_schedule:
        due = due_code_of(record.properties, record.store_timestamp_ms, settings.delays_ms)
        if due is not None:
            return due
    return code_of(tag_of(record.properties))


class Recovery:
    """One recovery. The log, the queues and the index are loaded by it."""

    def __init__(self, parts: StoreParts, state: StoreState) -> None:
        """Look at nothing yet."""
        self._settings = parts.settings
        self._files = parts.files
        self._log = parts.log
        self._queues = parts.queues
        self._index = parts.index
        self._state = state
        self._index_from = 0
        self.report = RecoveryReport(is_clean=state.is_clean)
        self.last_store_ms = 0

    def index_from(self, position: int) -> None:
        """Say that records before a place are in the index."""
        self._index_from = position

    def run(self) -> RecoveryReport:
        """Load everything and make it agree.

        Raises:
            StoreFormatError: The log's files are not what the settings say. Nothing was changed.
            OSError: Files cannot be read or written; a later run begins anew.
        """
        self._log.load()
        if not self._log.segments.starts:
            self._begin_empty()
            return self.report
        if self._is_exactly_known():
            return self.report
        start = self.report.certain_to = self._where_to_read()
        if self._state.mark is None:  # another broker's, which may have no checkpoint of use; nobody copies a whole log
            last = self._log.segments.starts[-_DOUBTFUL_SEGMENTS:][0]
            self.report.certain_to = max(start, last)
        is_full = start == self._log.start
        broken = self._queues.load(self._log.start, start)
        known = bool(self._queues.table)
        if broken or not known:
            self.report.rebuilt = [(queue.topic, queue.queue_id) for queue in broken]
            start, is_full = self._log.start, True
        self._load_index()
        try:
            self._read(start, is_full=is_full)
        except _QueueBehindError:
            self._read(self._log.start, is_full=True)
        return self.report

    def _begin_empty(self) -> None:
        self._queues.load(0, 0)
        for queue in self._queues:
            queue.segments.discard()
            queue.cut(0)
        self._queues.drop_empty()
        self._index.load()
        self._index.repair(0, is_end_certain=True)
        self._log.set_end(0)

    def _is_exactly_known(self) -> bool:
        """Whether a clean stop of ours says where everything ends, and it does."""
        mark = self._state.mark
        if not self._state.is_clean or mark is None or not mark.is_clean:
            return False
        end = mark.flushed_to
        file = self._log.file_at(end)
        is_end = self._log.segments.limit == end if file is None else self._is_free(end)
        if not is_end or self._queues.load(self._log.start, None) or self._queues.digest() != mark.queues_digest:
            return False
        self._load_index()
        if self._settings.is_index_enabled and self._index_from < end:
            return False
        self._index.indexed_to = end
        self._log.set_end(end)
        self.last_store_ms = mark.last_store_ms
        self.report.read_from = self.report.end = end
        for queue in self._queues:
            queue.find_min(self._log.start)
        return True

    def _is_free(self, position: int) -> bool:
        file = self._log.file_at(position)
        return file is not None and file.next_data(position % file.size) is None

    def _where_to_read(self) -> int:
        """Say from where on the log has to be read: everything before is on disk, in the log and in the queues."""
        state, segments = self._state, self._log.segments
        if state.is_clean and state.mark is not None and state.mark.is_clean:
            return segments.start  # it says what should be here, and that is not here
        if state.mark is not None and segments.start <= state.mark.flushed_to <= segments.limit:
            return state.mark.flushed_to
        if state.is_clean:
            return segments.starts[-_JAVA_SEGMENTS:][0]
        certain_ms = min(state.times.log_ms, state.times.queues_ms) - _JAVA_DOUBT_MS
        for start in reversed(segments.starts):
            record = read_record(segments.file(start).view(), 0, start)
            if record is not None and record.store_timestamp_ms <= certain_ms:
                return start
        return segments.start

    def _load_index(self) -> None:
        """Open the index and say from where on records have to be indexed."""
        mark = self._state.mark
        self._index.load()
        if not self._state.is_clean:
            # What was put after the last save may be there and yet not be on disk, after a failed sync.
            end = mark.indexed_to if mark is not None else self._log.segments.limit
            self._index.repair(end, is_end_certain=mark is not None)
        self._index_from = self._index.indexed_to
        if mark is not None and self._index.last_indexed >= mark.last_indexed:
            self._index_from = max(self._index_from, mark.indexed_to)

    def _read(self, start: int, *, is_full: bool) -> None:
        """Read the log from there, and what is not indexed; then cut everything at its end."""
        self.report.read_from = start
        self.report.records = 0
        self.report.damaged.clear()
        self.report.misnumbered.clear()
        for queue in self._queues:
            self._cut_queue(queue, start)
        if self._settings.is_index_enabled and self._index_from < start:
            self._index_only(max(self._index_from, self._log.start), start)
        walk = LogWalk(self._log, start, is_torn_possible=not self._state.is_clean)
        for found in walk:
            if isinstance(found, Damage):
                self.report.damaged.append(found)
            else:
                self.take(found, is_full=is_full)
        self._end_at(walk)

    def take(self, record: LogRecord, *, is_full: bool = True) -> None:
        """Put a record that is in the log into its queue and into the index.

        Raises:
            OSError: Files of the queue cannot be read or written.
        """
        self._queue_up(record, is_full=is_full)
        self._index_record(record)
        self.report.records += 1
        self.last_store_ms = max(self.last_store_ms, record.store_timestamp_ms)

    def _cut_queue(self, queue: ConsumeQueue, log_end: int) -> None:
        queue.load(log_end)
        queue.cut(queue.max_offset)

    def _index_only(self, start: int, end: int) -> None:
        """Index records whose units are there already. What is damaged there was reported when it was found."""
        aligned = self._aligned(start)
        for found in LogWalk(self._log, aligned, is_torn_possible=False):
            if isinstance(found, Damage):
                continue
            if found.position >= end:
                return
            self._index_record(found)

    def _aligned(self, position: int) -> int:
        """Give the place of a record at or before a position: itself, if a record is there, or the segment's start."""
        start = self._log.segments.start_of(position)
        if self._log.segments.has(start) and read_record(
            self._log.segments.file(start).view(), position - start, position
        ):
            return position
        return start if self._log.segments.has(start) else self._log.start

    def _index_record(self, record: LogRecord) -> None:
        if record.position < self._index_from or record.sys_flag & TRANSACTION_MASK == TransactionType.ROLLBACK:
            return
        keys = index_keys_of(record.properties, tag_of(record.properties) if self._settings.is_tag_indexed else b"")
        if keys:
            self._index.put(java_hash(f"{record.topic}#"), keys, record.position, record.store_timestamp_ms)
            if self.report.records % 4096 == 0:
                self._index.write(record.position)

    def _queue_up(self, record: LogRecord, *, is_full: bool) -> None:
        """Put the unit of a record where its number says."""
        if record.sys_flag & TRANSACTION_MASK in NOT_QUEUED:
            return
        queue = self._queues.table.get((record.topic, record.queue_id))
        if queue is None:
            if not is_safe(record.topic, record.queue_id):
                self.report.misnumbered.append(record.position)
                return
            queue = self._queues.make(record.topic, record.queue_id)
        if not self._has_room_at(queue, record, is_full=is_full):
            self.report.misnumbered.append(record.position)
            return
        queue.put(record.position, record.size, unit_code(self._settings, queue, record))
        self._queues.touched[queue] = None
        if queue.is_full:
            _write(queue)

    def _has_room_at(self, queue: ConsumeQueue, record: LogRecord, *, is_full: bool) -> bool:
        """Make the queue end where the record belongs; tell whether it does."""
        missing = record.queue_offset - queue.next_offset
        if missing == 0:
            return True
        if missing < 0:
            if record.queue_offset > 0:
                return False
            _write(queue)
            queue.cut(0)  # the topic was deleted and made anew
            return True
        if not is_full:
            raise _QueueBehindError
        _write(queue)
        if queue.next_offset == 0 or self._is_gone(queue):
            queue.begin_at(record.queue_offset)
            return True
        if missing > _MAX_HOLES:
            return False
        queue.put_holes(missing)
        return True

    def _is_gone(self, queue: ConsumeQueue) -> bool:
        queue.find_min(self._log.start)
        return queue.min_offset >= queue.max_offset

    def _end_at(self, walk: LogWalk) -> None:
        self._queues.write()
        self._queues.commit()
        if walk.torn is not None:
            self.report.cut_from = walk.torn
            self._copy_aside(walk.torn)
        self._log.segments.cut(walk.end)
        self._log.set_end(walk.end)
        self._index.write(walk.end)
        self._queues.drop_empty()
        for queue in self._queues:
            queue.find_min(self._log.start)
        self.report.end = walk.end

    def _copy_aside(self, position: int) -> None:
        """Copy what is behind a place in the log to files of their own, as far as it is not zeros."""
        segments = self._log.segments
        for start in segments.starts:
            end = start + segments.file_bytes
            at = max(position, start)
            while at < end and (data := segments.file(start).next_data(at - start)) is not None:
                at = start + data
                piece = segments.read(at, _COPY_BYTES).rstrip(b"\0")
                if piece:
                    self._files.create(self._settings.damaged_folder / file_name(at), piece)
                at += _COPY_BYTES
