"""Which queue of a topic the next message goes to.

Owns: the choice.
Must not know: routes, brokers, time.
"""

from collections.abc import Callable, Sequence
from typing import Final

from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.messages.tag_hash import java_hash

_LIMIT: Final = 2**31


class QueueCursor:
    """Takes queues in turn. Begins at `start`, which differs between clients, so that not all begin at one queue."""

    __slots__ = ("_next",)

    def __init__(self, start: int) -> None:
        self._next = start % _LIMIT

    def next_queue(self, queues: Sequence[MessageQueue]) -> MessageQueue:
        """Give the next queue; there must be one."""
        number = self._next
        self._next = (number + 1) % _LIMIT
        return queues[number % len(queues)]

    def other_queue(
        self, queues: Sequence[MessageQueue], last_broker: str, is_fit: Callable[[str], bool] | None = None
    ) -> MessageQueue | None:
        """Give the next queue of another broker than the last one.

        Without `is_fit` it is the next queue of the same broker when there is no other one; with it, brokers that
        are not fit are passed over, and None means that none is fit.
        """
        start = self._next
        self._next = (start + 1) % _LIMIT
        same: MessageQueue | None = None
        for step in range(len(queues)):
            queue = queues[(start + step) % len(queues)]
            if is_fit is not None and not is_fit(queue.broker_name):
                continue
            if queue.broker_name != last_broker:
                return queue
            same = same or queue
        return same


def queue_of_key(queues: Sequence[MessageQueue], key: str) -> MessageQueue:
    """Give the queue of an ordering key, the same that a Java client chooses by the hash of the same text."""
    # Java's remainder has the sign of the dividend, and the sign is then dropped.
    return queues[abs(java_hash(key)) % len(queues)]
