"""The topics of a consumer, and what it wants of each.

Owns: the subscriptions by topic, their versions, and the retry topic that comes with them.
Must not know: queues; when a heartbeat is sent.
"""

from collections.abc import Callable
from typing import NamedTuple

from cosmodrome.client.consumer.filters import Expression, acceptance, subscription
from cosmodrome.client.consumer.start_offset import RETRY_TOPIC_PREFIX
from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.protocol.subscription import SubscriptionData


class _Subscribed(NamedTuple):
    data: SubscriptionData
    is_wanted: Callable[[StoredMessage], bool] | None


class Subscriptions:
    """What the members of a group have to agree on. In clustering, failed messages come by a topic of the group."""

    def __init__(self, group: str, *, has_retries: bool) -> None:
        self.retry_topic = f"{RETRY_TOPIC_PREFIX}{group}" if has_retries else None
        self._by_topic: dict[str, _Subscribed] = {}
        if self.retry_topic is not None:
            self.add(self.retry_topic, None, 1)

    def add(self, topic: str, expression: Expression, now_ms: int) -> None:
        """Subscribe to a topic, or to something else of it; brokers take the version that is newer.

        Raises:
            ValueError: The expression is no list of tags.
            TypeError: It is no expression at all.
        """
        before = self._by_topic.get(topic)
        version = now_ms if before is None else max(now_ms, before.data.sub_version + 1)
        data = subscription(topic, expression, version)
        self._by_topic[topic] = _Subscribed(data, acceptance(data))

    def remove(self, topic: str) -> bool:
        """Forget a topic; False when it was not there. The retry topic stays: it serves all topics."""
        return topic != self.retry_topic and self._by_topic.pop(topic, None) is not None

    def topics(self) -> tuple[str, ...]:
        """Give all topics, the retry topic included."""
        return tuple(self._by_topic)

    def __contains__(self, topic: str) -> bool:
        """Whether a topic is subscribed to."""
        return topic in self._by_topic

    def all(self) -> tuple[SubscriptionData, ...]:
        """Give all subscriptions, as a heartbeat names them."""
        return tuple(each.data for each in self._by_topic.values())

    def of(self, topic: str) -> SubscriptionData:
        """Give a topic's subscription; of a topic that was just given up, one to everything."""
        found = self._by_topic.get(topic)
        return SubscriptionData(topic=topic) if found is None else found.data

    def acceptance(self, topic: str) -> Callable[[StoredMessage], bool] | None:
        """Give what decides about single messages of a topic; None when all are wanted."""
        found = self._by_topic.get(topic)
        return None if found is None else found.is_wanted
