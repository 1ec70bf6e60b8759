"""How far queues may be read when nobody may read what a power cut could take back.

Owns: which messages are written and not known to be on disk, by queue.
Must not know: files; who syncs, and why.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from cosmodrome.store.consume_queue import ConsumeQueue


class _Written(NamedTuple):
    """What one write added: the end of the log after it, and that of each queue."""

    log_end: int
    queue_ends: list[tuple[ConsumeQueue, int]]


class ReadableEnds:
    """Holds written messages back until the log is on disk behind them. Queues that are not held may be read to their end.

    Attributes:
        held: Of each queue with messages that nobody may read yet, the offset of the first of them.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        self.held: dict[ConsumeQueue, int] = {}
        self._written: deque[_Written] = deque()

    def written(self, log_end: int, before: Iterable[tuple[ConsumeQueue, int]]) -> None:
        """Hold what was written to queues; `before` has the end that each of them had."""
        ends = []
        for queue, end in before:
            self.held.setdefault(queue, end)
            ends.append((queue, queue.max_offset))
        self._written.append(_Written(log_end, ends))

    def synced(self, log_end: int) -> list[ConsumeQueue]:
        """Let what is before a place in the log be read; give the queues with more to read than before."""
        found: dict[ConsumeQueue, None] = {}
        while self._written and self._written[0].log_end <= log_end:
            for queue, end in self._written.popleft().queue_ends:
                self.held[queue] = end
                found[queue] = None
        for queue in found:
            if self.held[queue] >= queue.max_offset:
                del self.held[queue]
        return list(found)

    def forget(self) -> None:
        """Hold nothing any more: everything is on disk, and the queues are others."""
        self.held.clear()
        self._written.clear()

    def end_of(self, queue: ConsumeQueue) -> int:
        """Give the offset behind the last message of a queue that may be read."""
        return min(self.held.get(queue, queue.max_offset), queue.max_offset)
