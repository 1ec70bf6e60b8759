"""Headers of the requests about brokers: 103, 104, 205, 322, 327, 901, 904, 905."""

from dataclasses import dataclass, field

from cosmodrome.protocol.ext_fields import JAVA_INT, wire_name


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRequestHeader:
    """103. `enable_acting_master` is None for brokers too old to send it."""

    broker_name: str | None = None
    broker_addr: str | None = None
    cluster_name: str | None = None
    ha_server_addr: str | None = None
    broker_id: int | None = None
    heartbeat_timeout_millis: int | None = None
    enable_acting_master: bool | None = None
    compressed: bool | None = None
    body_crc32: int | None = field(default=None, metadata=JAVA_INT)
    zone_name: str | None = field(default=None, metadata=wire_name("__ZONE_NAME"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerResponseHeader:
    """103, answer: where a slave finds its master."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRequestHeader:
    """104."""

    broker_name: str | None = None
    broker_addr: str | None = None
    cluster_name: str | None = None
    broker_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequestHeader:
    """904; the other fields that brokers send are for controllers."""

    cluster_name: str | None = None
    broker_addr: str | None = None
    broker_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDataVersionRequestHeader:
    """322."""

    broker_name: str | None = None
    broker_addr: str | None = None
    cluster_name: str | None = None
    broker_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDataVersionResponseHeader:
    """322, answer."""

    changed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePermOfBrokerRequestHeader:
    """205 and 327."""

    broker_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WipeWritePermOfBrokerResponseHeader:
    """205, answer: how many topics were touched."""

    wipe_topic_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWritePermOfBrokerResponseHeader:
    """327, answer: how many topics were touched."""

    add_topic_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerMemberGroupRequestHeader:
    """901."""

    cluster_name: str | None = None
    broker_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyMinBrokerIdChangeRequestHeader:
    """905, sent by the NameServer, which never fills the broker name that Java's class also has."""

    min_broker_id: int | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None
