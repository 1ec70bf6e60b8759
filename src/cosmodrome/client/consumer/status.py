"""How a consumer is doing, for people and for tools.

Owns: the snapshot of a consumer and of each of its queues, and finding messages that are handled for too long.
Must not know: what is done about trouble.
"""

from collections.abc import Iterable

import msgspec

from cosmodrome.client.consumer.assigned_queue import AssignedQueue
from cosmodrome.client.message import MessageQueue
from cosmodrome.protocol.messages.record import StoredMessage


class StuckMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a queue's offset waits for; `age_s` is how long it has been the lowest unfinished one."""

    msg_id: str
    queue_offset: int
    age_s: float


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One queue of a member.

    Attributes:
        committable: The lowest unfinished offset, which is saved as the group's.
        next_offset: Where the next pull begins.
        held: Messages that were pulled and are not finished; `handed_out` of them are being handled.
        trouble: Why pulls fail at present, with the broker's words; None when they work.
        waits_for: The message that holds up the offset, when it is being handled.
    """

    queue: MessageQueue
    committable: int
    next_offset: int
    held: int
    held_bytes: int
    handed_out: int
    trouble: str | None
    waits_for: StuckMessage | None


class ConsumerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A member. `trouble` is why its queues could not be settled at the last attempt, or None."""

    client_id: str
    group: str
    queues: tuple[QueueStatus, ...]
    held_bytes: int
    trouble: str | None


class SlowMessages:
    """Since when each queue's lowest unfinished message has been that, by looking from time to time."""

    def __init__(self) -> None:
        self._since_s: dict[MessageQueue, tuple[int, float]] = {}

    def look(self, queues: Iterable[AssignedQueue], now_s: float) -> None:
        """Note what is lowest now; `now_s` is of a clock that does not step."""
        seen: dict[MessageQueue, tuple[int, float]] = {}
        for assigned in queues:
            lowest = assigned.held.lowest()
            if lowest is None or not assigned.is_handed_out(lowest.queue_offset):
                continue
            before = self._since_s.get(assigned.queue)
            since_s = now_s if before is None or before[0] != lowest.queue_offset else before[1]
            seen[assigned.queue] = (lowest.queue_offset, since_s)
        self._since_s = seen

    def overdue(self, assigned: AssignedQueue, now_s: float, limit_s: float) -> StoredMessage | None:
        """Give the message that has held up a queue for longer than a limit, if there is one."""
        waits_for = self.waits_for(assigned, now_s)
        if waits_for is None or waits_for.age_s < limit_s:
            return None
        return assigned.held.get(waits_for.queue_offset)

    def waits_for(self, assigned: AssignedQueue, now_s: float) -> StuckMessage | None:
        """Give the message that holds up a queue, as far as was seen."""
        seen = self._since_s.get(assigned.queue)
        stored = None if seen is None else assigned.held.get(seen[0])
        if seen is None or stored is None:
            return None
        return StuckMessage(msg_id=stored.msg_id, queue_offset=seen[0], age_s=now_s - seen[1])


def queue_status(assigned: AssignedQueue, waits_for: StuckMessage | None) -> QueueStatus:
    """Give the snapshot of one queue."""
    return QueueStatus(
        queue=assigned.queue,
        committable=assigned.committable,
        next_offset=assigned.held.next_offset,
        held=assigned.held.count,
        held_bytes=assigned.held.size_bytes,
        handed_out=assigned.handed_out,
        trouble=assigned.trouble,
        waits_for=waits_for,
    )
