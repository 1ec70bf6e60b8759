"""Encoded TopicRouteData, kept until the topic's route changes.

Owns: the bytes, and the bound on them.
Must not know: how a route is made, or what changes it.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from cosmodrome.protocol.json_dialects import JsonDialect

DEFAULT_MAX_BYTES: Final = 64 * 1024 * 1024
PLACE_BYTES: Final = 256
"""What the place of one topic's body is taken to cost, beside the body itself."""
_MOST_GROUPS: Final = 64


class StandingBody:
    """A body that is kept, for whoever wants to give it again: `body` is None as soon as it is not kept any more."""

    __slots__ = ("body", "order_topic_conf")

    def __init__(self, order_topic_conf: str | None, body: bytes) -> None:
        self.order_topic_conf = order_topic_conf
        self.body: bytes | None = body


class EncodedRoutes:
    """A bounded cache; the entries that were made first go first.

    A body does not name its topic, so topics with the same brokers and the same queues share one. In an estate of 300
    brokers with 10,000 topics each that is the difference between a few bodies and 600 MB of them.
    """

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._size_bytes = 0
        self.dropped_bytes = 0
        """How many bytes were dropped so far, counted as `size_bytes` is."""
        self.invalidated_count = 0
        """How many bodies were dropped because they were no longer true."""
        self._entries: tuple[dict[str, StandingBody], ...] = tuple({} for _ in JsonDialect)
        """By dialect."""
        self._shared: dict[bytes, _Shared] = {}

    @property
    def size_bytes(self) -> int:
        """How many bytes are kept: of bodies, each counted once, and of the places of topics."""
        return self._size_bytes

    def get(self, topic: str, dialect: JsonDialect, order_topic_conf: str | None) -> bytes | None:
        """Give the body made for this topic with this order configuration, or None."""
        standing = self.standing(topic, dialect, order_topic_conf)
        return None if standing is None else standing.body

    def standing(self, topic: str, dialect: JsonDialect, order_topic_conf: str | None) -> StandingBody | None:
        """Give the same for as long as it is kept."""
        entry = self._entries[dialect].get(topic)
        return entry if entry is not None and entry.order_topic_conf == order_topic_conf else None

    def put(self, topic: str, dialect: JsonDialect, order_topic_conf: str | None, body: bytes) -> None:
        """Keep a body."""
        entries = self._entries[dialect]
        self._forget(entries, topic)
        shared = self._shared.get(body)
        if shared is None:
            shared = self._shared[body] = _Shared(body)
            self._size_bytes += len(body)
        shared.users += 1
        entries[topic] = StandingBody(order_topic_conf, shared.body)
        self._size_bytes += PLACE_BYTES
        while self._size_bytes > self._max_bytes:
            fullest = max(self._entries, key=len)
            self._forget(fullest, next(iter(fullest)))

    def drop(self, topics: Collection[str]) -> None:
        """Forget the bodies of these topics."""
        for entries in self._entries:
            if len(entries) < len(topics):
                quick = topics if isinstance(topics, AbstractSet | Mapping) else frozenset(topics)
                kept = [topic for topic in entries if topic in quick]
            else:
                kept = [topic for topic in topics if topic in entries]
            self.invalidated_count += len(kept)
            for topic in kept:
                self._forget(entries, topic)

    def clear(self) -> None:
        """Forget everything."""
        for entries in self._entries:
            self.invalidated_count += len(entries)
            for entry in entries.values():
                entry.body = None
            entries.clear()
        self._shared.clear()
        self.dropped_bytes += self._size_bytes
        self._size_bytes = 0

    def _forget(self, entries: dict[str, StandingBody], topic: str) -> None:
        entry = entries.pop(topic, None)
        if entry is None or entry.body is None:
            return
        gone_bytes = PLACE_BYTES
        shared = self._shared[entry.body]
        shared.users -= 1
        if not shared.users:
            del self._shared[entry.body]
            gone_bytes += len(entry.body)
        entry.body = None
        self._size_bytes -= gone_bytes
        self.dropped_bytes += gone_bytes


class _Shared:
    """A body, and how many topics have it."""

    __slots__ = ("body", "users")

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.users = 0


class EncodedGroups:
    """The part of encoded routes that says which brokers there are, which most topics have in common with others.

    All of it is of one revision of the tables; what was made at another is forgotten.
    """

    def __init__(self) -> None:
        self._revision = -1
        self._kept: dict[tuple[tuple[str, ...], JsonDialect], bytes] = {}

    def get(self, broker_names: tuple[str, ...], dialect: JsonDialect, revision: int) -> bytes | None:
        """Give the part made for these brokers at this revision, or None."""
        return self._kept.get((broker_names, dialect)) if revision == self._revision else None

    def put(self, broker_names: tuple[str, ...], dialect: JsonDialect, revision: int, part: bytes) -> None:
        """Keep a part; one that finds no room takes the place of all."""
        if revision != self._revision or len(self._kept) >= _MOST_GROUPS:
            self._kept.clear()
            self._revision = revision
        self._kept[broker_names, dialect] = part
