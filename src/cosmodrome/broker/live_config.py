"""The settings in force, and how they are replaced while the broker runs.

Owns: which settings act at once, which at the next start, which no request may change; that a change is checked, kept
    and put in force as a whole or not at all.
Must not know: who may change them; what a setting does; how a file is written.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from cosmodrome.broker.config import BrokerConfig, java_name, values_of
from cosmodrome.broker.security_settings import SecuritySettings
from cosmodrome.client.properties_text import properties_from
from cosmodrome.errors import ConfigError
from cosmodrome.protocol.bodies.data_version import DataVersion

AT_ONCE: Final = frozenset(
    {
        "broker_permission",
        "auto_create_topic_enable",
        "auto_create_subscription_group",
        "long_polling_enable",
        "short_polling_time_mills",
        "notify_consumer_ids_changed_enable",
        "enable_property_filter",
        "default_message_request_mode",
        "default_pop_share_queue_num",
        "pop_from_retry_probability",
        "max_transfer_count_on_message_in_memory",
        "max_transfer_bytes_on_message_in_memory",
        "default_query_max_num",
        "file_reserved_time",
        "delete_when",
        "disk_max_used_space_ratio",
        "disk_space_clean_forcibly_ratio",
        "disk_space_warning_level_ratio",
        "timer_wheel_enable",
        "timer_max_delay_sec",
        "recall_message_enable",
        "reject_transaction_message",
        "transaction_time_out",
        "transaction_check_max",
        "transaction_check_interval",
        "start_accept_send_request_time_stamp",
        "store_reply_message_enable",
        "admin_policy",
        "admin_allow",
    }
)
"""Fields of settings that act at once; the others act at the next start."""
_PATHS: Final = ("store_path_root_dir", "bind_address", "admin_policy", "admin_allow", "ha_allow", "http", "audit_log")
NOT_BY_REQUEST: Final = frozenset({*SecuritySettings.__dataclass_fields__, *_PATHS})
"""Fields of settings that say who may do what, or where files are: they are changed in the file."""


class SettingsFile(Protocol):
    """Where settings are kept."""

    def save(self, changes: Mapping[str, str]) -> tuple[str, ...]:
        """Write these keys, and touch nothing else; give those that something else overrides at the next start.

        Raises:
            StorageError: The file is as it was.
        """


class ForbiddenSettingError(ConfigError):
    """A request wants to change what no request may change."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Keys that changed: in force now, and at the next start; those that something overrides then."""

    applied: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()
    overridden: tuple[str, ...] = ()


class LiveConfig:
    """`current` is in force; `shown` has what waits for the next start, too. Both are replaced whole.

    Attributes:
        started_with: The settings as they were given; addresses and ports in the others are those that were found.
        file: Where changes by requests are kept; None keeps them in memory only.
        on_change: Told of each configuration that comes into force.
    """

    def __init__(self, config: BrokerConfig, started_ms: int) -> None:
        """Begin with this."""
        self.current = self.shown = config
        self.started_with = config
        self.version = DataVersion(counter=0, timestamp=started_ms)
        self.file: SettingsFile | None = None
        self.on_change: Callable[[BrokerConfig], None] = lambda _: None
        self._changing = asyncio.Lock()

    async def change(self, text: str, now_ms: int) -> Change:
        """Put the changes of a request, a properties text, in force and on disk.

        Raises:
            ForbiddenSettingError: One of them no request may make; nothing was changed.
            ConfigError: One of them cannot be; nothing was changed.
            StorageError: They could not be kept; nothing was changed.
        """
        async with self._changing:
            texts = properties_from(text)
            values = values_of(texts)
            forbidden = tuple(java_name(name) for name in values if name in NOT_BY_REQUEST)
            if forbidden:
                raise ForbiddenSettingError(f"{', '.join(forbidden)} may not be changed by requests.", keys=forbidden)
            shown = dataclasses.replace(self.shown, **values)
            current = self._with_live(values)
            overridden: tuple[str, ...] = ()
            if self.file is not None:
                kept = {key: value.strip() for key, value in texts.items()}
                overridden = await asyncio.to_thread(self.file.save, kept)
            self._replace(current, shown, now_ms)
            return _change_of(values, overridden)

    async def reload(self, read: Callable[[], BrokerConfig], now_ms: int) -> Change:
        """Put settings that are read anew, in a thread, in force, as far as they act at once.

        Raises:
            ConfigError: From `read`; nothing was changed.
        """
        async with self._changing:
            config = await asyncio.to_thread(read)
            names = [each.name for each in dataclasses.fields(config)]
            live = {name: getattr(config, name) for name in names if name in AT_ONCE}
            changed = {name: value for name, value in live.items() if value != getattr(self.current, name)}
            begun = self.started_with
            restart = [
                java_name(name)
                for name in names
                if name not in AT_ONCE and getattr(config, name) != getattr(begun, name)
            ]
            current = self._with_live(live)
            self._replace(current, dataclasses.replace(self.shown, **live), now_ms)
            return Change(applied=tuple(map(java_name, changed)), restart=tuple(restart))

    def _with_live(self, values: Mapping[str, object]) -> BrokerConfig:
        live = {name: value for name, value in values.items() if name in AT_ONCE}
        return dataclasses.replace(self.current, **live)  # type: ignore[arg-type]  # values of the same fields

    def _replace(self, current: BrokerConfig, shown: BrokerConfig, now_ms: int) -> None:
        self.current, self.shown = current, shown
        self.version = DataVersion(counter=(self.version.counter or 0) + 1, timestamp=now_ms)
        self.on_change(current)


def _change_of(values: Mapping[str, object], overridden: tuple[str, ...]) -> Change:
    return Change(
        applied=tuple(java_name(name) for name in values if name in AT_ONCE),
        restart=tuple(java_name(name) for name in values if name not in AT_ONCE),
        overridden=overridden,
    )
