"""Topic → broker name → QueueData, and its reverse (Java: topicQueueTable).

Owns: both directions, always in step; static-topic mappings, which live and die with them.
Must not know: which brokers exist, or why a topic changes.
"""

from collections.abc import Iterator, Mapping

from cosmodrome.protocol.bodies.route import QueueData, TopicQueueMappingInfo

_NO_QUEUES: Mapping[str, QueueData] = {}


class TopicQueues:
    """Which brokers serve a topic, and which topics a broker serves.

    A topic is here iff at least one broker serves it.
    """

    def __init__(self) -> None:
        self._topics: dict[str, dict[str, QueueData]] = {}
        self.dropped_count = 0
        """How many QueueData were dropped so far."""
        self._topics_by_broker: dict[str, dict[str, None]] = {}
        self._mappings: dict[str, dict[str, TopicQueueMappingInfo]] = {}
        self._mapped_topics_by_broker: dict[str, set[str]] = {}
        self._shared: dict[str, dict[QueueData, QueueData]] = {}

    def __len__(self) -> int:
        return len(self._topics)

    def __iter__(self) -> Iterator[str]:
        return iter(self._topics)

    def __contains__(self, topic: str) -> bool:
        return topic in self._topics

    def of_topic(self, topic: str) -> Mapping[str, QueueData]:
        """Give the queue data of a topic by broker name; empty when nobody serves it."""
        return self._topics.get(topic, _NO_QUEUES)

    def has(self, topic: str, broker_name: str) -> bool:
        """Tell whether a broker has anything for a topic: queues, or a static-topic mapping."""
        return broker_name in self.of_topic(topic) or broker_name in self._mappings.get(topic, ())

    def topics_of(self, broker_name: str) -> tuple[str, ...]:
        """Give the topics of one broker; a copy, so that it may be walked while they change."""
        return tuple(self._topics_by_broker.get(broker_name, ()))

    def mappings_of(self, topic: str) -> Mapping[str, TopicQueueMappingInfo] | None:
        """Give the static-topic mappings of a topic by broker name; None when there are none."""
        return self._mappings.get(topic)

    def put(self, topic: str, queue_data: QueueData) -> bool:
        """Store what a broker has for a topic, and tell whether that changed anything."""
        queues = self._topics.get(topic)
        if queues is None:
            queues = self._topics[topic] = {}
        broker_name = queue_data.broker_name
        if queues.get(broker_name) == queue_data:
            return False
        if broker_name not in queues:
            self._topics_by_broker.setdefault(broker_name, {})[topic] = None
        # One object for all topics of a broker with the same numbers: brokers have thousands of those.
        queues[broker_name] = self._shared.setdefault(broker_name, {}).setdefault(queue_data, queue_data)
        return True

    def put_mapping(self, topic: str, broker_name: str, info: TopicQueueMappingInfo) -> bool:
        """Store where a broker has the queues of a static topic, and tell whether that changed anything."""
        infos = self._mappings.setdefault(topic, {})
        if infos.get(broker_name) == info:
            return False
        infos[broker_name] = info
        self._mapped_topics_by_broker.setdefault(broker_name, set()).add(topic)
        return True

    def drop(self, topic: str, broker_name: str) -> bool:
        """Forget one broker for one topic, and tell whether the topic lost its last broker by that."""
        self._drop_mapping(topic, broker_name)
        queues = self._topics.get(topic)
        if queues is None or broker_name not in queues:
            return False
        del queues[broker_name]
        self._unlink(topic, broker_name)
        if queues:
            return False
        del self._topics[topic]
        self._drop_all_mappings(topic)
        return True

    def drop_broker(self, broker_name: str) -> list[str]:
        """Forget a broker everywhere, and give the topics that lost their last broker by that."""
        lost = [topic for topic in self.topics_of(broker_name) if self.drop(topic, broker_name)]
        for topic in tuple(self._mapped_topics_by_broker.get(broker_name, ())):
            self._drop_mapping(topic, broker_name)
        return lost

    def _unlink(self, topic: str, broker_name: str) -> None:
        self.dropped_count += 1
        topics = self._topics_by_broker[broker_name]
        del topics[topic]
        if not topics:
            del self._topics_by_broker[broker_name]
            del self._shared[broker_name]

    def _drop_all_mappings(self, topic: str) -> None:
        for broker_name in tuple(self._mappings.get(topic, ())):
            self._drop_mapping(topic, broker_name)

    def _drop_mapping(self, topic: str, broker_name: str) -> None:
        infos = self._mappings.get(topic)
        if infos is None or broker_name not in infos:
            return
        del infos[broker_name]
        if not infos:
            del self._mappings[topic]
        mapped = self._mapped_topics_by_broker[broker_name]
        mapped.discard(topic)
        if not mapped:
            del self._mapped_topics_by_broker[broker_name]
