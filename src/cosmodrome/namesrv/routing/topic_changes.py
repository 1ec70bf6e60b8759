"""What a registration changes in the topics of its broker, found in slices and applied in one step.

Owns: the comparison of a table that was sent with the one that is held; what it found.
Must not know: where the tables are kept; which broker may publish topics; who waits between two slices.
"""

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from sys import intern
from typing import Final

from cosmodrome.namesrv.routing.room import ENTRY_BYTES, topic_bytes
from cosmodrome.protocol.bodies.route import QueueData
from cosmodrome.protocol.bodies.topic_config import TopicConfig
from cosmodrome.protocol.bodies.topic_stretches import TopicShape
from cosmodrome.protocol.slices import Slices

SLICE_TOPICS: Final = 500
"""Topics that are compared between two chances to do something else: well under a millisecond."""

Brokers = tuple[str, ...]
"""Names of the brokers of a topic, in the order in which they came. Shared by topics, so told apart by identity."""


@dataclass(slots=True, kw_only=True)
class TopicChanges:
    """The topics of one broker that differ from what is held.

    `queues` are all of them, or there is `whole`, all that the broker will serve, and `changed` tells which differ;
    `brokers` are the names of those that the broker did not serve, with who will serve them,
    and `before` who did when they were looked at (None: nobody). `added_bytes` is what the tables grow by, as `room`
    counts it, if `before` still is true; it is if the version of the topics' brokers still is `as_of`.

    Of a table that was read stretch by stretch, `stretches` are the names, `omitted` the topics to go before, and
    `is_faithful` tells that what will be held is what was sent.
    """

    broker_name: str
    queues: dict[str, QueueData] = field(default_factory=dict)
    brokers: dict[str, Brokers] = field(default_factory=dict)
    before: dict[str, Brokers | None] = field(default_factory=dict)
    added_bytes: int = 0
    as_of: int = 0
    changed: Collection[str] = ()
    topic_count: int = 0
    whole: dict[str, QueueData] | None = None
    stretches: list[tuple[str, ...]] = field(default_factory=list)
    omitted: tuple[str, ...] = ()
    is_faithful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTopics:
    """The topics of one registration. `perm_mask` is what the broker may have of the permissions it claims.

    Unless `is_all_new`, topics that the broker serves already are left as they are. Topics in `omitted` are compared
    as if they were gone: they will be, when the changes are applied.
    """

    broker_name: str
    configs: Iterable[TopicConfig]
    perm_mask: int
    is_all_new: bool
    omitted: Container[str] = ()


class JoinedBrokers:
    """Gives the same tuple for the same brokers and one more, so that a thousand topics share it."""

    def __init__(self, broker_name: str) -> None:
        self._broker_name = broker_name
        # The tuple that was asked about stays alive with its answer: its identity must not be used again.
        self._joined: dict[int, tuple[Brokers | None, Brokers]] = {}

    def with_broker(self, before: Brokers | None) -> Brokers:
        """Give these brokers and this one, unless it is among them."""
        known = self._joined.get(id(before))
        if known is None:
            names = before or ()
            joined = names if self._broker_name in names else (*names, self._broker_name)
            known = self._joined[id(before)] = (before, joined)
        return known[1]


def changes_in_slices(
    sent: SentTopics, held: Mapping[str, QueueData], brokers_by_topic: Mapping[str, Brokers]
) -> Slices[TopicChanges]:
    """Compare what a broker sent with what is held of it, and return what differs; each yield ends a slice.

    Nothing is changed. `held` and `brokers_by_topic` are looked at as they are in each slice.
    """
    changes = TopicChanges(broker_name=sent.broker_name)
    changes.changed = changes.queues
    queues, before, brokers = changes.queues, changes.before, changes.brokers
    omitted, is_all_new = sent.omitted, sent.is_all_new
    joined = JoinedBrokers(sent.broker_name)
    last_before: Brokers | None = None
    last_brokers = joined.with_broker(None)
    shapes: dict[TopicShape, QueueData] = {}
    configs = iter(sent.configs)
    while some := list(islice(configs, SLICE_TOPICS)):
        for config in some:
            topic = config.topic_name
            current = queues.get(topic)
            if current is None and topic not in omitted:
                current = held.get(topic)
            if current is not None and not is_all_new:
                continue
            shape = (config.perm, config.read_queue_nums, config.topic_sys_flag, config.write_queue_nums)
            data = shapes.get(shape)
            if data is None:
                data = shapes[shape] = _queue_data(sent, config)
            if current is data:
                continue
            if current == data:
                shapes[shape] = current
                continue
            if current is None:
                # Brokers with the same topics keep one text for each.
                topic = intern(topic)
                now = brokers_by_topic.get(topic)
                if now is not last_before:
                    last_before, last_brokers = now, joined.with_broker(now)
                before[topic] = now
                changes.added_bytes += ENTRY_BYTES if now is not None else ENTRY_BYTES + topic_bytes(topic)
                brokers[topic] = last_brokers
            queues[topic] = data
        yield
    return changes


def _queue_data(sent: SentTopics, config: TopicConfig) -> QueueData:
    return QueueData(
        broker_name=sent.broker_name,
        perm=config.perm & sent.perm_mask,
        read_queue_nums=config.read_queue_nums,
        topic_sys_flag=config.topic_sys_flag,
        write_queue_nums=config.write_queue_nums,
    )
