"""The configuration keys that bound what peers can cost.

Owns: each limit, once: its name, default, range, and when a change takes effect. docs/reliability.md says why each
    default is what it is.
Must not know: who keeps to them (transport/, processors/).
"""

from dataclasses import dataclass
from typing import Final

from cosmodrome.namesrv.config_java import JavaConfig
from cosmodrome.namesrv.config_keys import Effect, Family, Key, Kind, option
from cosmodrome.namesrv.kv_limits import KVLimits
from cosmodrome.protocol.frame import DEFAULT_MAX_HEADER_BYTES
from cosmodrome.protocol.limits import (
    DEFAULT_MAX_FILTER_SERVERS,
    DEFAULT_MAX_INFLATED_BYTES,
    DEFAULT_MAX_NAME_LENGTH,
    DEFAULT_MAX_TOPICS,
    BodyLimits,
)

_MIB: Final = 1024 * 1024
_INT: Final = Kind.INT
_OURS: Final = Family.COSMODROME
_RESTART: Final = Effect.RESTART


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig(JavaConfig):
    """Ceilings and deadlines, all per server unless they say otherwise; 0 is no limit where a key allows it."""

    greeting_timeout_seconds: int = option(
        10,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "close a connection whose greeting or TLS handshake takes longer; it is two or three round trips",
            unit="seconds",
            minimum=1,
            maximum=3600,
        ),
    )
    frame_timeout_seconds: int = option(
        30,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "close a connection whose frame is not complete after so long, unless it comes at minBytesPerSecond, which "
            "gives it as long again; 0: never. A broker gives up its own registration after 24",
            unit="seconds",
            maximum=3600,
        ),
    )
    write_timeout_seconds: int = option(
        30,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "reset a peer that stays above writeBufferHighWaterMark for so long, unless it takes minBytesPerSecond, "
            "which gives it as long again; 0: never. No client waits longer for an answer",
            unit="seconds",
            maximum=3600,
        ),
    )
    min_bytes_per_second: int = option(
        1024,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "the slowest pace of a peer that is not too slow: 8 kbit/s, below any link over which a broker could register",
            unit="bytes per second",
            minimum=1,
        ),
    )
    max_connections: int = option(
        0,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "connections beyond which the silent ones give way and others are refused; 0: as many as the limit of open "
            "files allows, since nothing else is known about the size of an estate",
            unit="connections",
        ),
    )
    max_connections_per_address: int = option(
        0,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "refuse more connections with one address at the other end; 0: any number, because all clients behind a "
            "NAT or a proxy have one address",
            unit="connections",
        ),
    )
    max_unsent_bytes: int = option(
        256 * _MIB,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "reset peers that do not take their answers when all of them are owed more; 0: never. Sixteen answers of "
            "the largest frame",
            unit="bytes",
        ),
    )
    audit_file_bytes: int = option(
        16 * 1024 * 1024,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "auditLog begins a new file before this size",
            unit="bytes",
            minimum=64 * 1024,
            maximum=1024 * 1024 * 1024,
        ),
    )
    audit_files_kept: int = option(
        10,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "how many full files of auditLog stay beside it",
            unit="files",
            minimum=1,
            maximum=1000,
        ),
    )
    max_header_bytes: int = option(
        DEFAULT_MAX_HEADER_BYTES,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "close a connection that sends a frame with a longer header",
            unit="bytes",
            minimum=4096,
            maximum=16 * _MIB - 1,
        ),
    )
    max_inflated_register_bytes: int = option(
        DEFAULT_MAX_INFLATED_BYTES,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "refuse a compressed registration that inflates to more",
            unit="bytes",
            minimum=64 * 1024,
        ),
    )
    max_topics_per_registration: int = option(
        DEFAULT_MAX_TOPICS,
        Key(_INT, _OURS, _RESTART, "refuse a registration of more topics", unit="topics", minimum=1),
    )
    max_filter_servers: int = option(
        DEFAULT_MAX_FILTER_SERVERS,
        Key(_INT, _OURS, _RESTART, "refuse a registration with more filter servers", unit="addresses", minimum=1),
    )
    max_name_length: int = option(
        DEFAULT_MAX_NAME_LENGTH,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "refuse a longer name of a topic, broker, cluster, address, KV namespace or key",
            unit="characters",
            minimum=255,
        ),
    )
    max_brokers: int = option(
        10_000,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "refuse a registration by which more broker addresses would be alive; thirty times the largest estate that "
            "is known",
            unit="broker addresses",
            minimum=1,
        ),
    )
    max_table_bytes: int = option(
        1024 * _MIB,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "refuse to add topics, static-topic mappings or filter servers when the tables would come to more, by an "
            "estimate: 128 bytes for each topic of a broker, 160 and the name for each topic",
            unit="bytes",
            minimum=_MIB,
        ),
    )
    max_kv_value_bytes: int = option(
        256 * 1024,
        Key(_INT, _OURS, _RESTART, "refuse a longer KV value", unit="bytes of UTF-8", minimum=1024),
    )
    max_kv_entries: int = option(
        100_000,
        Key(_INT, _OURS, _RESTART, "refuse to add a KV entry beyond so many", unit="entries", minimum=1),
    )
    max_kv_bytes: int = option(
        8 * _MIB,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "refuse a change by which all KV namespaces, keys and values come to more",
            unit="bytes of UTF-8",
            minimum=1024,
        ),
    )
    max_pending_registrations: int = option(
        1024,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "answer SYSTEM_BUSY to a long registration that changes something when so many wait; twice as many of "
            "brokers that are not known yet; 0: never. Three times the largest cluster that is known",
            unit="registrations",
        ),
    )
    max_pending_registration_bytes: int = option(
        512 * _MIB,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "as maxPendingRegistrations, by the size of the waiting bodies; 0: never. Three hundred brokers with ten "
            "thousand topics each send as much at once",
            unit="bytes",
        ),
    )
    max_pending_listings: int = option(
        128,
        Key(
            _INT,
            _OURS,
            _RESTART,
            "answer SYSTEM_BUSY to a listing of a thousand topics or more when so many wait, and while registrations "
            "are refused; 0: never. People ask for listings, one at a time",
            unit="listings",
        ),
    )

    @property
    def body_limits(self) -> BodyLimits:
        """What a body may hold."""
        return BodyLimits(
            max_inflated_bytes=self.max_inflated_register_bytes,
            max_topics=self.max_topics_per_registration,
            max_filter_servers=self.max_filter_servers,
            max_name_length=self.max_name_length,
        )

    @property
    def kv_limits(self) -> KVLimits:
        """What the KV config may hold."""
        return KVLimits(value_bytes=self.max_kv_value_bytes, entries=self.max_kv_entries, total_bytes=self.max_kv_bytes)
