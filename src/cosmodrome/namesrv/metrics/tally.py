"""Counts of what happened, by the few words that a graph can tell apart.

Owns: which event is counted under which word.
Must not know: where events come from; who reads the counts.
"""

import time
from collections import Counter
from collections.abc import Callable
from operator import attrgetter
from typing import Final

from cosmodrome.namesrv.events import (
    BrokerChanged,
    BrokerIdentityMoved,
    BrokerRefused,
    BrokerRegistered,
    BrokerUnregistered,
    ConfigChanged,
    ConfigReloaded,
    ConfigReloadFailed,
    Event,
    KVDeleted,
    KVPut,
    MasterChanged,
    PermRestored,
    PermWiped,
    RequestDenied,
    StorageFailed,
    TopicsAdded,
    TopicsRemoved,
)

UNREGISTERED_AS: Final = {
    "unregistered": "requested",
    "heartbeat_expired": "heartbeat_expired",
    "connection_closed": "channel_closed",
    "connection_idle": "channel_idle",
}
SUPERSEDED: Final = "superseded"
"""How a broker left whose address came back under another name."""


class EventTally:
    """How often what happened, since the start. Topics are counted each, other things by event.

    `clock_s` gives Unix time.
    """

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        self._clock_s = clock_s
        self.registrations: Counter[str] = Counter(new=0, changed=0, rejected=0)
        """Of brokers. Those that said nothing new are no events."""
        self.unregistrations: Counter[str] = Counter(dict.fromkeys([*UNREGISTERED_AS.values(), SUPERSEDED], 0))
        """By reason."""
        self.route_changes: Counter[str] = Counter(
            broker_added=0, broker_removed=0, address_changed=0, master_changed=0, perm_changed=0, topic_added=0,
            topic_removed=0,
        )  # fmt: skip
        """By what changed."""
        self.kv_changes: Counter[str] = Counter(put=0, delete=0)
        self.reloads: Counter[str] = Counter(applied=0, refused=0)
        self.last_reload_s: float | None = None
        """When the configuration was changed last, Unix time; None when it never was."""
        self.denials: Counter[str] = Counter()
        """By cause, a word of the policy's."""
        self.storage_failures = 0
        """Requests that a disk of ours could not serve."""
        self.events: Counter[str] = Counter()
        """By their names, those that are held back among them."""

    def count(self, event: Event) -> None:
        """Take note of an event."""
        self.events[event.NAME] += 1
        for table, word in _ONE_OF.get(type(event), ()):
            table(self)[word] += 1
        match event:
            case BrokerUnregistered():
                self.unregistrations[UNREGISTERED_AS.get(event.reason, SUPERSEDED)] += 1
            case TopicsAdded():
                self.route_changes["topic_added"] += event.count
            case TopicsRemoved():
                self.route_changes["topic_removed"] += event.count
            case BrokerIdentityMoved() if event.addr != event.old_addr:
                self.route_changes["address_changed"] += 1
            case ConfigChanged() | ConfigReloaded():
                self.last_reload_s = self._clock_s()
            case RequestDenied():
                self.denials[event.cause] += 1
            case StorageFailed():
                self.storage_failures += 1
            case _:
                return


_Table = Callable[[EventTally], Counter[str]]
_registrations: Final[_Table] = attrgetter("registrations")
_routes: Final[_Table] = attrgetter("route_changes")
_kv: Final[_Table] = attrgetter("kv_changes")
_reloads: Final[_Table] = attrgetter("reloads")
_ONE_OF: Final[dict[type[Event], tuple[tuple[_Table, str], ...]]] = {
    BrokerRegistered: ((_registrations, "new"), (_routes, "broker_added")),
    BrokerChanged: ((_registrations, "changed"),),
    BrokerRefused: ((_registrations, "rejected"),),
    BrokerUnregistered: ((_routes, "broker_removed"),),
    MasterChanged: ((_routes, "master_changed"),),
    PermWiped: ((_routes, "perm_changed"),),
    PermRestored: ((_routes, "perm_changed"),),
    KVPut: ((_kv, "put"),),
    KVDeleted: ((_kv, "delete"),),
    ConfigChanged: ((_reloads, "applied"),),
    ConfigReloaded: ((_reloads, "applied"),),
    ConfigReloadFailed: ((_reloads, "refused"),),
}
"""What an event counts as one of."""
