"""What a registration changes in the topics of its broker, found stretch by stretch.

Owns: the comparison of a WrittenTable with what is held, many topics in one step; what of it may be relied on next time.
Must not know: how a table is written; where the tables are kept; which broker may publish topics.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from operator import eq, not_
from typing import Final

from cosmodrome.errors import IrregularTableError
from cosmodrome.namesrv.routing.room import ENTRY_BYTES, topics_bytes
from cosmodrome.namesrv.routing.topic_changes import Brokers, JoinedBrokers, TopicChanges
from cosmodrome.protocol.bodies.route import QueueData
from cosmodrome.protocol.bodies.topic_stretches import TopicShape, TopicStretch, WrittenTable
from cosmodrome.protocol.slices import Slices

WORTH_A_NEW_TABLE: Final = 500
"""Topics that must have changed for the broker's whole table to be replaced: that takes one step, however many."""
_SLICE_TOPICS: Final = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class SentStretches:
    """The topics of one registration. `perm_mask` is what the broker may have of the permissions it claims.

    Unless `is_all_new`, topics that the broker serves already are left as they are. With `is_omission_deletion`
    those that are not in the table are to go.
    """

    broker_name: str
    table: WrittenTable
    perm_mask: int
    is_all_new: bool
    is_omission_deletion: bool


def changes_by_stretches(
    sent: SentStretches, held: Mapping[str, QueueData], brokers_by_topic: Mapping[str, Brokers]
) -> Slices[TopicChanges]:
    """Compare what a broker sent with what is held of it, and return what differs; each yield ends a slice.

    Nothing is changed. What is found is true only if nothing of this broker changes between the slices.

    Raises:
        IrregularTableError: The table must be read in another way, or without what is known of it.
    """
    comparison = _Comparison(sent, held, brokers_by_topic)
    for stretch in sent.table:
        comparison.take(stretch)
        yield
    return (yield from comparison.ended())


def count_in_stretches(table: WrittenTable) -> Slices[int]:
    """Read a table to the end, and give how many topics it has.

    Raises:
        IrregularTableError: It must be read in another way.
    """
    seen: set[str] = set()
    for names, _ in table:
        before = len(seen)
        seen.update(names)
        if len(seen) != before + len(names):
            raise IrregularTableError("a topic is there twice")
        yield
    return len(seen)


class _Comparison:
    def __init__(
        self, sent: SentStretches, held: Mapping[str, QueueData], brokers_by_topic: Mapping[str, Brokers]
    ) -> None:
        self._sent = sent
        self._replaced = sent.table.replaced
        self._held = held
        self._brokers_by_topic = brokers_by_topic
        self._joined = JoinedBrokers(sent.broker_name)
        self._datas: dict[TopicShape, QueueData] = {}
        self._read: dict[str, QueueData] = {}
        """All topics that were read, as they were sent."""
        self._served_count = 0
        """How many of the topics that the broker serves were found in the table."""
        self._changed: list[str] = []
        self._changes = TopicChanges(broker_name=sent.broker_name)
        self._is_faithful = True

    def take(self, stretch: TopicStretch) -> None:
        names, shapes = stretch
        changes, read = self._changes, self._read
        changes.topic_count += len(names)
        changes.stretches.append(names)
        if shapes is None:
            self._served_count += len(names)
            return
        current = list(map(self._held.get, names))
        datas = self._datas_of(stretch, current)
        before = len(read)
        read.update(zip(names, datas, strict=True))
        if len(read) != before + len(names):
            raise IrregularTableError("a topic is there twice")
        new_count = current.count(None)
        self._served_count += len(names) - new_count
        if self._replaced is not None:
            self._check_apart(names, current, self._replaced)
        if current == datas:
            return
        same = list(map(eq, datas, current))
        if self._sent.is_all_new:
            self._changed += compress(names, map(not_, same)) if True in same else names
        elif same.count(True) + new_count < len(names):
            self._is_faithful = False
        if new_count:
            self._add([name for name, now in zip(names, current, strict=True) if now is None])

    def ended(self) -> Slices[TopicChanges]:
        sent, held, changes, read = self._sent, self._held, self._changes, self._read
        is_whole = self._replaced is None and sent.is_all_new and len(self._changed) >= WORTH_A_NEW_TABLE
        left: list[str] = []
        if self._served_count < len(held) and (sent.is_omission_deletion or is_whole):
            if self._replaced is not None:
                raise IrregularTableError("some topics are to go")
            names = tuple(held)
            for start in range(0, len(names), _SLICE_TOPICS):
                left += [name for name in names[start : start + _SLICE_TOPICS] if name not in read]
                yield
        if sent.is_omission_deletion:
            changes.omitted = tuple(left)
        if is_whole:
            changes.changed = read.keys() if len(self._changed) == len(read) else self._changed
            if left and not sent.is_omission_deletion:
                changes.changed = tuple(changes.changed)
                read.update((name, held[name]) for name in left)
            changes.whole = read
        else:
            changes.queues = {name: read[name] for name in self._changed}
            changes.changed = changes.queues
        changes.is_faithful = self._is_faithful
        return changes

    def _datas_of(self, stretch: TopicStretch, current: list[QueueData | None]) -> list[QueueData]:
        """Give the queue data of each topic: one object for all that are alike, the one that is held if there is."""
        known, shapes = self._datas, stretch.shapes or ()
        try:
            return list(map(known.__getitem__, shapes))
        except KeyError:
            for shape, now in zip(shapes, current, strict=True):
                if shape not in known:
                    data = self._queue_data(shape)
                    known[shape] = now if now is not None and now == data else data
            return list(map(known.__getitem__, shapes))

    def _queue_data(self, shape: TopicShape) -> QueueData:
        perm, read_queue_nums, topic_sys_flag, write_queue_nums = shape
        return QueueData(
            broker_name=self._sent.broker_name,
            perm=perm & self._sent.perm_mask,
            read_queue_nums=read_queue_nums,
            topic_sys_flag=topic_sys_flag,
            write_queue_nums=write_queue_nums,
        )

    @staticmethod
    def _check_apart(names: tuple[str, ...], current: list[QueueData | None], replaced: frozenset[str]) -> None:
        """Make sure that none of these topics can be in a stretch that is as it was too."""
        served = [name for name, now in zip(names, current, strict=True) if now is not None]
        if not replaced.issuperset(served):
            raise IrregularTableError("a topic may be there twice")

    def _add(self, topics: list[str]) -> None:
        """Take topics that the broker does not serve yet."""
        changes, brokers_by_topic = self._changes, self._brokers_by_topic
        if not self._sent.is_all_new:
            self._changed += topics
        before = list(map(brokers_by_topic.get, topics))
        changes.before.update(zip(topics, before, strict=True))
        changes.brokers.update(zip(topics, map(self._joined.with_broker, before), strict=True))
        unknown = [topic for topic, now in zip(topics, before, strict=True) if now is None]
        changes.added_bytes += ENTRY_BYTES * len(topics) + topics_bytes(unknown)
