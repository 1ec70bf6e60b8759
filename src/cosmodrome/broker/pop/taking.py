"""One pop: what it takes of which queues (Java: PopMessageProcessor).

Owns: the order of the queues, where a group begins in each, what is passed over; the texts of an answer about it.
Must not know: requests; how a check point is stored; who waits.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.filters.subscriptions import Wanted
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.pop.names import ORDER_QUEUE, topics_of
from cosmodrome.broker.pop.orders import Batch, Orders
from cosmodrome.broker.topics import Topics
from cosmodrome.protocol.bodies.pop_records import PopCheckPoint
from cosmodrome.protocol.messages.properties import POP_CK, encode_properties, properties_bytes
from cosmodrome.protocol.messages.record import StoredMessage, decode_record, encode_record
from cosmodrome.protocol.pop_info import (
    RETRY_FLAG_NORMAL,
    PoppedQueue,
    ReceiptHandle,
    encode_message_offsets,
    encode_receipt_handle,
    encode_start_offsets,
)
from cosmodrome.store.cold import NotInMemoryError
from cosmodrome.store.reading import Reader, ReadLimits, ReadResult, ReadStatus

SCAN_UNITS: Final = 4000
"""Messages that are looked at in one read when none matches."""
SCANS: Final = 4
"""Reads of one pop that find nothing before others have their turn."""
_SIZE_BYTES: Final = 262_144
_QUEUE_OFFSET: Final = struct.Struct(">20xq")
_MISPLACED: Final = frozenset(
    {ReadStatus.OFFSET_TOO_SMALL, ReadStatus.OFFSET_OVERFLOW_BADLY, ReadStatus.OFFSET_FOUND_NULL}
)
_PASSED_OVER: Final = frozenset({ReadStatus.NO_MATCHED_MESSAGE, ReadStatus.MESSAGE_WAS_REMOVING})
Random = Callable[[int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PopAsk:
    """What a pop asks for. `queue_id` below 0 means any queue."""

    group: str
    topic: str
    queue_id: int
    most: int
    invisible_ms: int
    begins_at_newest: bool
    wanted: Wanted
    wanted_text: str
    is_in_order: bool
    attempt_id: str | None


class TakenQueue(NamedTuple):
    """What was taken of one queue. `start` is where the read began, from which a check point counts."""

    topic: str
    flag: str
    queue_id: int
    start: int
    offsets: tuple[int, ...]
    records: tuple[memoryview, ...]


@dataclass(slots=True)
class Taken:
    """What one pop took.

    Attributes:
        pop_time: When, as receipts say it.
        rest: How many messages are left in the queues that it looked at.
        is_unfinished: Whether it has to look on, though nothing was found so far.
        look_ms: When a queue is free again that blocks now; None when none does.
        order_counts: How often messages in order were had before, as the answer says it.
    """

    pop_time: int
    queues: list[TakenQueue] = field(default_factory=list)
    rest: int = 0
    is_unfinished: bool = False
    look_ms: int | None = None
    order_counts: list[str] = field(default_factory=list)
    scans: int = SCANS

    @property
    def count(self) -> int:
        """The number of messages."""
        return sum(len(each.offsets) for each in self.queues)

    @property
    def size_bytes(self) -> int:
        """The size of all records."""
        return sum(len(record) for each in self.queues for record in each.records)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakingParts:
    """What is decided with."""

    topics: Topics
    offsets: Offsets
    orders: Orders
    reader: Reader


class Taking:
    """Takes messages. A group's offset is behind what is taken at once; in order it stays until that is acknowledged."""

    def __init__(self, parts: TakingParts, clock: Clock, random: Random) -> None:
        """Use these parts; `random` gives a number below the one it is given."""
        self._topics = parts.topics
        self._offsets = parts.offsets
        self._orders = parts.orders
        self._reader = parts.reader
        self._clock = clock
        self._random = random
        self.retry_first_percent = 20

    def take(self, ask: PopAsk) -> Taken:
        """Take what there is, at most what is asked for; nothing where there is nothing, or others have it.

        Raises:
            NotInMemoryError: Reads may not wait, the first message is on disk only, and nothing was taken. What does
                not match, or is gone, may be passed over by then.
        """
        taken = Taken(self._clock.wall_ms())
        turn = self._random(100)
        for topic, flag, queue_id in self._queues(ask, turn):
            try:
                self._take_of(ask, (topic, flag, queue_id), taken)
            except NotInMemoryError:
                if not taken.queues:
                    raise
                break
        return taken

    def has_message(self, ask: PopAsk) -> bool:
        """Whether a pop would find something, filters aside. Nothing is changed."""
        now_ms = self._clock.wall_ms()
        for topic, _, queue_id in self._queues(ask, 0):
            queue = (topic, ask.group, queue_id)
            if ask.is_in_order and self._orders.blocked_until(queue, ask.attempt_id, now_ms) is not None:
                continue
            offset = self._offsets.committed(topic, ask.group, queue_id)
            if offset is None:
                offset = self._reader.min_offset(topic, queue_id)
            if self._reader.max_offset(topic, queue_id) > offset:
                return True
        return False

    def _queues(self, ask: PopAsk, turn: int) -> Iterator[tuple[str, str, int]]:
        """Give the queues in the order in which they are looked at: sometimes what comes again comes first."""
        names = topics_of(ask.topic, ask.group)
        if ask.is_in_order:
            names = names[:1]
        elif turn < self.retry_first_percent:
            names = (*names[1:], names[0])
        for topic, flag in names:
            config = self._topics.get(topic)
            count = 0 if config is None else config.read_queue_nums
            if flag == RETRY_FLAG_NORMAL and ask.queue_id >= 0:
                yield topic, flag, ask.queue_id
                continue
            for each in range(count):
                yield topic, flag, (turn + each) % count

    def _take_of(self, ask: PopAsk, queue: tuple[str, str, int], taken: Taken) -> None:
        topic, flag, queue_id = queue
        owned = (topic, ask.group, queue_id)
        offset = self._begin(ask, topic, queue_id)
        if ask.is_in_order:
            free_ms = self._orders.blocked_until(owned, ask.attempt_id, taken.pop_time)
            if free_ms is not None:
                taken.look_ms = free_ms if taken.look_ms is None else min(free_ms, taken.look_ms)
                return
        room = ReadLimits(ask.most - taken.count, _SIZE_BYTES - taken.size_bytes, SCAN_UNITS)
        if room.messages <= 0 or room.size_bytes <= 0:
            taken.rest += max(0, self._reader.max_offset(topic, queue_id) - offset)
            return
        offset, result = self._read(ask, (topic, queue_id, offset), room, taken)
        if result.records:
            offsets = tuple(_QUEUE_OFFSET.unpack_from(each)[0] for each in result.records)
            taken.queues.append(TakenQueue(topic, flag, queue_id, offset, offsets, result.records))
            if ask.is_in_order:
                self._take_in_order(ask, taken, taken.queues[-1])
            else:
                self._offsets.commit(topic, ask.group, queue_id, result.next_offset)
        taken.rest += max(0, result.max_offset - result.next_offset)

    def _begin(self, ask: PopAsk, topic: str, queue_id: int) -> int:
        reset = self._offsets.take_reset(topic, ask.group, queue_id)
        if reset is not None:
            self._orders.clear((topic, ask.group, queue_id))
            self._offsets.commit(topic, ask.group, queue_id, reset)
            return reset
        offset = self._offsets.committed(topic, ask.group, queue_id)
        if offset is None:
            offset = self._first(ask, topic, queue_id)
            self._offsets.commit(topic, ask.group, queue_id, offset)
        return offset

    def _first(self, ask: PopAsk, topic: str, queue_id: int) -> int:
        """COMPAT: a group that begins at the newest begins at 0 while the queue has its first message, else at the last."""
        low = self._reader.min_offset(topic, queue_id)
        if not ask.begins_at_newest or topic != ask.topic:
            return low
        return 0 if low <= 0 else max(0, self._reader.max_offset(topic, queue_id) - 1)

    def _read(self, ask: PopAsk, place: tuple[str, int, int], room: ReadLimits, taken: Taken) -> tuple[int, ReadResult]:
        """Read from an offset on, behind what does not match; give where the last read began, and what it found."""
        topic, queue_id, offset = place
        while True:
            result = self._reader.read((topic, queue_id), offset, room, *ask.wanted)
            is_passed_over = result.status in _PASSED_OVER
            if not is_passed_over and result.status not in _MISPLACED:
                return offset, result
            if result.next_offset == offset:
                return offset, result
            offset = result.next_offset
            self._offsets.commit(topic, ask.group, queue_id, offset)
            taken.scans -= is_passed_over
            if taken.scans <= 0:
                taken.is_unfinished = taken.is_unfinished or offset < result.max_offset
                return offset, result

    def _take_in_order(self, ask: PopAsk, taken: Taken, queue: TakenQueue) -> None:
        batch = Batch(queue.offsets, taken.pop_time, ask.invisible_ms, ask.attempt_id)
        consumed = self._orders.take((queue.topic, ask.group, queue.queue_id), batch)
        taken.order_counts += [f"{queue.flag} qo{queue.queue_id}%{each} {times}" for each, times in consumed.items()]
        least = min(consumed.values()) if len(consumed) == len(queue.offsets) else 0
        taken.order_counts.append(f"{queue.flag} {queue.queue_id} {least}")
        self._offsets.commit(queue.topic, ask.group, queue.queue_id, queue.start)


