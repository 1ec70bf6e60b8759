"""What was pulled and is not finished, of one queue and of a whole client (Java: ProcessQueue).

Owns: the messages that are held of one queue, its lowest unfinished offset, the next offset to pull, and the limits.
Must not know: who handles messages; how they are pulled; time.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec

KIB: Final = 1024
MIB: Final = 1024 * KIB


class Held(Protocol):
    """What has to be known of a message that is held."""

    @property
    def queue_offset(self) -> int:
        """Its place in its queue."""

    @property
    def body(self) -> bytes | memoryview:
        """Its body as it is stored."""


HeldT = TypeVar("HeldT", bound=Held)


class HoldingLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is held at most before pulling pauses.

    Attributes:
        messages: Of one queue.
        size_bytes: Of one queue.
        span: Between the lowest and the highest unfinished offset of one queue; None for no such limit.
        total_bytes: Of all queues of one consumer. A single message that is larger still passes.
    """

    messages: int = 1000
    size_bytes: int = 100 * MIB
    span: int | None = 2000
    total_bytes: int = 256 * MIB

    def __post_init__(self) -> None:
        for name in ("messages", "size_bytes", "total_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"the limit {name} is at least 1, not {getattr(self, name)}")

    def shared_by(self, queues: int, topic_messages: int | None, topic_bytes: int | None) -> "HoldingLimits":
        """Give the limits of one of `queues` queues of a topic that has limits of its own."""
        share = max(queues, 1)
        return HoldingLimits(
            messages=self.messages if topic_messages is None else max(1, topic_messages // share),
            size_bytes=self.size_bytes if topic_bytes is None else max(1, topic_bytes // share),
            span=self.span,
            total_bytes=self.total_bytes,
        )

    def without_span(self) -> "HoldingLimits":
        """Give the same limits for messages in order, of which one waits for the other anyway."""
        return msgspec.structs.replace(self, span=None)


class Total:
    """Bytes held over all queues of one consumer."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0

    @property
    def has_room(self) -> bool:
        """Whether another message may be taken."""
        return self.size_bytes < self.limit_bytes

    def fits(self, size_bytes: int, beside: int) -> bool:
        """Whether a message may be taken beside others that are about to be; one always may when nothing is held."""
        held = self.size_bytes + beside
        return held == 0 or held + size_bytes <= self.limit_bytes


class ProcessQueue(Generic[HeldT]):
    """The held messages of one queue, in order of offsets.

    All numbers hold at every moment: `count` and `size_bytes` are those of the unfinished messages;
    everything below `committable` is finished, skipped by the filter, or was never there.
    """

    def __init__(self, start_offset: int, total: Total) -> None:
        self.next_offset = start_offset
        self.size_bytes = 0
        self._total = total
        self._held: dict[int, HeldT] = {}
        # Offsets as they came; those of finished messages leave when they are the lowest.
        self._order: deque[int] = deque()

    @property
    def count(self) -> int:
        """How many messages are held."""
        return len(self._held)

    @property
    def committable(self) -> int:
        """The lowest unfinished offset; the next one to pull when everything is finished."""
        return self._order[0] if self._order else self.next_offset

    @property
    def highest(self) -> int:
        """The highest held offset, or the one before `next_offset` when nothing is held."""
        return self._order[-1] if self._order else self.next_offset - 1

    def lowest(self) -> HeldT | None:
        """Give the message that the committed offset waits for, if any."""
        return self._held[self._order[0]] if self._order else None

    def get(self, offset: int) -> HeldT | None:
        """Give a held message."""
        return self._held.get(offset)

    def has_room(self, limits: HoldingLimits) -> bool:
        """Whether more may be pulled as far as this queue alone is concerned."""
        if len(self._held) >= limits.messages or self.size_bytes >= limits.size_bytes:
            return False
        return limits.span is None or not self._order or self._order[-1] - self._order[0] <= limits.span

    def take(self, messages: Sequence[HeldT], next_begin_offset: int) -> list[HeldT]:
        """Hold what one pull brought, and give what is new of it.

        What lies below the offset that was asked for is dropped: it was delivered before. What does not fit the
        client's total is left for a later pull. `next_begin_offset` is the broker's word for the end of what it
        looked at; it is not followed backwards.
        """
        taken: list[HeldT] = []
        held, order, total = self._held, self._order, self._total
        next_offset, added_bytes = self.next_offset, 0
        for message in messages:
            offset = message.queue_offset
            if offset < next_offset:
                continue
            size = len(message.body)
            if not total.fits(size, beside=added_bytes):
                self._count(added_bytes)
                self.next_offset = offset
                return taken
            held[offset] = message
            order.append(offset)
            added_bytes += size
            next_offset = offset + 1
            taken.append(message)
        self._count(added_bytes)
        self.next_offset = max(next_offset, next_begin_offset)
        return taken

    def skip_to(self, next_begin_offset: int) -> None:
        """Go on at an offset before which nothing matches; never backwards."""
        self.next_offset = max(self.next_offset, next_begin_offset)

    def finish(self, offset: int) -> HeldT | None:
        """Let go of a message that was handled, and give it; None for one that is not held (any more)."""
        message = self._held.pop(offset, None)
        if message is None:
            return None
        self._count(-len(message.body))
        order, held = self._order, self._held
        while order and order[0] not in held:
            order.popleft()
        return message

    def clear(self) -> list[HeldT]:
        """Let go of everything, and give it, lowest offset first. The committable offset is of no use afterwards."""
        left = list(self.unfinished())
        self._held.clear()
        self._order.clear()
        self._count(-self.size_bytes)
        return left

    def unfinished(self) -> Iterable[HeldT]:
        """Give what is held, lowest offset first."""
        return [self._held[offset] for offset in self._order if offset in self._held]

    def _count(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        self._total.size_bytes += size_bytes
