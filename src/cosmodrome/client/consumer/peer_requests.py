"""What brokers ask a consumer, most of it for administration tools.

Owns: the answers to 220, 221, 307 and 309.
Must not know: how requests get here; NOTIFY_CONSUMER_IDS_CHANGED, which the session passes on by itself.
"""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

import msgspec

from cosmodrome.client.consumer.assigned_queue import AssignedQueue, OrderlyQueue
from cosmodrome.client.consumer.handlers import Ending, Runner
from cosmodrome.client.consumer.settings import ConsumerSettings
from cosmodrome.client.consumer.start_offset import RETRY_TOPIC_PREFIX
from cosmodrome.client.consumer.subscriptions import Subscriptions
from cosmodrome.client.message import MessageQueue, ReceivedMessage
from cosmodrome.client.session import ClientSession
from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.consumer_running_info import (
    PROP_CLIENT_VERSION,
    PROP_CONSUME_ORDERLY,
    PROP_CONSUME_TYPE,
    PROP_CONSUMER_START_TIMESTAMP,
    PROP_NAMESERVER_ADDR,
    PROP_THREADPOOL_CORE_SIZE,
    ConsumeMessageDirectlyResult,
    ConsumeResult,
    ConsumerRunningInfo,
    ConsumeStatus,
    ProcessQueueInfo,
)
from cosmodrome.protocol.bodies.heartbeat import ConsumeType
from cosmodrome.protocol.bodies.offsets import GetConsumerStatusBody, decode_reset_offset_body
from cosmodrome.protocol.codes import ClientRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.members import GroupTopicRequestHeader
from cosmodrome.protocol.headers.relays import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
)
from cosmodrome.protocol.json_structs import encode_body
from cosmodrome.protocol.messages.properties import RETRY_TOPIC
from cosmodrome.protocol.messages.record import decode_record
from cosmodrome.protocol.versions import SERVER_VERSION

_MIB: Final = 1024 * 1024


class AskedMember(Protocol):
    """What a member must be to be asked."""

    group: str
    settings: ConsumerSettings
    session: ClientSession
    subscriptions: Subscriptions
    runner: Runner | None
    started_ms: int
    is_lite: bool

    @property
    def queues(self) -> Mapping[MessageQueue, AssignedQueue]:
        """The queues that are this member's now."""

    async def reset(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Go on at other offsets."""


async def answer(member: AskedMember, _address: str, command: RemotingCommand) -> RemotingCommand | None:
    """Do what is asked and give the answer; None for a request that has none."""
    function = _ANSWERS.get(command.code)
    if function is None:
        return response_to(
            command, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"request {command.code} is not known here"
        )
    try:
        return await function(member, command)
    except MalformedBodyError as error:
        return response_to(command, ResponseCode.SYSTEM_ERROR, f"cannot read the request: {error}")


async def _reset_offsets(member: AskedMember, command: RemotingCommand) -> None:
    await member.reset(decode_reset_offset_body(command.body).offset_table)


async def _status(member: AskedMember, command: RemotingCommand) -> RemotingCommand:
    topic = decode_ext_fields(GroupTopicRequestHeader, command.ext_fields).topic
    table = {queue: each.committable for queue, each in member.queues.items() if queue.topic == topic}
    return _with_body(command, GetConsumerStatusBody(message_queue_table=table))


async def _running_info(member: AskedMember, command: RemotingCommand) -> RemotingCommand:
    header = decode_ext_fields(GetConsumerRunningInfoRequestHeader, command.ext_fields)
    settings = member.settings
    kind = ConsumeType.CONSUME_ACTIVELY if member.is_lite else ConsumeType.CONSUME_PASSIVELY
    info = ConsumerRunningInfo(
        properties={
            PROP_NAMESERVER_ADDR: ";".join(str(each) for each in member.session.servers.known),
            PROP_THREADPOOL_CORE_SIZE: str(settings.concurrency),
            PROP_CONSUME_ORDERLY: str(settings.orderly).lower(),
            PROP_CONSUME_TYPE: kind.value,
            PROP_CLIENT_VERSION: f"V{SERVER_VERSION}",
            PROP_CONSUMER_START_TIMESTAMP: str(member.started_ms),
        },
        subscription_set=member.subscriptions.all(),
        mq_table={queue: _queue_info(each) for queue, each in member.queues.items()},
        status_table={topic: ConsumeStatus() for topic in member.subscriptions.topics()},
        jstack=_stacks() if header.jstack_enable else None,
    )
    return _with_body(command, info)


async def _consume_directly(member: AskedMember, command: RemotingCommand) -> RemotingCommand:
    header = decode_ext_fields(ConsumeMessageDirectlyResultRequestHeader, command.ext_fields)
    if member.runner is None:
        return response_to(command, ResponseCode.SYSTEM_ERROR, "this consumer has no handler: its program iterates")
    stored, _ = decode_record(command.body)
    topic = stored.topic
    if topic.startswith(RETRY_TOPIC_PREFIX):
        topic = stored.properties.get(RETRY_TOPIC, topic)
    queue = MessageQueue(stored.topic, header.broker_name or "", stored.queue_id)
    message = ReceivedMessage(stored, queue, None, topic=member.session.config.unwrap(topic))
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    ending = await member.runner.handle(message)
    result = ConsumeMessageDirectlyResult(
        order=member.settings.orderly,
        consume_result=_result(ending),
        remark=None if ending.error is None else repr(ending.error),
        spent_time_mills=int((loop.time() - begun_s) * 1000),
    )
    return _with_body(command, result)


_Answer = Callable[[AskedMember, RemotingCommand], Awaitable[RemotingCommand | None]]
_ANSWERS: Final[Mapping[int, _Answer]] = {
    ClientRequestCode.RESET_CONSUMER_CLIENT_OFFSET: _reset_offsets,
    ClientRequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: _status,
    ClientRequestCode.GET_CONSUMER_RUNNING_INFO: _running_info,
    ClientRequestCode.CONSUME_MESSAGE_DIRECTLY: _consume_directly,
}


def _result(ending: Ending) -> ConsumeResult:
    if ending.error is not None:
        return ConsumeResult.CR_THROW_EXCEPTION
    return ConsumeResult.CR_SUCCESS if ending.later is None else ConsumeResult.CR_LATER


def _queue_info(assigned: AssignedQueue) -> ProcessQueueInfo:
    held = assigned.held
    return ProcessQueueInfo(
        commit_offset=assigned.committable,
        cached_msg_min_offset=assigned.committable if held.count else 0,
        cached_msg_max_offset=held.highest if held.count else 0,
        cached_msg_count=held.count,
        cached_msg_size_in_mib=held.size_bytes // _MIB,
        locked=isinstance(assigned, OrderlyQueue) and assigned.is_locked,
        droped=assigned.is_dropped,
        last_pull_timestamp=assigned.last_pull_ms,
    )


def _stacks() -> str:
    """Give the stacks of all threads: the name is Java's, the form is Python's."""
    parts = []
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 -- the only way to them
        parts.append(f"thread {ident}\n{''.join(traceback.format_stack(frame))}")
    return "\n".join(parts)


def _with_body(command: RemotingCommand, body: msgspec.Struct) -> RemotingCommand:
    return response_to(command, ResponseCode.SUCCESS, body=encode_body(body))
