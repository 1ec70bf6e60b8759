"""Encoded TopicRouteData, kept until the topic's route changes.

Owns: the bytes, and the bound on them.
Must not know: how a route is made, or what changes it.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from cosmodrome.protocol.json_dialects import JsonDialect

DEFAULT_MAX_BYTES: Final = 64 * 1024 * 1024


class _Entry(NamedTuple):
    order_topic_conf: str | None
    body: bytes


class EncodedRoutes:
    """A bounded cache; the entries that were made first go first."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._size_bytes = 0
        self.dropped_bytes = 0
        """How many bytes of bodies were dropped so far."""
        self._entries: tuple[dict[str, _Entry], ...] = tuple({} for _ in JsonDialect)
        """By dialect."""

    @property
    def size_bytes(self) -> int:
        """How many bytes of bodies are kept."""
        return self._size_bytes

    def get(self, topic: str, dialect: JsonDialect, order_topic_conf: str | None) -> bytes | None:
        """Give the body made for this topic with this order configuration, or None."""
        entry = self._entries[dialect].get(topic)
        return entry.body if entry is not None and entry.order_topic_conf == order_topic_conf else None

    def put(self, topic: str, dialect: JsonDialect, order_topic_conf: str | None, body: bytes) -> None:
        """Keep a body."""
        entries = self._entries[dialect]
        self._forget(entries, topic)
        entries[topic] = _Entry(order_topic_conf, body)
        self._size_bytes += len(body)
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
            for topic in kept:
                self._forget(entries, topic)

    def clear(self) -> None:
        """Forget everything."""
        for entries in self._entries:
            entries.clear()
        self.dropped_bytes += self._size_bytes
        self._size_bytes = 0

    def _forget(self, entries: dict[str, _Entry], topic: str) -> None:
        entry = entries.pop(topic, None)
        if entry is not None:
            self._size_bytes -= len(entry.body)
            self.dropped_bytes += len(entry.body)
