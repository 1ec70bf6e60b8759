"""Messages that are popped in order (Java: ConsumerOrderInfoManager).

Owns: the batch of each queue that a group has, when it stops blocking the queue, how far the group is then.
Must not know: messages; offsets that are committed; files; the clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cosmodrome.protocol.bodies.pop_orders import OrderInfo, OrderInfoTable

QueueOf = tuple[str, str, int]
"""Topic, group, number of the queue."""
UNUSED_MS: Final = 3 * 86_400_000
"""A batch of which nobody has heard for so long is forgotten."""
_SEPARATOR: Final = "@"
_LEVEL: Final = "QUEUE"
_MOST: Final = 64


@dataclass(slots=True)
class Batch:
    """What a group has of a queue. Times are wall-clock."""

    offsets: tuple[int, ...]
    pop_time: int
    invisible_time: int
    attempt_id: str | None
    visible_at: dict[int, int] = field(default_factory=dict)
    consumed: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)

    @property
    def free_ms(self) -> int | None:
        """When others may have it; None when all of it is acknowledged."""
        times = (self.visible_at.get(each, self.pop_time + self.invisible_time) for each in self.open_offsets)
        return max(times, default=None)

    @property
    def open_offsets(self) -> tuple[int, ...]:
        """What is not acknowledged."""
        return tuple(each for each in self.offsets if each not in self.done)

    @property
    def next_offset(self) -> int:
        """Where the group goes on."""
        return next(iter(self.open_offsets), self.offsets[-1] + 1)


class Orders:
    """All batches. `is_changed` is for whoever keeps them to take back."""

    def __init__(self) -> None:
        """Begin without any."""
        self._batches: dict[QueueOf, Batch] = {}
        self.is_changed = False

    def load(self, table: OrderInfoTable) -> None:
        """Take over a table that was kept; what names no offsets is left out."""
        for name, queues in table.table.items():
            topic, _, group = name.partition(_SEPARATOR)
            for queue_id, info in queues.items():
                if info.offset_list and len(info.offset_list) <= _MOST:
                    self._batches[topic, group, queue_id] = _batch(info.offset_list, info)

    def blocked_until(self, queue: QueueOf, attempt_id: str | None, now_ms: int) -> int | None:
        """Give until when a queue is blocked; None when it is not, or only by this very attempt."""
        batch = self._batches.get(queue)
        if batch is None or (attempt_id is not None and attempt_id == batch.attempt_id):
            return None
        free_ms = batch.free_ms
        return free_ms if free_ms is not None and now_ms < free_ms else None

    def take(self, queue: QueueOf, batch: Batch) -> Mapping[int, int]:
        """Note what a group has now, and give how often it had each message before, of those that it had."""
        before = self._batches.get(queue)
        if before is not None and batch.attempt_id is not None and batch.attempt_id == before.attempt_id:
            batch.consumed = dict(before.consumed)
        elif before is not None:
            again = set(before.offsets).intersection(batch.offsets)
            batch.consumed = {each: before.consumed.get(each, 0) + 1 for each in batch.offsets if each in again}
        self._batches[queue] = batch
        self.is_changed = True
        return batch.consumed

    def acknowledge(self, queue: QueueOf, offset: int, pop_time: int) -> int | None:
        """Note that a message is done, and give where the group goes on; None when the receipt is an old one.

        Raises:
            ValueError: The group does not have this message.
        """
        batch = self._batches.get(queue)
        if batch is None:
            return offset + 1
        if batch.pop_time != pop_time:
            return None
        if offset not in batch.offsets:
            raise ValueError(f"offset {offset} is not in the batch")
        batch.done.add(offset)
        self.is_changed = True
        return batch.next_offset

    def change_visible(self, queue: QueueOf, offset: int, pop_time: int, visible_ms: int) -> None:
        """Have a message visible again at another time; an old receipt changes nothing."""
        batch = self._batches.get(queue)
        if batch is not None and batch.pop_time == pop_time and offset in batch.offsets:
            batch.visible_at[offset] = visible_ms
            self.is_changed = True

    def clear(self, queue: QueueOf) -> None:
        """Forget the batch of a queue."""
        if self._batches.pop(queue, None) is not None:
            self.is_changed = True

    def forget(self, *, topic: str | None = None, group: str | None = None) -> None:
        """Forget everything of a topic, or of a group."""
        for queue in [each for each in self._batches if each[0] == topic or each[1] == group]:
            self.clear(queue)

    def table(self, now_ms: int) -> OrderInfoTable:
        """Give the table as it is kept."""
        tables: dict[str, dict[int, OrderInfo]] = {}
        for (topic, group, queue_id), batch in self._batches.items():
            if now_ms - batch.pop_time < UNUSED_MS:
                tables.setdefault(f"{topic}{_SEPARATOR}{group}", {})[queue_id] = _info(batch)
        return OrderInfoTable(order_info_count=len(tables), ordered_consumption_level=_LEVEL, table=tables)


def _info(batch: Batch) -> OrderInfo:
    first = batch.offsets[0]
    return OrderInfo(
        pop_time=batch.pop_time,
        invisible_time=batch.invisible_time,
        offset_list=(first, *(each - first for each in batch.offsets[1:])),
        next_visible=dict(batch.visible_at) or None,
        consumed=dict(batch.consumed) or None,
        last_consumed=batch.pop_time,
        commit_bits=sum(1 << bit for bit, each in enumerate(batch.offsets) if each in batch.done),
        attempt_id=batch.attempt_id,
    )


def _batch(stored: tuple[int, ...], info: OrderInfo) -> Batch:
    offsets = (stored[0], *(stored[0] + each for each in stored[1:]))
    return Batch(
        offsets=offsets,
        pop_time=info.pop_time,
        invisible_time=info.invisible_time or 0,
        attempt_id=info.attempt_id,
        visible_at=dict(info.next_visible or {}),
        consumed=dict(info.consumed or {}),
        done={each for bit, each in enumerate(offsets) if info.commit_bits >> bit & 1},
    )
