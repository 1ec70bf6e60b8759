"""What happened, as typed values.

Owns: the names, severities and fields of events; logs, and whoever else listens, get the same ones.
Must not know: who listens; how an event is printed.
"""

import logging
from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec

# What is looked at, and remembered, of one text in an event that is held back.
LONGEST_TEXT = 1000
# More names than this in one log field tell a person nothing; the count does.
NAMES_SHOWN = 5


def some_of(names: tuple[str, ...]) -> str:
    """Give the first few names, and how many more there are."""
    shown = ",".join(names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown},+{more}" if more > 0 else shown


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something an operator may want to know. Subclasses add fields; None fields are left out when printed.

    What peers can make happen as often as they like names in SUBJECT the fields that make two of its events the same:
    of these one a minute is published, with how many it stands for: `repeated` more about the same, and `others` of the
    same cause about subjects that were too many to be told apart. CAUSE, or a field `cause`, says under which word they
    are counted.
    """

    NAME: ClassVar[str] = ""
    LEVEL: ClassVar[int] = logging.INFO
    SUBJECT: ClassVar[tuple[str, ...]] = ()
    CAUSE: ClassVar[str] = ""

    repeated: int | None = None
    others: int | None = None

    def subject(self) -> tuple[str, ...] | None:
        """Give what makes two of these the same, of a peer its host; None for those that are never held back."""
        return self.fields_of(*self.SUBJECT) if self.SUBJECT else None

    def fields_of(self, *names: str) -> tuple[str, ...]:
        """Give fields as a subject has them."""
        texts = ((name, str(getattr(self, name))[:LONGEST_TEXT]) for name in names)
        return tuple(_host_of(text) if name == "peer" else text for name, text in texts)

    def cause_word(self) -> str:
        """Give the word under which it is counted."""
        return self.CAUSE or str(getattr(self, "cause", "unnamed"))

    def facts(self) -> dict[str, object]:
        """Give the fields in printing order, whole, those that are None left out."""
        values = msgspec.structs.asdict(self)
        values |= {name: values.pop(name) for name in ("repeated", "others")}
        return {name: value for name, value in values.items() if value is not None}

    def fields(self) -> Mapping[str, object]:
        """Give the fields for a line: of many names the first few."""
        return {name: some_of(value) if isinstance(value, tuple) else value for name, value in self.facts().items()}


def _host_of(address: str) -> str:
    """Give an address without its port: every connection of a peer has another one."""
    return address.rpartition(":")[0] or address


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


class HttpListening(Event, frozen=True, kw_only=True, gc=False):
    """Probes, metrics and the JSON API are at this address. `address` is as bound."""

    NAME = "http.listening"
    address: str


class HttpUnavailable(Event, frozen=True, kw_only=True, gc=False):
    """There is no HTTP: the default address, which nobody asked for, cannot be had. Everything else works."""

    NAME = "http.unavailable"
    LEVEL = logging.WARNING
    address: str
    reason: str


class ServerDraining(Event, frozen=True, kw_only=True, gc=False):
    """No more connections; requests in flight are being finished."""

    NAME = "server.draining"
    connections: int


class ServerStopped(Event, frozen=True, kw_only=True, gc=False):
    """The listener is closed and everything acknowledged is on disk."""

    NAME = "server.stopped"
    reason: str


class UncleanEnd(Event, frozen=True, kw_only=True, gc=False):
    """The previous run left its pid file behind: it was killed, or crashed, or the machine did."""

    NAME = "server.unclean_end"
    LEVEL = logging.WARNING
    previous_pid: str
    pid_file: str


class ServerPaused(Event, frozen=True, kw_only=True, gc=False):
    """The process did not run for a while: suspended, starved, or busy with one piece of work.

    Nobody's silence in that time counts, and brokers that closed their connection are kept for `grace_s` more.
    """

    NAME = "server.paused"
    LEVEL = logging.WARNING
    seconds: float
    grace_s: float


class ServerFailed(Event, frozen=True, kw_only=True, gc=False):
    """The process ends because of an error, which is told on standard error too."""

    NAME = "server.failed"
    LEVEL = logging.ERROR
    reason: str
    exit_code: int


class LogToFile(Event, frozen=True, kw_only=True, gc=False):
    """Log lines go to a file, which with its former ones takes up no more than so many bytes."""

    NAME = "log.to_file"
    path: str
    at_most_bytes: int


class LogLinesDropped(Event, frozen=True, kw_only=True, gc=False):
    """Log lines could not be written, or not as fast as they came."""

    NAME = "log.dropped"
    LEVEL = logging.WARNING
    lines: int
    reason: str


class LogDiverted(Event, frozen=True, kw_only=True, gc=False):
    """The log file cannot be written; until it can, lines go to standard error."""

    NAME = "log.diverted"
    LEVEL = logging.WARNING
    path: str
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
    SUBJECT = ("cluster", "broker", "addr", "cause")
    cause: str
    reason: str


class BrokerExpiring(BrokerEvent, frozen=True, kw_only=True, gc=False):
    """A broker has been silent for three quarters of the time after which it is unregistered; once for each silence."""

    NAME = "broker.expiring"
    LEVEL = logging.WARNING
    last_heartbeat_s: float
    expires_in_s: float


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
    SUBJECT = ("broker", "cluster", "other_cluster")
    CAUSE = "cluster_conflict"
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

    def facts(self) -> dict[str, object]:
        """Give the fields, those that are None among them."""
        return {
            "cluster": self.cluster,
            "broker": self.broker,
            "old_addr": self.old_addr,
            "new_addr": self.new_addr,
        }

    def fields(self) -> Mapping[str, object]:
        """Give the fields for a line, with `none` written out."""
        return {name: "none" if value is None else value for name, value in self.facts().items()}


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
    """Write permission was taken from all topics of a broker, or the giving of it was undone (`reason`)."""

    NAME = "perm.wiped"
    broker: str
    topics: int
    peer: str | None = None
    reason: str | None = None


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


class ConfigReloaded(Event, frozen=True, kw_only=True, gc=False):
    """The configuration was read again; `restart` are keys that have another value there than at the start.

    `overridden` are keys that have another value in the file than in the environment or a flag, which win.
    """

    NAME = "config.reloaded"
    applied: tuple[str, ...]
    restart: tuple[str, ...]
    overridden: tuple[str, ...] | None = None


class ConfigReloadFailed(Event, frozen=True, kw_only=True, gc=False):
    """The configuration was read again and cannot be used; nothing of it was. `refused` are the keys at fault, if any."""

    NAME = "config.reload_failed"
    LEVEL = logging.ERROR
    refused: tuple[str, ...] | None
    reason: str


class RequestDenied(Event, frozen=True, kw_only=True, gc=False):
    """A request was refused by policy. `proxy` is the other end of the socket when a PROXY header named the peer."""

    NAME = "request.denied"
    LEVEL = logging.WARNING
    SUBJECT = ("code", "cause", "peer")
    code: int
    peer: str | None
    reason: str
    cause: str = "policy"
    proxy: str | None = None
    claimed_access_key: str | None = None


class BrokerIdentityMoved(BrokerEvent, frozen=True, kw_only=True, gc=False):
    """A cluster, name and id that lived under `old_addr` was registered by another address, or from another host.

    `old_broker` is the name under which the address lived, when another host gave it another name.

    A broker that was replaced does this, and one that somebody imitates.
    """

    NAME = "broker.identity_moved"
    LEVEL = logging.WARNING
    SUBJECT = ("cluster", "broker", "id")
    CAUSE = "identity_moved"
    old_addr: str
    peer: str | None
    old_peer: str | None
    old_broker: str | None = None


class ServerExposed(Event, frozen=True, kw_only=True, gc=False):
    """The server listens where others can reach it, and some doors are open to whoever does."""

    NAME = "server.exposed"
    LEVEL = logging.WARNING
    address: str
    open: tuple[str, ...]
    remedy: str


class AccountsReloaded(Event, frozen=True, kw_only=True, gc=False):
    """The file of accounts was changed, and is in force."""

    NAME = "accounts.reloaded"
    accounts: int


class AccountsReloadFailed(Event, frozen=True, kw_only=True, gc=False):
    """The file of accounts was changed and cannot be used; the accounts of before stay in force."""

    NAME = "accounts.reload_failed"
    LEVEL = logging.ERROR
    reason: str
    accounts_kept: int


class AuditFailed(Event, frozen=True, kw_only=True, gc=False):
    """The audit log cannot be written; changes by request are refused until it can."""

    NAME = "audit.failed"
    LEVEL = logging.ERROR
    SUBJECT = ("reason",)
    CAUSE = "storage"
    reason: str


class BrakeEngaged(Event, frozen=True, kw_only=True, gc=False):
    """Too much work of a kind waits: more of it is answered SYSTEM_BUSY until some is done."""

    NAME = "brake.engaged"
    LEVEL = logging.WARNING
    SUBJECT = ("work",)
    CAUSE = "overload"
    work: str
    pending: int
    pending_bytes: int


class BrakeReleased(Event, frozen=True, kw_only=True, gc=False):
    """Little enough work of a kind waits again. `refused` were answered SYSTEM_BUSY meanwhile."""

    NAME = "brake.released"
    SUBJECT = ("work",)
    CAUSE = "overload"
    work: str
    refused: int
    lasted_s: float


class RequestFailed(Event, frozen=True, kw_only=True, gc=False):
    """A request could not be served: it was wrong, or of an unknown code. `cause` is one word that never changes."""

    NAME = "request.failed"
    LEVEL = logging.WARNING
    SUBJECT: ClassVar[tuple[str, ...]] = ("code", "cause", "peer")
    code: int
    peer: str
    opaque: int
    cause: str
    reason: str


class StorageFailed(RequestFailed, frozen=True, kw_only=True, gc=False):
    """A request could not be served because of this server's disk."""

    NAME = "storage.failed"
    LEVEL = logging.ERROR
    SUBJECT = ("reason",)


