"""Messages of one broker group, in memory.

Owns: topics, queues, the commit log as a mapping from offsets to records.
Must not know: requests; who may read; time, which is an argument.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.support.faulty_broker.records import Host, Record

READ_WRITE: Final = 6
TEMPLATE: Final = "TBW102"
SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
HALF: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
TIMER: Final = "rmq_sys_wheel_timer"


@dataclass(slots=True, kw_only=True)
class Topic:
    """How a topic is configured. `perm` and the numbers of queues may be changed; announce them afterwards."""

    name: str
    read: int = 4
    write: int = 4
    perm: int = READ_WRITE


@dataclass(slots=True)
class Queue:
    """The records of one queue from its smallest offset on."""

    first: int = 0
    records: list[Record] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The offset that the next message gets."""
        return self.first + len(self.records)


class MemoryStore:
    """Topics and what is in them. A master and its slaves share one."""

    def __init__(self, store_host: Host) -> None:
        self.store_host = store_host
        system = ((TEMPLATE, 8, 7), (SCHEDULE, 18, 6), (HALF, 1, 6), (TIMER, 1, 6), ("BenchmarkTest", 1024, 6))
        self.topics = {name: Topic(name=name, read=queues, write=queues, perm=perm) for name, queues, perm in system}
        self.on_append: list[Callable[[Record], None]] = []
        self._queues: dict[tuple[str, int], Queue] = {}
        self._log: dict[int, Record] = {}
        self._end = 0

    def queue(self, topic: str, queue_id: int) -> Queue:
        """Give a queue; an empty one if nothing was stored in it."""
        return self._queues.setdefault((topic, queue_id), Queue())

    def append(self, draft: Record, now_ms: int) -> Record:
        """Store a message, and give it with the offsets that it got."""
        queue = self.queue(draft.topic, draft.queue_id)
        host = draft.store_host if draft.store_host[1] else self.store_host
        record = draft.changed(queue_offset=queue.end, offset=self._end, store_ms=now_ms, store_host=host)
        size = len(record.encode())
        queue.records.append(record)
        self._log[record.offset] = record
        self._end += size
        for listener in self.on_append:
            listener(record)
        return record

    def at(self, offset: int) -> Record | None:
        """Give the message that begins at a commit log offset."""
        return self._log.get(offset)

    def read(self, topic: str, queue_id: int, offset: int) -> list[Record]:
        """Give what a queue holds from `offset` on."""
        queue = self.queue(topic, queue_id)
        return queue.records[max(0, offset - queue.first) :]

    def drop_before(self, topic: str, queue_id: int, offset: int) -> None:
        """Raise the smallest offset of a queue, as retention does; it may pass the end."""
        queue = self.queue(topic, queue_id)
        for record in queue.records[: offset - queue.first]:
            self._log.pop(record.offset, None)
        queue.records = queue.records[max(0, offset - queue.first) :]
        queue.first = max(queue.first, offset)

    def messages(self, topic: str) -> list[Record]:
        """Give the messages of a topic in the order in which they were stored."""
        found = [record for (name, _), queue in self._queues.items() if name == topic for record in queue.records]
        return sorted(found, key=lambda record: record.offset)

    def unique_keys(self, topic: str) -> Counter[str]:
        """Count the ids of senders in a topic: more than one of a kind was sent and stored again."""
        return Counter(record.unique_key for record in self.messages(topic))

    def bodies(self, topic: str) -> list[bytes]:
        """Give the bodies of a topic's messages in the order in which they were stored."""
        return [record.body for record in self.messages(topic)]

    def records(self) -> list[Record]:
        """Give every message, also those parked in system topics."""
        return list(self._log.values())
