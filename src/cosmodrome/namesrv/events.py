"""What happened, as typed values.

Owns: the names, severities and fields of events; logs, and whoever else listens, get the same ones.
Must not know: who listens; how an event is printed.
"""

import dataclasses
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

# More names than this in one log field tell a person nothing; the count does.
NAMES_SHOWN = 5


def some_of(names: tuple[str, ...]) -> str:
    """Give the first few names, and how many more there are."""
    shown = ",".join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown},+{more}" if more > 0 else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something an operator may want to know. Subclasses add fields; None fields are left out when printed."""

    NAME: ClassVar[str] = ""
    LEVEL: ClassVar[int] = logging.INFO

    def fields(self) -> Mapping[str, object]:
        """Give the fields in printing order, those that are None left out."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            name: some_of(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None
        }


Publish = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStarted(Event):
    """The listener is open; brokers may come. `address` is as bound."""

    NAME = "server.started"
    address: str
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReady(Event):
    """Routes are answered (at once, or when `needWaitForService` has waited)."""

    NAME = "server.ready"
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDraining(Event):
    """No more connections; requests in flight are being finished."""

    NAME = "server.draining"
    connections: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStopped(Event):
    """The listener is closed and everything acknowledged is on disk."""

    NAME = "server.stopped"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistered(Event):
    """A broker address that was not known before registered."""

    NAME = "broker.registered"
    cluster: str
    broker: str
    id: int
    addr: str
    topics: int
    peer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerChanged(Event):
    """A known broker registered something else than before: its id, name, or table."""

    NAME = "broker.changed"
    cluster: str
    broker: str
    id: int
    addr: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRefused(Event):
    """A registration changed nothing, for the reason given."""

    NAME = "broker.refused"
    LEVEL = logging.WARNING
    cluster: str
    broker: str
    id: int
    addr: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerUnregistered(Event):
    """A broker address left, by its own request, with its connection, or by silence."""

    NAME = "broker.unregistered"
    LEVEL = logging.WARNING
    cluster: str
    broker: str
    id: int
    addr: str
    reason: str
    last_heartbeat_s: float | None = None
    topics_lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConflict(Event):
    """One broker name came from two clusters; they share one entry, as in the Java NameServer."""

    NAME = "broker.cluster_conflict"
    LEVEL = logging.ERROR
    broker: str
    cluster: str
    other_cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterChanged(Event):
    """Another address answers for id 0 of a broker group; None means that there is none."""

    NAME = "master.changed"
    cluster: str
    broker: str
    old_addr: str | None
    new_addr: str | None

    def fields(self) -> Mapping[str, object]:
        """Give the fields, with `none` written out."""
        return {
            "cluster": self.cluster,
            "broker": self.broker,
            "old_addr": self.old_addr or "none",
            "new_addr": self.new_addr or "none",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsAdded(Event):
    """Topics got their first route through this broker."""

    NAME = "topic.added"
    broker: str
    count: int
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsRemoved(Event):
    """Topics lost their last route."""

    NAME = "topic.removed"
    count: int
    topics: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PermWiped(Event):
    """Write permission was taken from all topics of a broker."""

    NAME = "perm.wiped"
    broker: str
    topics: int
    peer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PermRestored(Event):
    """Read and write permission was given to all topics of a broker, or a wipe was overwritten (`reason`)."""

    NAME = "perm.restored"
    broker: str
    topics: int
    peer: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KVPut(Event):
    """A KV entry was stored; values are never logged."""

    NAME = "kv.put"
    namespace: str
    key: str
    peer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KVDeleted(Event):
    """A KV entry was removed."""

    NAME = "kv.deleted"
    namespace: str
    key: str
    peer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChanged(Event):
    """Configuration changed at run time; `restart` are keys that take effect at the next start."""

    NAME = "config.changed"
    applied: tuple[str, ...]
    restart: tuple[str, ...]
    peer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDenied(Event):
    """A request was refused by policy."""

    NAME = "request.denied"
    LEVEL = logging.WARNING
    code: int
    peer: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteMissed(Event):
    """A topic was asked for that has no route; at most once a minute per topic."""

    NAME = "route.missed"
    topic: str
    peer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownHeartbeat(Event):
    """A heartbeat came for a broker that is not registered; it was answered, and did nothing."""

    NAME = "heartbeat.unknown"
    LEVEL = logging.WARNING
    cluster: str
    addr: str
    peer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeFailed(Event):
    """A notice of a changed smallest broker id did not reach a broker."""

    NAME = "notice.failed"
    LEVEL = logging.WARNING
    broker: str
    addr: str
    reason: str
