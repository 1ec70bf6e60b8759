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
COMPATIBLE: Final = "compatible"
OPEN: Final = "open"
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _setting(default: Any, *, minimum: int = 0, maximum: int = _INT_MAX, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum, "choices": choices})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """All settings of one broker; Java's, but for `bind_address` and `admin_...`. `of_java` takes them under their Java names.

    `store_path_root_dir` empty means a temporary folder that goes with the broker; `broker_ip1` empty the address
    that it listens on, or that a NameServer sees; `broker_name` empty the host's name.

    Raises:
        ConfigError: A value cannot be used; it names the keys.
    """

    broker_cluster_name: str = _setting("DefaultCluster")
    broker_name: str = _setting("")
    broker_id: int = _setting(0, maximum=0)
    broker_role: str = _setting("ASYNC_MASTER", choices=("ASYNC_MASTER",))
    namesrv_addr: str = _setting("")
    bind_address: str = _setting("0.0.0.0")  # noqa: S104 -- Java's default: clients are on other hosts
    broker_ip1: str = _setting("")
    listen_port: int = _setting(10911, maximum=65_535)
    store_path_root_dir: str = _setting("")
    mapped_file_size_commit_log: int = _setting(1_073_741_824, minimum=1024)
    mapped_file_size_consume_queue: int = _setting(6_000_000, minimum=20)
    max_hash_slot_num: int = _setting(5_000_000, minimum=1)
    max_index_num: int = _setting(20_000_000, minimum=2)
    message_index_enable: bool = _setting(True)
    max_message_size: int = _setting(4_194_304, minimum=1)
    flush_disk_type: str = _setting(ASYNC_FLUSH, choices=(ASYNC_FLUSH, SYNC_FLUSH))
    sync_flush_timeout: int = _setting(5000)
    flush_consumer_offset_interval: int = _setting(5000, minimum=10)
    flush_delay_offset_interval: int = _setting(10_000, minimum=10)
    message_delay_level: str = _setting(DEFAULT_LEVELS)
    default_topic_queue_nums: int = _setting(8, minimum=1, maximum=65_536)
    auto_create_topic_enable: bool = _setting(True)
    auto_create_subscription_group: bool = _setting(True)
    broker_permission: int = _setting(6, maximum=7)
    register_name_server_period: int = _setting(30_000)
    register_broker_timeout_mills: int = _setting(24_000, minimum=1)
    long_polling_enable: bool = _setting(True)
    short_polling_time_mills: int = _setting(1000, minimum=1)
    notify_consumer_ids_changed_enable: bool = _setting(True)
    max_transfer_count_on_message_in_memory: int = _setting(32, minimum=1)
    max_transfer_bytes_on_message_in_memory: int = _setting(262_144, minimum=1)
    default_query_max_num: int = _setting(32, minimum=1)
    file_reserved_time: int = _setting(72)
    delete_when: str = _setting("04")
    disk_max_used_space_ratio: int = _setting(75, minimum=1, maximum=100)
    disk_space_clean_forcibly_ratio: int = _setting(85, minimum=1, maximum=100)
    disk_space_warning_level_ratio: int = _setting(90, minimum=1, maximum=100)
    reject_transaction_message: bool = _setting(False)
    transaction_time_out: int = _setting(6000)
    transaction_check_max: int = _setting(15)
    transaction_check_interval: int = _setting(30_000, minimum=10)
    start_accept_send_request_time_stamp: int = _setting(0, maximum=2**63 - 1)
    store_reply_message_enable: bool = _setting(True)
    admin_policy: str = _setting(COMPATIBLE, choices=(COMPATIBLE, OPEN))
    admin_allow: str = _setting("127.0.0.0/8;::1/128")
    region_id: str = _setting("DefaultRegion")
    trace_on: bool = _setting(True)

    def __post_init__(self) -> None:
        """Refuse what cannot be, and fill in the name."""
        if not self.broker_name:
            object.__setattr__(self, "broker_name", socket.gethostname() or "DEFAULT_BROKER")
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
        _ = self.delays_ms, self.admin_networks, self.retention

    @classmethod
    def of_java(cls, texts: Mapping[str, str]) -> Self:
        """Read settings under their Java names.

        Raises:
            ConfigError: A key is not known, or a value cannot be used; it names all of the former, or the latter.
        """
        known = {java_name(each.name): each for each in fields(cls)}
        unknown = tuple(key for key in texts if key not in known)
        if unknown:
            raise ConfigError(
                f"unknown setting {', '.join(unknown)}.", keys=unknown, remedy="docs/broker.md lists the settings."
            )
        values: dict[str, Any] = {known[key].name: _read(key, known[key], text.strip()) for key, text in texts.items()}
        return cls(**values)

    def listing(self) -> dict[str, str]:
        """Give all settings under their Java names, as texts."""
        values = {java_name(each.name): getattr(self, each.name) for each in fields(self)}
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
        try:
            pieces = (piece.strip() for piece in self.admin_allow.split(";"))
            networks = tuple(ipaddress.ip_network(piece) for piece in pieces if piece)
        except ValueError as error:
            raise ConfigError(f"adminAllow: {error}.", keys=("adminAllow",)) from error
        return None if self.admin_policy == OPEN else networks

    @property
    def is_sync_flush(self) -> bool:
        """Whether a send is answered only when its message is on disk."""
        return self.flush_disk_type == SYNC_FLUSH


def java_name(name: str) -> str:
    """Give the Java key of a field."""
    head, *rest = name.split("_")
    return _OTHER_NAMES.get(name) or head + "".join(part.capitalize() for part in rest)


_OTHER_NAMES: Final = {"broker_ip1": "brokerIP1"}


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
