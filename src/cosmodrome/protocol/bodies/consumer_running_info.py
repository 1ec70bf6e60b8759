"""What a consumer answers to a broker: ConsumerRunningInfo, 307, and ConsumeMessageDirectlyResult, 309.

Owns: the values; the names of the properties that tools read.
Must not know: what the consumer does.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.json_structs import BodyFields
from cosmodrome.protocol.subscription import SubscriptionData

PROP_NAMESERVER_ADDR: Final = "PROP_NAMESERVER_ADDR"
PROP_THREADPOOL_CORE_SIZE: Final = "PROP_THREADPOOL_CORE_SIZE"
PROP_CONSUME_ORDERLY: Final = "PROP_CONSUMEORDERLY"
PROP_CONSUME_TYPE: Final = "PROP_CONSUME_TYPE"
PROP_CLIENT_VERSION: Final = "PROP_CLIENT_VERSION"
PROP_CONSUMER_START_TIMESTAMP: Final = "PROP_CONSUMER_START_TIMESTAMP"


class ProcessQueueInfo(BodyFields, frozen=True, kw_only=True):
    """What a consumer holds of one queue. Times are wall-clock milliseconds; Java spells `droped` so."""

    commit_offset: int = 0
    cached_msg_min_offset: int = 0
    cached_msg_max_offset: int = 0
    cached_msg_count: int = 0
    cached_msg_size_in_mib: int = msgspec.field(default=0, name="cachedMsgSizeInMiB")
    transaction_msg_min_offset: int = 0
    transaction_msg_max_offset: int = 0
    transaction_msg_count: int = 0
    locked: bool = False
    try_unlock_times: int = 0
    last_lock_timestamp: int = 0
    droped: bool = False
    last_pull_timestamp: int = 0
    last_consume_timestamp: int = 0


class PopProcessQueueInfo(BodyFields, frozen=True, kw_only=True):
    """What a consumer in POP mode holds of one queue (5.x)."""

    wait_ack_count: int = 0
    droped: bool = False
    last_pop_timestamp: int = 0


class ConsumeStatus(BodyFields, frozen=True, kw_only=True):
    """Rates and round-trip times, in milliseconds, of one topic."""

    pull_rt: float = msgspec.field(default=0.0, name="pullRT")
    pull_tps: float = msgspec.field(default=0.0, name="pullTPS")
    consume_rt: float = msgspec.field(default=0.0, name="consumeRT")
    consume_ok_tps: float = msgspec.field(default=0.0, name="consumeOKTPS")
    consume_failed_tps: float = msgspec.field(default=0.0, name="consumeFailedTPS")
    consume_failed_msgs: int = 0


class ConsumerRunningInfo(BodyFields, frozen=True, kw_only=True):
    """307, answer. `mq_pop_table` is 5.x; `jstack` is the stacks of threads, when they were asked for."""

    properties: Mapping[str, str] = {}
    subscription_set: tuple[SubscriptionData, ...] = ()
    mq_table: Mapping[MessageQueue, ProcessQueueInfo] = {}
    mq_pop_table: Mapping[MessageQueue, PopProcessQueueInfo] | None = None
    status_table: Mapping[str, ConsumeStatus] = {}
    user_consumer_info: Mapping[str, str] | None = None
    jstack: str | None = None


class ConsumeResult(StrEnum):
    """How a message that was consumed directly went."""

    CR_SUCCESS = "CR_SUCCESS"
    CR_LATER = "CR_LATER"
    CR_ROLLBACK = "CR_ROLLBACK"
    CR_COMMIT = "CR_COMMIT"
    CR_THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    CR_RETURN_NULL = "CR_RETURN_NULL"


class ConsumeMessageDirectlyResult(BodyFields, frozen=True, kw_only=True):
    """309, answer."""

    order: bool = False
    auto_commit: bool = True
    consume_result: ConsumeResult | None = None
    remark: str | None = None
    spent_time_mills: int = 0
