"""What happened, as typed values.

Owns: the names, severities and fields of events; logs, and whoever else listens, get the same ones.
Must not know: who listens; how an event is printed.
"""

import logging
from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec

# More names than this in one log field tell a person nothing; the count does.
NAMES_SHOWN = 5


def some_of(names: tuple[str, ...]) -> str:
    """Give the first few names, and how many more there are."""
    shown = ",".join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown},+{more}" if more > 0 else shown


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something an operator may want to know. Subclasses add fields; None fields are left out when printed."""

    NAME: ClassVar[str] = ""
    LEVEL: ClassVar[int] = logging.INFO

    def fields(self) -> Mapping[str, object]:
        """Give the fields in printing order, those that are None left out."""
        values = msgspec.structs.asdict(self)
        return {
            name: some_of(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None
        }


Publish = Callable[[Event], None]


class ServerStarted(Event, frozen=True, kw_only=True, gc=False):
    """The listener is open; brokers may come. `address` is as bound."""

    NAME = "server.started"
    address: str
    pid: int


class ServerReady(Event, frozen=True, kw_only=True, gc=False):
    """Routes are answered (at once, or when `needWaitForService` has waited)."""

    NAME = "server.ready"
    address: str


class ServerDraining(Event, frozen=True, kw_only=True, gc=False):
    """No more connections; requests in flight are being finished."""

    NAME = "server.draining"
    connections: int


class ServerStopped(Event, frozen=True, kw_only=True, gc=False):
    """The listener is closed and everything acknowledged is on disk."""

    NAME = "server.stopped"
    reason: str


class BrokerEvent(Event, frozen=True, kw_only=True, gc=False):
    """Something about one address of a broker group."""

    cluster: str
    broker: str
    id: int
    addr: str


class BrokerRegistered(BrokerEvent, frozen=True, kw_only=True, gc=False):
    """A broker address that was not known before registered."""

    NAME = "broker.registered"
    topics: int
    peer: str | None = None


class BrokerChanged(BrokerEvent, frozen=True, kw_only=True, gc=False):
    """A known broker registered something else than before: its id, name, or table."""

    NAME = "broker.changed"
    what: str


class BrokerRefused(BrokerEvent, frozen=True, kw_only=True, gc=False):
    """A registration changed nothing, for the reason given."""

    NAME = "broker.refused"
    LEVEL = logging.WARNING
    reason: str


class BrokerUnregistered(BrokerEvent, frozen=True, kw_only=True, gc=False):
    """A broker address left, by its own request, with its connection, or by silence."""

    NAME = "broker.unregistered"
    LEVEL = logging.WARNING
    reason: str
    last_heartbeat_s: float | None = None
    topics_lost: int = 0


class ClusterConflict(Event, frozen=True, kw_only=True, gc=False):
    """One broker name came from two clusters; they share one entry, as in the Java NameServer."""

    NAME = "broker.cluster_conflict"
    LEVEL = logging.ERROR
    broker: str
    cluster: str
    other_cluster: str


class MasterChanged(Event, frozen=True, kw_only=True, gc=False):
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


class TopicsAdded(Event, frozen=True, kw_only=True, gc=False):
    """Topics got their first route through this broker."""

    NAME = "topic.added"
    broker: str
    count: int
    topics: tuple[str, ...]


class TopicsRemoved(Event, frozen=True, kw_only=True, gc=False):
    """Topics lost their last route."""

    NAME = "topic.removed"
    count: int
    topics: tuple[str, ...]
    reason: str


class PermWiped(Event, frozen=True, kw_only=True, gc=False):
    """Write permission was taken from all topics of a broker."""

    NAME = "perm.wiped"
    broker: str
    topics: int
    peer: str | None = None


class PermRestored(Event, frozen=True, kw_only=True, gc=False):
    """Read and write permission was given to all topics of a broker, or a wipe was overwritten (`reason`)."""

    NAME = "perm.restored"
    broker: str
    topics: int
    peer: str | None = None
    reason: str | None = None


class KVPut(Event, frozen=True, kw_only=True, gc=False):
    """A KV entry was stored; values are never logged."""

    NAME = "kv.put"
    namespace: str
    key: str
    peer: str | None = None


class KVDeleted(Event, frozen=True, kw_only=True, gc=False):
    """A KV entry was removed."""

    NAME = "kv.deleted"
    namespace: str
    key: str
    peer: str | None = None


class ConfigChanged(Event, frozen=True, kw_only=True, gc=False):
    """Configuration changed at run time; `restart` are keys that take effect at the next start."""

    NAME = "config.changed"
    applied: tuple[str, ...]
    restart: tuple[str, ...]
    peer: str | None = None


class RequestDenied(Event, frozen=True, kw_only=True, gc=False):
    """A request was refused by policy."""

    NAME = "request.denied"
    LEVEL = logging.WARNING
    code: int
    peer: str | None
    reason: str


class RequestFailed(Event, frozen=True, kw_only=True, gc=False):
    """A request could not be served: it was wrong, or of an unknown code."""

    NAME = "request.failed"
    LEVEL = logging.WARNING
    code: int
    peer: str
    opaque: int
    reason: str


class StorageFailed(RequestFailed, frozen=True, kw_only=True, gc=False):
    """A request could not be served because of this server's disk."""

    NAME = "storage.failed"
    LEVEL = logging.ERROR


class RouteMissed(Event, frozen=True, kw_only=True, gc=False):
    """A topic was asked for that has no route; at most once a minute per topic."""

    NAME = "route.missed"
    topic: str
    peer: str | None


class UnknownHeartbeat(Event, frozen=True, kw_only=True, gc=False):
    """A heartbeat came for a broker that is not registered; it was answered, and did nothing."""

    NAME = "heartbeat.unknown"
    LEVEL = logging.WARNING
    cluster: str
    addr: str
    peer: str | None


class ConnectionRefused(Event, frozen=True, kw_only=True, gc=False):
    """A connection was closed because its peer does not speak the protocol, or may not speak it so."""

    NAME = "connection.refused"
    LEVEL = logging.WARNING
    peer: str
    reason: str


class ConnectionsExhausted(Event, frozen=True, kw_only=True, gc=False):
    """Nearly all descriptors that the system allows are in use; it refuses further connections."""

    NAME = "connections.exhausted"
    LEVEL = logging.WARNING
    open_descriptors_limit: int


class NoticeFailed(Event, frozen=True, kw_only=True, gc=False):
    """A notice of a changed smallest broker id did not reach a broker."""

    NAME = "notice.failed"
    LEVEL = logging.WARNING
    broker: str
    addr: str
    reason: str


class ShadowDifference(Event, frozen=True, kw_only=True, gc=False):
    """The server that this one shadows answered a read differently, twice; `where` are the places."""

    NAME = "shadow.difference"
    LEVEL = logging.WARNING
    code: int
    question: str
    where: tuple[str, ...]
    other: str


class ShadowSummary(Event, frozen=True, kw_only=True, gc=False):
    """What became of the reads of shadow mode since the start; every minute, and at the end."""

    NAME = "shadow.summary"
    other: str
    reads: int
    same: int
    different: int
    dropped: int
    failed: int
    last_failure: str | None = None
