"""What a consumer says about itself, as Java's ConsumerRunningInfo.formatString writes it.

Owns: that text.
Must not know: how a consumer is asked.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from cosmodrome.admin.moments import local_ms
from cosmodrome.admin.settings_text import java, rounded
from cosmodrome.protocol.bodies.consumer_running_info import (
    ConsumerRunningInfo,
    ConsumeStatus,
    PopProcessQueueInfo,
    ProcessQueueInfo,
)
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.shown_text import shown

_RATES_HEAD: Final = (
    f"{'#Topic':<64}  {'#Pull RT':>14} {'#Pull TPS':>14} {'#Consume RT':>14} {'#ConsumeOK TPS':>14} "
    f"{'#ConsumeFailed TPS':>18} {'#ConsumeFailedMsgsInHour':>25}"
)
_NOT_DIGITS: Final = re.compile(r"\D")


def running_info_text(info: ConsumerRunningInfo) -> str:
    """Write all sections; the stacks of threads only if they were asked for."""
    parts = [
        "#Consumer Properties#",
        *(f"{shown(key):<40}: {shown(value)}" for key, value in info.properties.items()),
        "\n\n#Consumer Subscription#",
        *(
            f"{number:03d} Topic: {shown(data.topic):<40} ClassFilter: {java(data.class_filter_mode):<8} "
            f"SubExpression: {shown(data.sub_string)}"
            for number, data in enumerate(info.subscription_set, 1)
        ),
        "\n\n#Consumer Offset#",
        f"{'#Topic':<64}  {'#Broker Name':<32}  {'#QID':<4}  {'#Consumer Offset':<20}",
        *(f"{_place(queue, 32)}  {each.commit_offset:<20}" for queue, each in info.mq_table.items()),
        "\n\n#Consumer MQ Detail#",
        f"{'#Topic':<64}  {'#Broker Name':<32}  {'#QID':<4}  {'#ProcessQueueInfo':<20}",
        *(f"{_place(queue, 64)}  {_queue_text(each)}" for queue, each in info.mq_table.items()),
        "\n\n#Consumer Pop Detail#",
        f"{'#Topic':<32}  {'#Broker Name':<32}  {'#QID':<4}  {'#ProcessQueueInfo':<20}",
        *(f"{_place(queue, 32)}  {_pop_text(each)}" for queue, each in (info.mq_pop_table or {}).items()),
        "\n\n#Consumer RT&TPS#",
        _RATES_HEAD,
        *_status_lines(info.status_table),
    ]
    if info.user_consumer_info is not None:
        parts.append("\n\n#User Consume Info#")
        parts += [f"{shown(key):<40}: {shown(value)}" for key, value in info.user_consumer_info.items()]
    text = "\n".join(parts) + "\n"
    return text if info.jstack is None else f"{text}\n\n#Consumer jstack#\n{info.jstack}"


def _place(queue: MessageQueue, width: int) -> str:
    return f"{shown(queue.topic):<{width}}  {shown(queue.broker_name):<32}  {queue.queue_id:<4}"


def _queue_text(info: ProcessQueueInfo) -> str:
    return (
        f"ProcessQueueInfo [commitOffset={info.commit_offset}, cachedMsgMinOffset={info.cached_msg_min_offset}, "
        f"cachedMsgMaxOffset={info.cached_msg_max_offset}, cachedMsgCount={info.cached_msg_count}, "
        f"cachedMsgSizeInMiB={info.cached_msg_size_in_mib}, "
        f"transactionMsgMinOffset={info.transaction_msg_min_offset}, "
        f"transactionMsgMaxOffset={info.transaction_msg_max_offset}, "
        f"transactionMsgCount={info.transaction_msg_count}, locked={java(info.locked)}, "
        f"tryUnlockTimes={info.try_unlock_times}, lastLockTimestamp={_digits(info.last_lock_timestamp)}, "
        f"droped={java(info.droped)}, lastPullTimestamp={_digits(info.last_pull_timestamp)}, "
        f"lastConsumeTimestamp={_digits(info.last_consume_timestamp)}]"
    )


def _pop_text(info: PopProcessQueueInfo) -> str:
    return (
        f"PopProcessQueueInfo [waitAckCount:{info.wait_ack_count}, droped:{java(info.droped)}, "
        f"lastPopTimestamp:{info.last_pop_timestamp}]"
    )


def _status_lines(table: Mapping[str, ConsumeStatus]) -> Iterable[str]:
    for topic, each in table.items():
        yield (
            f"{shown(topic):<32}  {rounded(each.pull_rt, 2):>14} {rounded(each.pull_tps, 2):>14} {rounded(each.consume_rt, 2):>14} "
            f"{rounded(each.consume_ok_tps, 2):>14} {rounded(each.consume_failed_tps, 2):>18} {each.consume_failed_msgs:>25}"
        )


def _digits(time_ms: int) -> str:
    """Write a moment in local time, as `yyyyMMddHHmmssSSS`; one that no calendar has as its milliseconds."""
    return _NOT_DIGITS.sub("", local_ms(time_ms))