class RequestCrashed(RequestFailed, frozen=True, kw_only=True, gc=False):
    """A request met a fault of ours; the dispatcher logs its traceback, so this is for counts and those who debug."""

    NAME = "request.crashed"
    LEVEL = logging.DEBUG


class RouteMissed(Event, frozen=True, kw_only=True, gc=False):
    """A topic was asked for that has no route; at most once a minute per topic."""

    NAME = "route.missed"
    SUBJECT = ("topic",)
    CAUSE = "unknown_topic"
    topic: str
    peer: str | None


class UnknownHeartbeat(Event, frozen=True, kw_only=True, gc=False):
    """A heartbeat came for a broker that is not registered; it was answered, and did nothing."""

    NAME = "heartbeat.unknown"
    LEVEL = logging.WARNING
    SUBJECT = ("cluster", "addr")
    CAUSE = "unknown_broker"
    cluster: str
    addr: str
    peer: str | None


class ConnectionRefused(Event, frozen=True, kw_only=True, gc=False):
    """A connection was closed because its peer does not speak the protocol, or may not speak it so, or not now.

    `cause` is one word that never changes.
    """

    NAME = "connection.refused"
    LEVEL = logging.WARNING
    SUBJECT = ("cause", "peer")
    peer: str
    cause: str
    reason: str

    def subject(self) -> tuple[str, ...] | None:
        """As Event; of refused greetings the reason names the protocol, which is what an operator looks for."""
        return self.fields_of("cause", "peer", *(("reason",) if self.cause == "greeting_refused" else ()))


class ConnectionsExhausted(Event, frozen=True, kw_only=True, gc=False):
    """Nearly all descriptors that the system allows are in use; it refuses further connections."""

    NAME = "connections.exhausted"
    LEVEL = logging.WARNING
    SUBJECT = ("open_descriptors_limit",)
    CAUSE = "descriptors"
    open_descriptors_limit: int


class NoticeFailed(Event, frozen=True, kw_only=True, gc=False):
    """A notice of a changed smallest broker id did not reach a broker."""

    NAME = "notice.failed"
    LEVEL = logging.WARNING
    SUBJECT = ("addr",)
    CAUSE = "unreachable"
    broker: str
    addr: str
    reason: str


class ShadowDifference(Event, frozen=True, kw_only=True, gc=False):
    """The server that this one shadows answered a read differently, twice; `where` are the places."""

    NAME = "shadow.difference"
    LEVEL = logging.WARNING
    SUBJECT = ("code", "question")
    CAUSE = "difference"
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
