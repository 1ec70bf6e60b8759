"""Settings of topics and groups as Java's toString() writes them, and what else mqadmin prints in Java's way.

Owns: these texts; attributes as they are typed.
Must not know: when they are printed.
"""

import math
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from cosmodrome.protocol.bodies.groups import GroupRetryPolicy, SubscriptionGroupConfig
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig

PERM_READ: Final = 4
PERM_WRITE: Final = 2
PERM_INHERIT: Final = 1
DEFAULT_CONSUME_TIMEOUT_MINUTE: Final = 15
_LARGEST_ROUNDED: Final = 1e18
_PLAIN_FROM: Final = 1e-3
_PLAIN_BELOW: Final = 1e7


def attributes_from(text: str) -> dict[str, str]:
    """Read `+a=b,+c=d,-e`: a sign before each name, a value after `+` names; the signs stay in the keys.

    Raises:
        ValueError: A sign or a value is missing, or a name is there twice.
    """
    found: dict[str, str] = {}
    for piece in filter(None, text.split(",")):
        key, equals, value = piece.partition("=")
        if not key.startswith("+" if equals else "-") or len(key) < 2:
            raise ValueError(f"{piece!r} is neither +name=value nor -name")
        if key in found:
            raise ValueError(f"{key} is there twice")
        found[key] = value
    return found


def attributes_text(attributes: Mapping[str, str]) -> str:
    """Write attributes as attributes_from reads them."""
    return ",".join(f"{key}={value}" if value else key for key, value in attributes.items())


def perm_text(perm: int) -> str:
    """Write a permission as `RW-`."""
    signs = ((PERM_READ, "R"), (PERM_WRITE, "W"), (PERM_INHERIT, "X"))
    return "".join(sign if perm & bit else "-" for bit, sign in signs)


def topic_config_text(config: BrokerTopicConfig) -> str:
    """Write a TopicConfig."""
    return (
        f"TopicConfig [topicName={config.topic_name}, readQueueNums={config.read_queue_nums}, "
        f"writeQueueNums={config.write_queue_nums}, perm={perm_text(config.perm)}, "
        f"topicFilterType={config.topic_filter_type.value}, topicSysFlag={config.topic_sys_flag}, "
        f"order={java(config.order)}, attributes={java(config.attributes or {})}]"
    )


def group_config_text(config: SubscriptionGroupConfig) -> str:
    """Write a SubscriptionGroupConfig."""
    members = ", ".join(f"{name}={text}" for name, text in group_config_members(config).items())
    return f"SubscriptionGroupConfig{{{members}}}"


def group_config_members(config: SubscriptionGroupConfig) -> dict[str, str]:
    """Give the members of a SubscriptionGroupConfig by their Java names, in Java's order, as texts."""
    policy = config.group_retry_policy or GroupRetryPolicy()
    minutes = config.consume_timeout_minute
    return {
        "groupName": config.group_name,
        "consumeEnable": java(config.consume_enable),
        "consumeFromMinEnable": java(config.consume_from_min_enable),
        "consumeBroadcastEnable": java(config.consume_broadcast_enable),
        "consumeMessageOrderly": java(config.consume_message_orderly),
        "retryQueueNums": java(config.retry_queue_nums),
        "retryMaxTimes": java(config.retry_max_times),
        "groupRetryPolicy": _retry_policy_text(policy),
        "brokerId": java(config.broker_id),
        "whichBrokerWhenConsumeSlowly": java(config.which_broker_when_consume_slowly),
        "notifyConsumerIdsChangedEnable": java(config.notify_consumer_ids_changed_enable),
        "groupSysFlag": java(config.group_sys_flag),
        "consumeTimeoutMinute": java(DEFAULT_CONSUME_TIMEOUT_MINUTE if minutes is None else minutes),
        "subscriptionDataSet": _subscriptions_text(config),
        "attributes": java(config.attributes or {}),
    }


def java(value: Any) -> str:
    """Write a value as Java's string conversion does."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}={java(each)}' for key, each in value.items())}}}"
    return str(value)


def java_double(number: float) -> str:
    """Write a double as Java does: with a point always, with an exponent when it is far from one."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"
    if number == 0 or _PLAIN_FROM <= abs(number) < _PLAIN_BELOW:
        return f"{Decimal(repr(number)):f}" if "." in f"{Decimal(repr(number)):f}" else f"{number:.1f}"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    first, rest = str(digits[0]), "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{int(exponent) + len(digits) - 1}"


def rounded(number: float, digits: int) -> str:
    """Round a half up, as Java's formatter does; what is beyond any figure of a server is given as it is."""
    if not abs(number) < _LARGEST_ROUNDED:
        return java_double(number)
    return str(Decimal(repr(number)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def _retry_policy_text(policy: GroupRetryPolicy) -> str:
    exponential = policy.exponential_retry_policy
    customized = policy.customized_retry_policy
    parts = (
        "null"
        if exponential is None
        else f"ExponentialRetryPolicy{{initial={exponential.initial}, max={exponential.max}, "
        f"multiplier={exponential.multiplier}}}",
        "null" if customized is None else f"CustomizedRetryPolicy{{next=[{', '.join(map(str, customized.next))}]}}",
    )
    return (
        f"GroupRetryPolicy{{type={policy.type.value}, exponentialRetryPolicy={parts[0]}, "
        f"customizedRetryPolicy={parts[1]}}}"
    )


def _subscriptions_text(config: SubscriptionGroupConfig) -> str:
    if config.subscription_data_set is None:
        return "null"
    inner = ", ".join(
        f"SimpleSubscriptionData{{topic={each.topic}, expressionType={java(each.expression_type)}, "
        f"expression={java(each.expression)}, version={each.version}}}"
        for each in config.subscription_data_set
    )
    return f"[{inner}]"
