"""Bodies about a broker's consumer groups: 200, 201, 225, 352.

Owns: the values.
Must not know: where a broker keeps them.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from cosmodrome.protocol.bodies.data_version import DataVersion
from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_structs import BodyFields


class GroupRetryPolicyType(StrEnum):
    """How the pauses between deliveries of a failed message grow (5.x)."""

    EXPONENTIAL = "EXPONENTIAL"
    CUSTOMIZED = "CUSTOMIZED"


class ExponentialRetryPolicy(BodyFields, frozen=True, kw_only=True):
    """Pauses in milliseconds that grow by a factor."""

    initial: int = 5_000
    max: int = 7_200_000
    multiplier: int = 2


class CustomizedRetryPolicy(BodyFields, frozen=True, kw_only=True):
    """Pauses in milliseconds, one after the other."""

    next: tuple[int, ...] = ()


class GroupRetryPolicy(BodyFields, frozen=True, kw_only=True):
    """A policy, and the settings of its type, if they are not the defaults."""

    type: GroupRetryPolicyType = GroupRetryPolicyType.CUSTOMIZED
    exponential_retry_policy: ExponentialRetryPolicy | None = None
    customized_retry_policy: CustomizedRetryPolicy | None = None


class SimpleSubscriptionData(BodyFields, frozen=True, kw_only=True):
    """A subscription that is part of a group's settings (5.x)."""

    topic: str
    expression_type: str | None = None
    expression: str | None = None
    version: int = 0


class SubscriptionGroupConfig(BodyFields, frozen=True, kw_only=True):
    """200 and 352: one consumer group. The policy, what follows the flags, and the attributes are 5.x."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    consume_message_orderly: bool = False
    retry_queue_nums: Int32 = 1
    retry_max_times: Int32 = 16
    group_retry_policy: GroupRetryPolicy | None = None
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: Int32 = 0
    consume_timeout_minute: Int32 | None = None
    subscription_data_set: tuple[SimpleSubscriptionData, ...] | None = None
    attributes: Mapping[str, str] | None = None


class SubscriptionGroupTable(BodyFields, frozen=True, kw_only=True):
    """201, answer (Java: SubscriptionGroupWrapper), and the file of groups.

    `forbidden_table` holds, by group and topic, bits of what is forbidden.
    """

    data_version: DataVersion | None = None
    subscription_group_table: Mapping[str, SubscriptionGroupConfig] = {}
    forbidden_table: Mapping[str, Mapping[str, Int32]] | None = None


class SubscriptionGroupList(BodyFields, frozen=True, kw_only=True):
    """225."""

    group_config_list: tuple[SubscriptionGroupConfig, ...] = msgspec.field(default=())
