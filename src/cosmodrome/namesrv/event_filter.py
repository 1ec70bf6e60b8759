"""Which events somebody wants.

Owns: what an event is about (topics, brokers), patterns, and that a large change shows the names that were asked for.
Must not know: who asks, and how.
"""

import re
from collections.abc import Callable, Sequence
from fnmatch import translate

from cosmodrome.namesrv import events
from cosmodrome.namesrv.event_history import Record
from cosmodrome.namesrv.events import Event, KVDeleted, KVPut

ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"
"""The namespace of KV entries whose keys are topics."""

_Matches = Callable[[str], object]


class EventFilter:
    """Lets events pass of any of the types, and about any of the topics, and about any of the brokers; none is all.

    A type is a name (`broker.expiring`), its first part (`broker`), or a pattern of names. Topics and brokers are names
    or patterns, with `*`, `?` and `[seq]`.
    """

    def __init__(self, types: Sequence[str] = (), topics: Sequence[str] = (), brokers: Sequence[str] = ()) -> None:
        self._type = _type_pattern(types)
        self._topic = _pattern(topics)
        self._broker = _pattern(brokers)

    def topics_of(self, record: Record) -> tuple[str, ...] | None:
        """Give the topic names that are wanted of an event, or None when it is not wanted at all.

        An event of which not all names are known any more passes: it may be about a wanted one.
        """
        event = record.event
        if self._type is not None and not self._type(event.NAME):
            return None
        if self._broker is not None and not any(map(self._broker, brokers_of(event))):
            return None
        names = topics_of(event)
        if self._topic is None:
            return names
        wanted = tuple(filter(self._topic, names))
        return wanted if wanted or record.names_left_out else None


def event_names() -> tuple[str, ...]:
    """Give the name of every event, in order."""
    kinds = [each for each in vars(events).values() if isinstance(each, type) and issubclass(each, Event)]
    return tuple(sorted({kind.NAME for kind in kinds if kind.NAME}))


def matches_any(type_: str, names: Sequence[str]) -> bool:
    """Tell whether one of the names is of this type."""
    matches = _type_pattern([type_])
    return matches is not None and any(map(matches, names))


def topics_of(event: Event) -> tuple[str, ...]:
    """Give the topics that an event is about."""
    if isinstance(event, KVPut | KVDeleted):
        return (event.key,) if event.namespace == ORDER_TOPIC_CONFIG else ()
    for name in ("topics", "topic"):
        value = getattr(event, name, None)
        if isinstance(value, str):
            return (value,)
        if isinstance(value, tuple):
            return value
    return ()


def brokers_of(event: Event) -> tuple[str, ...]:
    """Give the broker names that an event is about."""
    names = (getattr(event, name, None) for name in ("broker", "old_broker"))
    return tuple(name for name in names if isinstance(name, str))


def _type_pattern(types: Sequence[str]) -> _Matches | None:
    return _pattern([*types, *(f"{each}.*" for each in types if "." not in each and "*" not in each)])


def _pattern(patterns: Sequence[str]) -> _Matches | None:
    return re.compile("|".join(map(translate, patterns))).match if patterns else None
