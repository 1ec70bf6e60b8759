"""Which topics were asked for and not found.

Owns: a bounded account of them: how often, by whom, when first and last.
Must not know: how a topic is looked up; clocks, who reads.

Peers choose the names, and may choose any number. Of those that do not fit, the one asked for least gives its place and its
count to the newcomer, so that what is asked for often stays, and a count is never too small: `at_most_over` says by how much
it may be too large.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final

MOST_TOPICS: Final = 1000
MOST_ASKERS: Final = 8
LONGEST_NAME: Final = 255
"""Characters; a longer name is of no topic, and the beginning tells enough."""


class Miss:
    """One topic that was asked for and not found. Times are of the clock that the caller uses."""

    __slots__ = ("askers", "at_most_over", "count", "first_s", "last_s", "topic")

    def __init__(self, topic: str, inherited: int, now_s: float) -> None:
        self.topic = topic
        self.count = inherited
        self.at_most_over = inherited
        self.first_s = self.last_s = now_s
        self.askers: OrderedDict[str, int] = OrderedDict()
        """How often each of the last MOST_ASKERS hosts asked since it was last among them."""

    def add(self, host: str, now_s: float) -> None:
        """Count one more question."""
        self.count += 1
        self.last_s = now_s
        self.askers[host] = self.askers.get(host, 0) + 1
        self.askers.move_to_end(host)
        if len(self.askers) > MOST_ASKERS:
            self.askers.popitem(last=False)


class Misses:
    """The topics that were asked for most, of those that were not found."""

    def __init__(self, most: int = MOST_TOPICS) -> None:
        self._most = most
        self._by_topic: dict[str, Miss] = {}
        self._by_count: dict[int, OrderedDict[str, None]] = {}
        self.total = 0
        """How often anything was not found."""

    def __len__(self) -> int:
        return len(self._by_topic)

    def __iter__(self) -> Iterator[Miss]:
        """Give each topic, in no order."""
        return iter(self._by_topic.values())

    def get(self, topic: str) -> Miss | None:
        """Give what is known of a topic."""
        return self._by_topic.get(topic[:LONGEST_NAME])

    def most_asked(self) -> list[Miss]:
        """Give the topics, those asked for most first."""
        return sorted(self._by_topic.values(), key=lambda miss: (-miss.count, miss.topic))

    def forget(self, topics: Iterable[str]) -> None:
        """Take out topics that have a route now."""
        for topic in topics:
            miss = self._by_topic.pop(topic, None)
            if miss is not None:
                self._take_from_count(miss)

    def add(self, topic: str, host: str, now_s: float) -> None:
        """Count a question of this host for a topic that has no route."""
        self.total += 1
        name = topic[:LONGEST_NAME]
        miss = self._by_topic.get(name)
        if miss is None:
            inherited = self._make_room() if len(self._by_topic) >= self._most else 0
            miss = self._by_topic[name] = Miss(name, inherited, now_s)
        else:
            self._take_from_count(miss)
        miss.add(host, now_s)
        self._by_count.setdefault(miss.count, OrderedDict())[name] = None

    def _make_room(self) -> int:
        """Drop the topic that was asked for least, that longest ago first, and give its count."""
        name = next(iter(self._by_count[min(self._by_count)]))
        dropped = self._by_topic.pop(name)
        self._take_from_count(dropped)
        return dropped.count

    def _take_from_count(self, miss: Miss) -> None:
        names = self._by_count[miss.count]
        del names[miss.topic]
        if not names:
            del self._by_count[miss.count]
