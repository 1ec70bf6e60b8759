"""Broker address → BrokerLiveInfo (Java: brokerLiveTable, filterServerTable).

Owns: who is alive until when, over which connection, with which table version; filter servers, which
    live and die with the address.
Must not know: broker groups and topics.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from cosmodrome.namesrv.routing.effects import ConnectionId
from cosmodrome.namesrv.routing.room import texts_bytes
from cosmodrome.protocol.bodies.data_version import DataVersion

DEFAULT_HEARTBEAT_TIMEOUT_MS = 120_000
_WORRYING = 3 / 4
"""Of the time after which a silent broker is unregistered: brokers register every thirty seconds, some every sixty."""

IndexT = TypeVar("IndexT")


class BrokerKey(NamedTuple):
    """What identifies a live broker. Addresses are text, compared as such, never resolved."""

    cluster: str
    addr: str


@dataclass(slots=True, kw_only=True)
class BrokerLiveInfo:
    """One live broker. Times are monotonic milliseconds.

    `digest` and `revision` say what was registered and in which state of the group that left the tables:
    a registration with the same digest, while the revision stands, is a heartbeat. `peer` sent the last one that was
    read. `worried_about_ms` is the update after which a silence was told of.
    """

    key: BrokerKey
    broker_name: str
    connection: ConnectionId
    last_update_ms: int
    heartbeat_timeout_ms: int
    data_version: DataVersion
    ha_server_addr: str
    digest: bytes | None = None
    revision: int = 0
    peer: str | None = None
    worried_about_ms: int = -1

    def is_worrying(self, now_ms: int) -> bool:
        """Whether this broker will soon have been silent for too long; True once for each silence."""
        silence_ms = now_ms - self.last_update_ms
        if self.worried_about_ms == self.last_update_ms or silence_ms < self.heartbeat_timeout_ms * _WORRYING:
            return False
        self.worried_about_ms = self.last_update_ms
        return not self.is_expired(now_ms)

    def is_expired(self, now_ms: int) -> bool:
        """Whether this broker has been silent for longer than it said it would be."""
        return self.last_update_ms + self.heartbeat_timeout_ms < now_ms


class BrokerLive:
    """All live brokers, and which of them came over one connection."""

    def __init__(self) -> None:
        self._infos: dict[BrokerKey, BrokerLiveInfo] = {}
        self._keys_by_connection: dict[ConnectionId, set[BrokerKey]] = {}
        self._keys_by_broker: dict[str, set[BrokerKey]] = {}
        self._filter_servers: dict[BrokerKey, tuple[str, ...]] = {}
        self.dropped_count = 0
        """How many filter servers were dropped so far."""
        self.held_bytes = 0
        """What the filter servers are taken to cost, as `room` counts it."""

    def __len__(self) -> int:
        return len(self._infos)

    def __iter__(self) -> Iterator[BrokerLiveInfo]:
        return iter(self._infos.values())

    def get(self, key: BrokerKey) -> BrokerLiveInfo | None:
        """Give a live broker, or None."""
        return self._infos.get(key)

    def put(self, info: BrokerLiveInfo) -> None:
        """Store a live broker in place of what was known of its address."""
        previous = self._infos.get(info.key)
        if previous is not None:
            self._unlink(previous)
        self._infos[info.key] = info
        self._keys_by_connection.setdefault(info.connection, set()).add(info.key)
        self._keys_by_broker.setdefault(info.broker_name, set()).add(info.key)

    def remove(self, key: BrokerKey) -> BrokerLiveInfo | None:
        """Forget a broker and its filter servers, and give what was known."""
        self.put_filter_servers(key, ())
        info = self._infos.pop(key, None)
        if info is not None:
            self._unlink(info)
        return info

    def renew(self, info: BrokerLiveInfo, connection: ConnectionId, now_ms: int) -> None:
        """Count a registration that says nothing new as a heartbeat, from its present connection."""
        info.last_update_ms = now_ms
        if info.connection != connection:
            _discard(self._keys_by_connection, info.connection, info.key)
            info.connection = connection
            self._keys_by_connection.setdefault(connection, set()).add(info.key)

    def of_connection(self, connection: ConnectionId) -> list[BrokerLiveInfo]:
        """Give the brokers whose latest registration came over this connection."""
        return [self._infos[key] for key in sorted(self._keys_by_connection.get(connection, ()))]

    def has_connection(self, connection: ConnectionId) -> bool:
        """Whether a live broker came over this connection."""
        return connection in self._keys_by_connection

    def of_address(self, broker_name: str, addr: str) -> list[BrokerLiveInfo]:
        """Give the live entries of one address under one broker name, in whatever cluster."""
        return [self._infos[key] for key in sorted(self._keys_by_broker.get(broker_name, ())) if key.addr == addr]

    def expired(self, now_ms: int) -> list[BrokerLiveInfo]:
        """Give the brokers that have been silent for too long."""
        return [info for info in self._infos.values() if info.is_expired(now_ms)]

    def worrying(self, now_ms: int) -> list[BrokerLiveInfo]:
        """Give the brokers that will soon have been silent for too long, each once for each silence."""
        return [info for info in self._infos.values() if info.is_worrying(now_ms)]

    def filter_servers(self, key: BrokerKey) -> tuple[str, ...] | None:
        """Give the filter servers of a broker, or None."""
        return self._filter_servers.get(key)

    def added_filter_bytes(self, key: BrokerKey, servers: tuple[str, ...] | None) -> int:
        """Give what it would cost to store filter servers, beyond what the present ones cost."""
        return 0 if servers is None else texts_bytes(servers) - texts_bytes(self._filter_servers.get(key, ()))

    def put_filter_servers(self, key: BrokerKey, servers: tuple[str, ...] | None) -> bool:
        """Store filter servers (None leaves them, empty removes them); tell whether that changed anything."""
        if servers is None:
            return False
        previous = self._filter_servers.pop(key, ())
        self.dropped_count += len(previous)
        self.held_bytes += texts_bytes(servers) - texts_bytes(previous)
        if servers:
            self._filter_servers[key] = servers
        return servers != previous

    def _unlink(self, info: BrokerLiveInfo) -> None:
        _discard(self._keys_by_connection, info.connection, info.key)
        _discard(self._keys_by_broker, info.broker_name, info.key)


def _discard(index: dict[IndexT, set[BrokerKey]], name: IndexT, key: BrokerKey) -> None:
    keys = index[name]
    keys.discard(key)
    if not keys:
        del index[name]
