"""What came in, by topic and kind of message, as RocketMQ 5 counts it in its metrics.

Owns: the counts, their sizes by classes; which kind a message is.
Must not know: who reads the counts, or in which form.

Messages of one turn are counted together.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from cosmodrome.broker.topics import HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from cosmodrome.protocol.messages.properties import NAME_VALUE_SEPARATOR, SHARDING_KEY
from cosmodrome.store.appending import NewMessage

NORMAL: Final = "normal"
FIFO: Final = "fifo"
TRANSACTION: Final = "transaction"
DELAY: Final = "delay"
BOUNDS_BYTES: Final = (1024, 4096, 512 * 1024, 1024**2, 2 * 1024**2, 4 * 1024**2)
"""Upper bounds of the sizes that are told apart; there is one more class above the last."""
ORDERED: Final = f"{SHARDING_KEY}{NAME_VALUE_SEPARATOR}"
"""What the properties of an ordered message have among them."""
_ORDERED_BYTES: Final = ORDERED.encode()
_SMALL: Final = BOUNDS_BYTES[0]


class Arrived:
    """Messages of one topic and kind: how many of each class of sizes, and the bytes of all."""

    __slots__ = ("counts", "size")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_BYTES) + 1)
        self.size = 0

    @property
    def messages(self) -> int:
        """How many."""
        return sum(self.counts)


class Arrivals:
    """All topics."""

    def __init__(self) -> None:
        self._arrived: dict[tuple[str, str], Arrived] = {}

    def add(self, topic: str, kind: str, sizes: Sequence[int]) -> None:
        """Count messages that are stored, by their bytes in the log."""
        arrived = self._arrived.get((topic, kind))
        if arrived is None:
            arrived = self._arrived[topic, kind] = Arrived()
        arrived.size += sum(sizes)
        if max(sizes) <= _SMALL:
            arrived.counts[0] += len(sizes)
            return
        for size in sizes:
            arrived.counts[bisect_left(BOUNDS_BYTES, size)] += 1

    def forget_topic(self, topic: str) -> None:
        """Forget what came to a topic."""
        for key in [key for key in self._arrived if key[0] == topic]:
            del self._arrived[key]

    def __iter__(self) -> Iterator[tuple[tuple[str, str], Arrived]]:
        """Give topic and kind with what arrived, as it is now."""
        return iter(list(self._arrived.items()))

    def __len__(self) -> int:
        return len(self._arrived)


def kind_of(message: NewMessage) -> str:
    """Give the kind of a message as it is stored."""
    if message.topic == HALF_TOPIC:
        return TRANSACTION
    if _ORDERED_BYTES in message.properties:
        return FIFO
    return DELAY if message.topic in (SCHEDULE_TOPIC, TIMER_TOPIC) else NORMAL
