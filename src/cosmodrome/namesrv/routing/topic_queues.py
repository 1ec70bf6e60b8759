"""Topic → brokers, and broker → topic → QueueData (Java: topicQueueTable).

Owns: both directions, always in step; static-topic mappings, which live and die with them.
Must not know: which brokers exist, or why a topic changes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from sys import intern
from types import MappingProxyType
from typing import Final

import msgspec

from cosmodrome.namesrv.routing.room import ENTRY_BYTES, mapping_bytes, topic_bytes, topics_bytes
from cosmodrome.namesrv.routing.stretch_changes import SentStretches, changes_by_stretches
from cosmodrome.namesrv.routing.topic_changes import (
    Brokers,
    JoinedBrokers,
    SentTopics,
    TopicChanges,
    changes_in_slices,
)
from cosmodrome.protocol.bodies.route import QueueData, TopicQueueMappingInfo
from cosmodrome.protocol.slices import Slices

_NO_QUEUES: Final[Mapping[str, QueueData]] = MappingProxyType({})
_MOST_SHARED: Final = 64
"""Different numbers of queues and permissions of one broker that are remembered, to share one object for each."""


class TopicQueues:
    """Which brokers serve a topic, and which topics a broker serves.

    A topic is here iff at least one broker serves it. What a broker sent is kept in one dictionary of its own, and
    topics with the same brokers share one tuple of names: a broker's whole table comes and goes by few steps.
    """

    def __init__(self) -> None:
        self._brokers: dict[str, Brokers] = {}
        self._queues: dict[str, dict[str, QueueData]] = {}
        self._version = 0
        """Moves when the brokers of a topic change."""
        self.dropped_count = 0
        """How many QueueData were dropped so far."""
        self.held_bytes = 0
        """What all of it is taken to cost, as `room` counts it."""
        self._mappings: dict[str, dict[str, TopicQueueMappingInfo]] = {}
        self._mapped_topics_by_broker: dict[str, set[str]] = {}
        self._shared: dict[str, dict[QueueData, QueueData]] = {}
        self._sums: dict[str, tuple[int, int]] = {}
        """Queues to read and to write of the brokers whose queues were counted since they changed."""

    def __len__(self) -> int:
        return len(self._brokers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._brokers)

    def __contains__(self, topic: str) -> bool:
        return topic in self._brokers

    def of_topic(self, topic: str) -> dict[str, QueueData]:
        """Give the queue data of a topic by broker name, as a copy; empty when nobody serves it."""
        return {name: self._queues[name][topic] for name in self._brokers.get(topic, ())}

    def brokers_of(self, topic: str) -> Brokers:
        """Give the names of the brokers of a topic; topics with the same brokers mostly have the same object."""
        return self._brokers.get(topic, ())

    def first_of_topic(self, topic: str) -> QueueData:
        """Give the queue data of the first broker of a topic that somebody serves."""
        return self._queues[self._brokers[topic][0]][topic]

    def has(self, topic: str, broker_name: str) -> bool:
        """Tell whether a broker has anything for a topic: queues, or a static-topic mapping."""
        return topic in self.of_broker(broker_name) or broker_name in self._mappings.get(topic, ())

    def of_broker(self, broker_name: str) -> Mapping[str, QueueData]:
        """Give the queue data of one broker by topic, as it is: do not walk it while it changes."""
        return self._queues.get(broker_name, _NO_QUEUES)

    def topics_of(self, broker_name: str) -> tuple[str, ...]:
        """Give the topics of one broker; a copy, so that it may be walked while they change."""
        return tuple(self.of_broker(broker_name))

    def mappings_of(self, topic: str) -> Mapping[str, TopicQueueMappingInfo] | None:
        """Give the static-topic mappings of a topic by broker name; None when there are none."""
        return self._mappings.get(topic)

    def uncounted(self) -> list[str]:
        """Give the brokers whose queues were not counted since they changed."""
        return [name for name in self._queues if name not in self._sums]

    def count_queues(self, broker_name: str) -> None:
        """Count the queues of one broker. It walks its topics."""
        held = self._queues.get(broker_name)
        if held is not None:
            reads = sum(data.read_queue_nums for data in held.values())
            self._sums[broker_name] = reads, sum(data.write_queue_nums for data in held.values())

    def queue_counts(self) -> tuple[int, int]:
        """Give how many queues can be read and how many written, of all topics; brokers that changed are counted first."""
        for name in self.uncounted():
            self.count_queues(name)
        return sum(reads for reads, _ in self._sums.values()), sum(writes for _, writes in self._sums.values())

    def mapped_by(self, broker_name: str) -> AbstractSet[str]:
        """Give the topics for which a broker has static-topic mappings, whether it has queues for them or not."""
        return self._mapped_topics_by_broker.get(broker_name, frozenset())

    def changes_by(self, sent: SentTopics) -> Slices[TopicChanges]:
        """Find, in slices, what a registration changes; nothing is changed by that."""
        as_of = self._version
        changes = yield from changes_in_slices(sent, self.of_broker(sent.broker_name), self._brokers)
        changes.as_of = as_of
        return changes

    def changes_by_stretches(self, sent: SentStretches) -> Slices[TopicChanges]:
        """Find the same stretch by stretch; see there for what it raises."""
        as_of = self._version
        changes = yield from changes_by_stretches(sent, self.of_broker(sent.broker_name), self._brokers)
        changes.as_of = as_of
        return changes

    def apply(self, changes: TopicChanges) -> list[str]:
        """Make changes that were found before, in one step, and give the topics that had no broker.

        What was found must still be true of the broker itself. The other brokers of its topics may have changed.
        """
        broker_name, brokers = changes.broker_name, self._brokers
        if not changes.changed:
            return []
        moved = []
        if changes.as_of != self._version:
            moved = [topic for topic, before in changes.before.items() if brokers.get(topic) is not before]
        joined = JoinedBrokers(broker_name)
        for topic in moved:
            then, before = changes.before[topic], brokers.get(topic)
            if (then is None) != (before is None):
                changes.added_bytes += topic_bytes(topic) if before is None else -topic_bytes(topic)
            changes.before[topic] = before
            changes.brokers[topic] = joined.with_broker(before)
        self.held_bytes += changes.added_bytes
        self._version += 1
        self._sums.pop(broker_name, None)
        brokers.update(changes.brokers)
        if changes.whole is None:
            self._queues.setdefault(broker_name, {}).update(changes.queues)
        else:
            self._queues[broker_name] = changes.whole
        return [topic for topic, before in changes.before.items() if before is None]

    def added_bytes(self, topic: str, broker_names: Iterable[str]) -> int:
        """Give what it would cost to put a topic for these brokers; nothing for those that serve it."""
        serving = self._brokers.get(topic, ())
        added = sum(ENTRY_BYTES for name in broker_names if topic not in self.of_broker(name))
        return added + topic_bytes(topic) if added and not serving else added

    def put(self, topic: str, queue_data: QueueData) -> bool:
        """Store what a broker has for a topic, and tell whether that changed anything."""
        name = queue_data.broker_name
        held = self.of_broker(name).get(topic)
        if held == queue_data:
            return False
        topic = intern(topic)
        self._sums.pop(name, None)
        if held is None:
            self.held_bytes += self.added_bytes(topic, (name,))
            self._version += 1
            self._brokers[topic] = (*self._brokers.get(topic, ()), name)
        # One object for all topics of a broker with the same numbers: brokers have thousands of those.
        shared = self._shared.setdefault(name, {})
        if len(shared) >= _MOST_SHARED:
            shared.clear()
        if queue_data not in shared:
            queue_data = msgspec.structs.replace(queue_data, broker_name=intern(name))
        self._queues.setdefault(name, {})[topic] = shared.setdefault(queue_data, queue_data)
        return True

    def replace_all(self, broker_name: str, change: Callable[[QueueData], QueueData]) -> None:
        """Store something else for each topic of a broker; `change` is asked once for topics that share an object."""
        held = self.of_broker(broker_name)
        changed = {id(data): change(data) for data in {id(data): data for data in held.values()}.values()}
        if held:
            self._sums.pop(broker_name, None)
            self._queues[broker_name] = {topic: changed[id(data)] for topic, data in held.items()}

    def added_mapping_bytes(self, broker_name: str, infos: Mapping[str, TopicQueueMappingInfo]) -> int:
        """Give what it would cost to store mappings of one broker, beyond what its present ones for them cost."""
        return sum(
            mapping_bytes(topic, info) - self._mapping_bytes(topic, broker_name) for topic, info in infos.items()
        )

    def put_mapping(self, topic: str, broker_name: str, info: TopicQueueMappingInfo) -> bool:
        """Store where a broker has the queues of a static topic, and tell whether that changed anything."""
        infos = self._mappings.setdefault(topic, {})
        if infos.get(broker_name) == info:
            return False
        self.held_bytes += mapping_bytes(topic, info) - self._mapping_bytes(topic, broker_name)
        infos[broker_name] = info
        self._mapped_topics_by_broker.setdefault(broker_name, set()).add(topic)
        return True

    def drop(self, topic: str, broker_name: str) -> bool:
        """Forget one broker for one topic, and tell whether the topic lost its last broker by that."""
        self._drop_mapping(topic, broker_name)
        if topic not in self.of_broker(broker_name):
            return False
        queues = self._queues[broker_name]
        del queues[topic]
        self._sums.pop(broker_name, None)
        if not queues:
            self._forget_queues(broker_name)
        self.dropped_count += 1
        self._version += 1
        self.held_bytes -= ENTRY_BYTES
        remaining = tuple(name for name in self._brokers[topic] if name != broker_name)
        return self._leave(topic, remaining)

    def drop_broker(self, broker_name: str) -> list[str]:
        """Forget a broker everywhere, and give the topics that lost their last broker by that."""
        queues = self._forget_queues(broker_name)
        self._version += 1
        self.dropped_count += len(queues)
        brokers = self._brokers
        lost: list[str] = []
        # As in JoinedBrokers.
        left: dict[int, tuple[Brokers, Brokers]] = {}
        for topic in queues:
            before = brokers[topic]
            known = left.get(id(before))
            if known is None:
                known = left[id(before)] = (before, tuple(name for name in before if name != broker_name))
            if known[1]:
                brokers[topic] = known[1]
            else:
                del brokers[topic]
                lost.append(topic)
        self.held_bytes -= ENTRY_BYTES * len(queues) + topics_bytes(lost)
        if self._mappings:
            for topic in lost:
                self._drop_mappings(topic)
        for topic in tuple(self._mapped_topics_by_broker.get(broker_name, ())):
            self._drop_mapping(topic, broker_name)
        return lost

    def _leave(self, topic: str, remaining: Brokers) -> bool:
        if remaining:
            self._brokers[topic] = remaining
            return False
        del self._brokers[topic]
        self.held_bytes -= topic_bytes(topic)
        self._drop_mappings(topic)
        return True

    def _forget_queues(self, broker_name: str) -> Mapping[str, QueueData]:
        self._shared.pop(broker_name, None)
        self._sums.pop(broker_name, None)
        return self._queues.pop(broker_name, _NO_QUEUES)

    def _mapping_bytes(self, topic: str, broker_name: str) -> int:
        info = self._mappings.get(topic, {}).get(broker_name)
        return 0 if info is None else mapping_bytes(topic, info)

    def _drop_mappings(self, topic: str) -> None:
        for broker_name in tuple(self._mappings.get(topic, ())):
            self._drop_mapping(topic, broker_name)

    def _drop_mapping(self, topic: str, broker_name: str) -> None:
        infos = self._mappings.get(topic)
        if infos is None or broker_name not in infos:
            return
        self.held_bytes -= mapping_bytes(topic, infos.pop(broker_name))
        if not infos:
            del self._mappings[topic]
        mapped = self._mapped_topics_by_broker[broker_name]
        mapped.discard(topic)
        if not mapped:
            del self._mapped_topics_by_broker[broker_name]
