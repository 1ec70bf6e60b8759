"""One pull of a queue, as a tool does it: nothing is committed, nobody joins a group.

Owns: the request, what its answers mean, and the comparison of tags that brokers leave to clients.
Must not know: why somebody looks at a queue.
"""

import time
from dataclasses import dataclass
from enum import Enum
from typing import Final

from cosmodrome.client.admin.reach import Reach, read_with
from cosmodrome.client.consumer.filters import Expression, acceptance, subscription
from cosmodrome.client.message import MessageQueue, MessageView
from cosmodrome.errors import UnreadableAnswerError
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.pull import (
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    PullMessageRequestHeader,
    PullMessageResponseHeader,
)
from cosmodrome.protocol.messages.record import decode_records

TOOLS_GROUP: Final = "TOOLS_CONSUMER"
"""A group that every broker has."""


class PullStatus(Enum):
    """What a pull met, in Java's words."""

    FOUND = "FOUND"
    NO_NEW_MSG = "NO_NEW_MSG"
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    """Messages are there that the expression does not want."""
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"
    """The queue does not have this offset (any more)."""


_STATUSES: Final = {
    ResponseCode.SUCCESS: PullStatus.FOUND,
    ResponseCode.PULL_NOT_FOUND: PullStatus.NO_NEW_MSG,
    ResponseCode.PULL_RETRY_IMMEDIATELY: PullStatus.NO_MATCHED_MSG,
    ResponseCode.PULL_OFFSET_MOVED: PullStatus.OFFSET_ILLEGAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a pull asks for.

    Attributes:
        limit: So many messages at most; brokers have a limit of their own, 32 by default.
        expression: Which messages.
        group: In the name of which group.
        suspend_s: How long the broker may hold a pull that finds nothing.
    """

    limit: int = 32
    expression: Expression = None
    group: str = TOOLS_GROUP
    suspend_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What a pull brought.

    Attributes:
        messages: Those that the expression wants; may be none of what was FOUND, since brokers compare hashes of tags.
        next_offset: Where the next pull goes on.
        min_offset: Where the queue begins now.
        max_offset: Where its next message will be.
    """

    status: PullStatus
    messages: tuple[MessageView, ...]
    next_offset: int
    min_offset: int
    max_offset: int


async def pulled(reach: Reach, address: str, queue: MessageQueue, offset: int, wanted: Wanted) -> Pulled:
    """Pull once.

    Raises:
        ValueError: The expression is none.
        RocketMQError: The broker does not answer, or refuses.
    """
    data = subscription(queue.topic, wanted.expression, time.time_ns() // 1_000_000)
    header = PullMessageRequestHeader(
        consumer_group=wanted.group,
        topic=queue.topic,
        queue_id=queue.queue_id,
        queue_offset=offset,
        max_msg_nums=wanted.limit,
        sys_flag=PULL_SUBSCRIPTION | (PULL_SUSPEND if wanted.suspend_s else 0),
        commit_offset=0,
        suspend_timeout_millis=int(wanted.suspend_s * 1000),
        sub_version=0,
        subscription=data.sub_string,
        expression_type=data.expression_type,
    )
    limit_s = reach.config.request_timeout_s + wanted.suspend_s
    answer = await reach.requests.ask_any(address, BrokerRequestCode.PULL_MESSAGE, header, timeout_s=limit_s)
    if answer.code not in _STATUSES:
        reach.accept(address, answer)
    told = decode_ext_fields(PullMessageResponseHeader, answer.ext_fields)
    status = _STATUSES[ResponseCode(answer.code)]
    records = read_with(address, decode_records, answer) if status is PullStatus.FOUND else []
    is_wanted = acceptance(data)
    return Pulled(
        status=status,
        messages=tuple(MessageView(each, queue) for each in records if is_wanted is None or is_wanted(each)),
        next_offset=_onward(address, answer, told, offset),
        min_offset=told.min_offset or 0,
        max_offset=told.max_offset or 0,
    )


def _onward(address: str, answer: RemotingCommand, told: PullMessageResponseHeader, offset: int) -> int:
    """Give where to go on. A broker that sends messages and does not say how to get past them is not believed."""
    if told.next_begin_offset is not None and (answer.code != ResponseCode.SUCCESS or told.next_begin_offset > offset):
        return told.next_begin_offset
    if answer.code == ResponseCode.SUCCESS:
        raise UnreadableAnswerError(address, f"messages from {offset} on came, to go on at {told.next_begin_offset}")
    return offset
