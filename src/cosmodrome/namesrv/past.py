"""What happened to a topic or a broker, read from the events that are kept.

Owns: which events concern it, and what each means for it.
Must not know: how events are kept; what follows from them (cosmodrome.why).
"""

from collections.abc import Iterable
from typing import Final

from cosmodrome.namesrv.event_history import Record
from cosmodrome.namesrv.events import (
    BrokerRefused,
    BrokerRegistered,
    BrokerUnregistered,
    Event,
    PermRestored,
    PermWiped,
    TopicsAdded,
    TopicsRemoved,
)
from cosmodrome.protocol.slices import Slices
from cosmodrome.why.facts import Happening, Past

MOST: Final = 50
"""Of happenings; the latest."""
_SLICE_RECORDS: Final = 500

_ENDS: Final = {
    "heartbeat_expired": Past.EXPIRED,
    "connection_closed": Past.CLOSED,
    "connection_idle": Past.CLOSED,
    "unregistered": Past.UNREGISTERED,
}
_REMOVED: Final = {
    "deleted by request": Past.TOPIC_DELETED,
    "omitted from the broker's registration": Past.TOPIC_DROPPED,
}


def broker_past(records: Iterable[Record], broker: str) -> Slices[tuple[Happening, ...]]:
    """Give what happened to a broker, the latest first."""
    found: list[Happening] = []
    for number, record in enumerate(records, 1):
        if number % _SLICE_RECORDS == 0:
            yield
        happening = _of_broker(record)
        if happening is not None and happening.broker == broker:
            found.append(happening)
    return tuple(reversed(found[-MOST:]))


def topic_past(records: Iterable[Record], topic: str) -> Slices[tuple[Happening, ...]]:
    """Give what happened to a topic, and to the brokers that had it, the latest first."""
    found: list[Happening] = []
    of_brokers: dict[str, list[Happening]] = {}
    brokers: set[str] = set()
    for number, record in enumerate(records, 1):
        if number % _SLICE_RECORDS == 0:
            yield
        happening = _of_broker(record)
        if happening is not None:
            of_brokers.setdefault(happening.broker or "", []).append(happening)
        event = record.event
        if isinstance(event, TopicsAdded) and topic in event.topics:
            brokers.add(event.broker)
            found.append(Happening(time_s=record.time_s, what=Past.TOPIC_ADDED, broker=event.broker))
        elif isinstance(event, TopicsRemoved) and topic in event.topics:
            removed = _REMOVED.get(event.reason)
            if removed is None:
                brokers.add(event.reason.removesuffix(" left"))
            else:
                found.append(Happening(time_s=record.time_s, what=removed))
    found += (each for name in brokers for each in of_brokers.get(name, ()))
    found.sort(key=lambda happening: happening.time_s)
    return tuple(reversed(found[-MOST:]))


def _of_broker(record: Record) -> Happening | None:
    event: Event = record.event
    match event:
        case BrokerRegistered():
            return _happening(
                record, Past.APPEARED, event.broker, text=f"id {event.id}, {event.addr}, {event.topics} topics"
            )
        case BrokerUnregistered():
            what = _ENDS.get(event.reason, Past.SUPERSEDED)
            silence = (
                f", last heard of {event.last_heartbeat_s:.0f} s before" if event.last_heartbeat_s is not None else ""
            )
            return _happening(record, what, event.broker, text=f"id {event.id}, {event.addr}{silence}")
        case BrokerRefused():
            return _happening(record, Past.REFUSED, event.broker, text=event.reason)
        case PermWiped():
            return _happening(record, Past.PERM_WIPED, event.broker, by=event.peer)
        case PermRestored():
            return _happening(record, Past.PERM_RESTORED, event.broker, by=event.peer)
    return None


def _happening(record: Record, what: Past, broker: str, *, by: str | None = None, text: str | None = None) -> Happening:
    return Happening(time_s=record.time_s, what=what, broker=broker, by=by, text=text)
