"""The configuration of a broker.

Owns: every setting with its Java key, default and limits; reading them from texts.
Must not know: where a text came from; what a part does with a setting.
"""

import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, Self

from cosmodrome.broker.security_settings import SECRETS, SECURITY_KEYS, SecuritySettings
from cosmodrome.errors import ConfigError
from cosmodrome.protocol.messages.checks import check_topic
from cosmodrome.store.retention import RetentionSettings

_INT_MAX: Final = 2**31 - 1
_UNITS_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DELAY: Final = re.compile(r"([0-9]{1,9})([smhd])")
_HOUR: Final = re.compile(r"[0-9]{1,2}")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")
DEFAULT_LEVELS: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
ASYNC_FLUSH: Final = "ASYNC_FLUSH"
SYNC_FLUSH: Final = "SYNC_FLUSH"
SYNC_MASTER: Final = "SYNC_MASTER"
TIMER_PRECISIONS_MS: Final = (100, 200, 500, 1000)
"""Those that Apache's brokers obey."""
NO_REPLICATION: Final = -1
"""As `haListenPort`: no port for slaves."""
_NAMES_SHOWN: Final = 10
_NAME_SHOWN: Final = 60
MASK: Final = "******"
"""Shown instead of a secret."""
OFF: Final = "off"
"""As `http` no listener, as `auditLog` no file."""
_PORT: Final = re.compile(r"[0-9]{1,5}")
_HIGHEST_PORT: Final = 65_535
COMPATIBLE: Final = "compatible"
OPEN: Final = "open"
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _setting(
    default: Any, meaning: str, *, minimum: int = 0, maximum: int = _INT_MAX, choices: tuple[str, ...] = ()
) -> Any:
    metadata = {"minimum": minimum, "maximum": maximum, "choices": choices, "meaning": meaning}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig(SecuritySettings):
    """All settings of one broker; Java's, but for `bind_address`, `http`, `audit_log` and `admin_...`. `of_java` takes them under their Java names.

    `store_path_root_dir` empty means a temporary folder that goes with the broker; `broker_ip1` empty the address
    that it listens on, or that a NameServer sees; `broker_name` empty the host's name. `ha_listen_port` 0 is the port
    after `listen_port` (any, when that is 0), `NO_REPLICATION` none; `ha_allow` empty is everywhere. `in_sync_replicas`
    0 is 2 for a SYNC_MASTER, else 1.

    Raises:
        ConfigError: A value cannot be used; it names the keys.
    """

    broker_cluster_name: str = _setting("DefaultCluster", "cluster that it belongs to")
    broker_name: str = _setting("", "name shared by a master and its slaves; empty: the host's name")
    broker_id: int = _setting(0, "0 is a master, and slaves are not offered here", maximum=0)
    broker_role: str = _setting(
        "ASYNC_MASTER", "whether sends wait for slaves (SYNC_MASTER) or not", choices=("ASYNC_MASTER", SYNC_MASTER)
    )
    namesrv_addr: str = _setting("", "NameServers to register with, host:port with ; between")
    bind_address: str = _setting("0.0.0.0", "address to listen on")  # noqa: S104 -- Java's default: clients are on other hosts
    broker_ip1: str = _setting(
        "", "address that clients are told; empty: where it listens, else the one from which a NameServer is reached"
    )
    broker_ip2: str = _setting("", "address that slaves are told; empty: brokerIP1")
    listen_port: int = _setting(10911, "port for clients; slaves also need the one two below", maximum=65_535)
    store_path_root_dir: str = _setting("", "folder of messages and tables")
    mapped_file_size_commit_log: int = _setting(
        1_073_741_824, "bytes of one file of the commit log; that of a store never changes", minimum=1024
    )
    mapped_file_size_consume_queue: int = _setting(
        6_000_000, "bytes of one file of a queue, 20 for each message; that of a store never changes", minimum=20
    )
    max_hash_slot_num: int = _setting(5_000_000, "slots of one index file; that of a store never changes", minimum=1)
    max_index_num: int = _setting(20_000_000, "entries of one index file; that of a store never changes", minimum=2)
    message_index_enable: bool = _setting(True, "messages can be found by key")
    max_message_size: int = _setting(4_194_304, "largest body of a message, in bytes", minimum=1)
    flush_disk_type: str = _setting(
        ASYNC_FLUSH,
        "whether a send is answered after the write (ASYNC_FLUSH) or after the disk has it (SYNC_FLUSH)",
        choices=(ASYNC_FLUSH, SYNC_FLUSH),
    )
    sync_flush_timeout: int = _setting(5000, "milliseconds that a send waits for the disk")
    flush_consumer_offset_interval: int = _setting(
        5000, "milliseconds between two saves of consumer offsets", minimum=10
    )
    flush_delay_offset_interval: int = _setting(10_000, "milliseconds between two saves of what is delayed", minimum=10)
    message_delay_level: str = _setting(DEFAULT_LEVELS, "times of the delay levels, from level 1 on")
    default_topic_queue_nums: int = _setting(8, "most queues of a topic that a send makes", minimum=1, maximum=65_536)
    auto_create_topic_enable: bool = _setting(True, "a send to a topic that is not there makes it")
    auto_create_subscription_group: bool = _setting(True, "a consumer of a group that is not there makes it")
    broker_permission: int = _setting(6, "2 for writing plus 4 for reading, over those of each topic", maximum=7)
    register_name_server_period: int = _setting(30_000, "milliseconds between two registrations")
    register_broker_timeout_mills: int = _setting(24_000, "milliseconds that one registration may take", minimum=1)
    long_polling_enable: bool = _setting(True, "a pull without messages waits for some")
    short_polling_time_mills: int = _setting(
        1000, "milliseconds that it waits when longPollingEnable is false", minimum=1
    )
    notify_consumer_ids_changed_enable: bool = _setting(True, "members of a group are told when others come and go")
    max_transfer_count_on_message_in_memory: int = _setting(32, "most messages in an answer to a pull", minimum=1)
    max_transfer_bytes_on_message_in_memory: int = _setting(
        262_144, "most bytes of messages in an answer to a pull", minimum=1
    )
    default_query_max_num: int = _setting(32, "most messages in an answer to a search by key", minimum=1)
    enable_property_filter: bool = _setting(False, "consumers may subscribe by SQL92")
    default_message_request_mode: str = _setting(
        "PULL", "how groups read of which request 401 said nothing", choices=("PULL", "POP")
    )
    default_pop_share_queue_num: int = _setting(-1, "members that share a queue when popping; -1: all", minimum=-1)
    pop_polling_size: int = _setting(1024, "pops that may wait for one queue of a group")
    max_pop_polling_size: int = _setting(100_000, "pops that may wait in all")
    pop_from_retry_probability: int = _setting(
        20, "in a hundred pops, those that get what comes again first", maximum=100
    )
    file_reserved_time: int = _setting(72, "hours that messages are kept")
    delete_when: str = _setting("04", "hours of the day at which old files are deleted, with ; between")
    disk_max_used_space_ratio: int = _setting(
        75, "percent of the disk from which old files are deleted at any hour", minimum=1, maximum=100
    )
    disk_space_clean_forcibly_ratio: int = _setting(
        85, "percent of the disk from which files are deleted before their time", minimum=1, maximum=100
    )
    disk_space_warning_level_ratio: int = _setting(
        90, "percent of the disk from which sends are refused", minimum=1, maximum=100
    )
    timer_wheel_enable: bool = _setting(True, "messages with a time of delivery are taken")
    timer_max_delay_sec: int = _setting(259_200, "seconds that a message may be delayed by its time of delivery")
    timer_precision_ms: int = _setting(1000, "milliseconds of one slot of the wheel; that of a store never changes")
    mapped_file_size_timer_log: int = _setting(
        104_857_600, "bytes of one file of the timer log; that of a store never changes", minimum=1024
    )
    recall_message_enable: bool = _setting(False, "a timed message can be taken back")
    reject_transaction_message: bool = _setting(False, "half messages are refused")
    transaction_time_out: int = _setting(6000, "milliseconds from a half message to the first question about it")
    transaction_check_max: int = _setting(15, "questions about a half message until it is given up")
    transaction_check_interval: int = _setting(30_000, "milliseconds between two questions", minimum=10)
    start_accept_send_request_time_stamp: int = _setting(
        0, "sends are refused until then, in milliseconds since 1970", maximum=2**63 - 1
    )
    store_reply_message_enable: bool = _setting(True, "replies are stored too")
    admin_policy: str = _setting(
        COMPATIBLE, "whether changes over the wire come from adminAllow only", choices=(COMPATIBLE, OPEN)
    )
    admin_allow: str = _setting("127.0.0.0/8;::1/128", "networks from which changes may come, with ; between")
    ha_listen_port: int = _setting(
        0, "port for slaves; 0: the one after listenPort, -1: none", minimum=NO_REPLICATION, maximum=65_535
    )
    ha_allow: str = _setting("", "networks from which slaves may come, with ; between; empty: everywhere")
    ha_send_heartbeat_interval: int = _setting(
        5000, "milliseconds without a message after which a slave hears of the master", minimum=10
    )
    ha_housekeeping_interval: int = _setting(
        20_000, "milliseconds without a word of a slave after which it is closed", minimum=10
    )
    ha_transfer_batch_size: int = _setting(32_768, "most bytes for a slave at once", minimum=1, maximum=1_048_576)
    ha_max_gap_not_in_sync: int = _setting(268_435_456, "bytes that a slave may lack and still count")
    ha_slave_fallbehind_max: int = _setting(268_435_456, "as haMaxGapNotInSync, the name of 4.x; the smaller counts")
    in_sync_replicas: int = _setting(
        0, "brokers that must have a message, this one among them; 0: 2 for a SYNC_MASTER, else 1"
    )
    slave_timeout: int = _setting(3000, "milliseconds that a send waits for slaves")
    slave_read_enable: bool = _setting(False, "readers of old messages are sent to a slave")
    access_message_in_memory_max_ratio: int = _setting(
        40, "percent of the memory; what is further back is old", maximum=100
    )
    region_id: str = _setting("DefaultRegion", "region that traces of messages name")
    trace_on: bool = _setting(True, "clients may write traces of messages")
    config_watch_seconds: int = _setting(
        5,
        "seconds between two looks whether this file was changed; it is read again once it rests; 0: only on SIGHUP",
        maximum=3600,
    )
    http: str = _setting("", "host:port of probes and metrics; empty or off: none")
    audit_log: str = _setting(
        "", "file that changes are written to before they are made; empty: audit.jsonl in the store, off: none"
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be, and fill in the name."""
        if not self.broker_name:
            object.__setattr__(self, "broker_name", socket.gethostname() or "DEFAULT_BROKER")
        if self.in_sync_replicas == 0:
            object.__setattr__(self, "in_sync_replicas", 2 if self.broker_role == SYNC_MASTER else 1)
        for each in fields(self):
            reason = _fault(each, getattr(self, each.name))
            if reason:
                key = java_name(each.name)
                raise ConfigError(f"{key} {reason}.", keys=(key,))
        for key, name in (("brokerName", self.broker_name), ("brokerClusterName", self.broker_cluster_name)):
            try:
                check_topic(name)  # both are topics too
            except ValueError as error:
                raise ConfigError(f"{key} {name!r} cannot be used: {error}", keys=(key,)) from error
        if self.timer_precision_ms not in TIMER_PRECISIONS_MS:
            raise ConfigError(
                f"timerPrecisionMs {self.timer_precision_ms} is none of {', '.join(map(str, TIMER_PRECISIONS_MS))}.",
                keys=("timerPrecisionMs",),
            )
        if self.is_waiting_for_slaves and self.ha_listen_port == NO_REPLICATION:
            raise ConfigError(
                f"a {SYNC_MASTER} with inSyncReplicas={self.in_sync_replicas} needs slaves, and there is no port for them.",
                keys=("haListenPort", "brokerRole"),
                remedy="set haListenPort, or brokerRole=ASYNC_MASTER",
            )
        _check_listener("http", self.http)
        _ = self.delays_ms, self.admin_networks, self.slave_networks, self.retention
        self.check_security()

    @classmethod
    def of_java(cls, texts: Mapping[str, str]) -> Self:
        """Read settings under their Java names.

        Raises:
            ConfigError: A key is not known, or a value cannot be used; it names all of the former, or the latter.
        """
        return cls(**values_of(texts))

    def listing(self) -> dict[str, str]:
        """Give all settings under their Java names, as texts; of a secret only whether there is one."""
        values = {
            java_name(each.name): MASK
            if each.name in SECRETS and getattr(self, each.name)
            else getattr(self, each.name)
            for each in fields(self)
        }
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}

    @property
    def delays_ms(self) -> tuple[int, ...]:
        """How long each delay level waits, from level 1 on.

        Raises:
            ConfigError: The text is no list of times.
        """
        found = [_DELAY.fullmatch(piece) for piece in self.message_delay_level.split()]
        delays = tuple(int(each[1]) * _UNITS_MS[each[2]] for each in found if each is not None)
        if not delays or len(delays) < len(found):
            raise ConfigError(
                f"messageDelayLevel {self.message_delay_level!r} is no list of times.",
                keys=("messageDelayLevel",),
                remedy=f"write them like {DEFAULT_LEVELS[:15]!r}",
            )
        return delays

    @property
    def retention(self) -> RetentionSettings:
        """When old messages go, and when new ones are refused.

        Raises:
            ConfigError: The hours are none, or the ratios do not ascend.
        """
        hours = [piece.strip() for piece in self.delete_when.split(";") if piece.strip()]
        if not all(_HOUR.fullmatch(hour) for hour in hours):
            raise ConfigError(f"deleteWhen {self.delete_when!r} is no list of hours.", keys=("deleteWhen",))
        return RetentionSettings(
            reserved_ms=self.file_reserved_time * 3_600_000,
            delete_hours=frozenset(map(int, hours)),
            delete_ratio=self.disk_max_used_space_ratio / 100,
            force_ratio=self.disk_space_clean_forcibly_ratio / 100,
            refuse_ratio=self.disk_space_warning_level_ratio / 100,
        )

    @property
    def admin_networks(self) -> tuple[Network, ...] | None:
        """From where changes may come; None from everywhere.

        Raises:
            ConfigError: The text is no list of networks.
        """
        networks = _networks("adminAllow", self.admin_allow)
        return None if self.admin_policy == OPEN else networks

    @property
    def slave_networks(self) -> tuple[Network, ...] | None:
        """From where slaves may come; None from everywhere.

        Raises:
            ConfigError: The text is no list of networks.
        """
        return _networks("haAllow", self.ha_allow) or None

    @property
    def is_waiting_for_slaves(self) -> bool:
        """Whether a send is answered only when slaves have its message."""
        return self.broker_role == SYNC_MASTER and self.in_sync_replicas > 1

    @property
    def is_sync_flush(self) -> bool:
        """Whether a send is answered only when its message is on disk."""
        return self.flush_disk_type == SYNC_FLUSH


def _check_listener(key: str, text: str) -> None:
    host, _, port = text.rpartition(":")
    if text not in ("", OFF) and not (host and _PORT.fullmatch(port) and int(port) <= _HIGHEST_PORT):
        raise ConfigError(
            f"{key} {text[:60]!r} is no address.", keys=(key,), remedy="write it like 127.0.0.1:19877, or off"
        )


def _networks(key: str, text: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(piece.strip()) for piece in text.split(";") if piece.strip())
    except ValueError as error:
        raise ConfigError(f"{key}: {error}.", keys=(key,)) from error


def values_of(texts: Mapping[str, str]) -> dict[str, Any]:
    """Read settings under their Java names, and give values by the names of fields.

    Raises:
        ConfigError: A key is not known, or a text cannot be read; it names all of the former, or the latter.
    """
    known = {java_name(each.name): each for each in fields(BrokerConfig)}
    unknown = tuple(key for key in texts if key not in known)
    if unknown:
        shown = ", ".join(key[:_NAME_SHOWN] for key in unknown[:_NAMES_SHOWN])
        raise ConfigError(f"unknown setting {shown}.", keys=unknown, remedy="docs/broker.md lists the settings.")
    return {known[key].name: _read(key, known[key], text.strip()) for key, text in texts.items()}


def fault_in(key: str, text: str) -> str | None:
    """Say what is wrong with the text of one known key, whatever the others are; the sentence begins with the key."""
    each = next(each for each in fields(BrokerConfig) if java_name(each.name) == key)
    try:
        reason = _fault(each, _read(key, each, text.strip()))
    except ConfigError as error:
        return error.what.rstrip(".")
    return f"{key} {reason}" if reason else None


def java_name(name: str) -> str:
    """Give the Java key of a field."""
    head, *rest = name.split("_")
    return _OTHER_NAMES.get(name) or head + "".join(part.capitalize() for part in rest)


_OTHER_NAMES: Final = {**SECURITY_KEYS, "broker_ip1": "brokerIP1", "broker_ip2": "brokerIP2"}


def _fault(each: "Field[Any]", value: object) -> str | None:
    limits = each.metadata
    if each.type is int and (not isinstance(value, int) or isinstance(value, bool)):
        return f"{value!r} is not a number"
    if each.type is int and not limits["minimum"] <= value <= limits["maximum"]:
        return f"{value} is not between {limits['minimum']} and {limits['maximum']}"
    if each.type is bool and not isinstance(value, bool):
        return f"{value!r} is neither true nor false"
    if each.type is str and not isinstance(value, str):
        return f"{value!r} is not a text"
    if limits["choices"] and value not in limits["choices"]:
        return f"{value!r} is none of {', '.join(limits['choices'])}"
    return None


def _read(key: str, each: "Field[Any]", text: str) -> object:
    if each.type is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigError(f"{key} {text!r} is neither true nor false.", keys=(key,))
        return text.lower() == "true"
    if each.type is int:
        if _NUMBER.fullmatch(text) is None:
            raise ConfigError(f"{key} {text[:40]!r} is not a number.", keys=(key,))
        return int(text)
    return text
