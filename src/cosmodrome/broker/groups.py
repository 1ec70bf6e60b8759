"""The consumer groups of a broker (Java: SubscriptionGroupManager).

Owns: the table and its version; which groups every broker has; how a group comes to be when it is first named.
Must not know: files; who is connected.
"""

from typing import Final

import msgspec

from cosmodrome.errors import MessageError
from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.bodies.groups import (
    GroupRetryPolicy,
    GroupRetryPolicyType,
    SubscriptionGroupConfig,
    SubscriptionGroupTable,
)
from cosmodrome.protocol.messages.checks import check_group

TRANSACTION_GROUP: Final = "CID_RMQ_SYS_TRANS"
SYSTEM_GROUPS: Final = (
    "TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY", "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", TRANSACTION_GROUP,
)  # fmt: skip
_CONSUME_TIMEOUT_MINUTES: Final = 15


class Groups:
    """The table. Every change moves the version and sets `is_changed`, which whoever has kept it takes back."""

    def __init__(self, *, is_creating: bool, now_ms: int) -> None:
        """Begin with the groups that every broker has; `is_creating` makes others when they are first named."""
        self.is_creating = is_creating
        self._configs = {name: new_group(name) for name in SYSTEM_GROUPS}
        self.version = DataVersion(counter=0, timestamp=now_ms)
        self.is_changed = False

    def load(self, table: SubscriptionGroupTable) -> None:
        """Take over a table that was kept."""
        for name, config in table.subscription_group_table.items():
            self._configs[name] = _completed(config, name)
        if table.data_version is not None:
            self.version = table.data_version

    def get(self, name: str) -> SubscriptionGroupConfig | None:
        """Give a group; None when there is none."""
        return self._configs.get(name)

    def __len__(self) -> int:
        return len(self._configs)

    def find(self, name: str, now_ms: int) -> SubscriptionGroupConfig | None:
        """Give a group, which is made if it is missing and may be made; else None."""
        config = self._configs.get(name)
        if config is None and self.is_creating and _is_legal(name):
            config = new_group(name)
            self.put(config, now_ms)
        return config

    def put(self, config: SubscriptionGroupConfig, now_ms: int) -> None:
        """Make a group, or replace its settings; one that is like this already is no change."""
        config = _completed(config, config.group_name)
        if self._configs.get(config.group_name) != config:
            self._configs[config.group_name] = config
            self._moved(now_ms)

    def remove(self, name: str, now_ms: int) -> bool:
        """Forget a group; tell whether there was one."""
        if self._configs.pop(name, None) is None:
            return False
        self._moved(now_ms)
        return True

    def table(self) -> SubscriptionGroupTable:
        """Give the table as it is kept and shown."""
        return SubscriptionGroupTable(
            data_version=self.version, subscription_group_table=dict(self._configs), forbidden_table={}
        )

    def _moved(self, now_ms: int) -> None:
        self.is_changed = True
        self.version = DataVersion(
            counter=(self.version.counter or 0) + 1, state_version=self.version.state_version, timestamp=now_ms
        )


def _is_legal(name: str) -> bool:
    try:
        check_group(name)
    except MessageError:
        return False
    return True


def new_group(name: str) -> SubscriptionGroupConfig:
    """Give the settings of a group of which nothing was said."""
    return _completed(SubscriptionGroupConfig(group_name=name), name)


def _completed(config: SubscriptionGroupConfig, name: str) -> SubscriptionGroupConfig:
    """Fill in what 5.x shows and older releases leave out."""
    return msgspec.structs.replace(
        config,
        group_name=name,
        group_retry_policy=config.group_retry_policy or GroupRetryPolicy(type=GroupRetryPolicyType.CUSTOMIZED),
        consume_timeout_minute=_CONSUME_TIMEOUT_MINUTES
        if config.consume_timeout_minute is None
        else config.consume_timeout_minute,
        attributes=dict(config.attributes or {}),
    )