def check_points(ask: PopAsk, taken: Taken, broker_name: str) -> list[PopCheckPoint]:
    """Give what is to be written down of a pop, a check point for each queue."""
    return [
        PopCheckPoint(
            topic=each.topic,
            group=ask.group,
            queue_id=each.queue_id,
            start_offset=each.start,
            pop_time=taken.pop_time,
            invisible_time=ask.invisible_ms,
            count=len(each.offsets),
            offset_diffs=tuple(offset - each.start for offset in each.offsets),
            broker_name=broker_name,
        )
        for each in taken.queues
    ]


def answer_fields(ask: PopAsk, taken: Taken, revive_queue_id: int) -> dict[str, str | None]:
    """Give the header of the answer to a pop."""
    starts = {PoppedQueue(each.flag, each.queue_id): each.start for each in taken.queues}
    offsets = {PoppedQueue(each.flag, each.queue_id): each.offsets for each in taken.queues}
    fields: dict[str, str | None] = {
        "popTime": str(taken.pop_time),
        "invisibleTime": str(ask.invisible_ms),
        "reviveQid": str(ORDER_QUEUE if ask.is_in_order else revive_queue_id),
        "restNum": str(taken.rest),
        "startOffsetInfo": encode_start_offsets(starts),
        "msgOffsetInfo": encode_message_offsets(offsets),
    }
    if ask.is_in_order:
        fields["orderCountInfo"] = ";".join(taken.order_counts)
    return fields


def answer_body(ask: PopAsk, taken: Taken, revive_queue_id: int, broker_name: str) -> bytes:
    """Give the messages as the client gets them: those that come again look like the first time, with their receipts."""
    pieces: list[bytes | memoryview] = []
    for queue in taken.queues:
        if queue.flag == RETRY_FLAG_NORMAL:
            pieces += queue.records
            continue
        for offset, view in zip(queue.offsets, queue.records, strict=True):
            handle = ReceiptHandle(
                queue.start, taken.pop_time, ask.invisible_ms, revive_queue_id, queue.flag, broker_name,
                queue.queue_id, offset,
            )  # fmt: skip
            pieces.append(encode_record(_as_first(decode_record(view)[0], ask.topic, encode_receipt_handle(handle))))
    return b"".join(pieces)


def _as_first(record: StoredMessage, topic: str, handle: str) -> StoredMessage:
    text = encode_properties({POP_CK: handle, **record.properties})
    return msgspec.structs.replace(record, topic=topic, properties_bytes=properties_bytes(text))
