"""What a consumer asks brokers, as functions with types.

Owns: the requests of consumers, the reading of their answers, and which of those mean "none".
Must not know: which broker to ask, and when; what an answer is good for.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeVar

import msgspec

from cosmodrome.client.consumer.pop_handle import Receipt
from cosmodrome.client.consumer.start_offset import NOT_STORED
from cosmodrome.client.message import MessageQueue
from cosmodrome.client.requests import BrokerRequests
from cosmodrome.errors import MalformedBodyError, RefusedError, UnreadableAnswerError
from cosmodrome.protocol.bodies.consumers import ConsumerConnection, GetConsumerListByGroupResponseBody
from cosmodrome.protocol.bodies.heartbeat import CheckClientRequestBody
from cosmodrome.protocol.bodies.locks import LockBatchRequestBody, LockBatchResponseBody
from cosmodrome.protocol.bodies.pop import (
    BatchAckMessageRequestBody,
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
)
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.members import ConsumerGroupRequestHeader
from cosmodrome.protocol.headers.offsets import (
    GetMaxOffsetRequestHeader,
    OffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueueRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from cosmodrome.protocol.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from cosmodrome.protocol.headers.pull import PULL_LITE, PullMessageRequestHeader, PullMessageResponseHeader
from cosmodrome.protocol.headers.send import (
    ConsumerSendMsgBackRequestHeader,
    SendMessageRequestHeader,
    encode_short_send_header,
)
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.protocol.subscription import SubscriptionData

BodyT = TypeVar("BodyT", bound=msgspec.Struct)

SEND_BACK_TIMEOUT_S: Final = 5.0
LOCK_TIMEOUT_S: Final = 1.0
_WITH_OFFSETS: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    }
)


class PullAnswer(NamedTuple):
    """An answer to a pull. The offsets are those of the broker in codes 0, 19, 20 and 21, else 0."""

    code: int
    remark: str
    next_begin_offset: int
    suggested_broker_id: int
    max_offset: int
    body: bytes


class Popped(NamedTuple):
    """An answer to a pop."""

    code: int
    remark: str
    header: PopMessageResponseHeader
    body: bytes


class ConsumerRequests:
    """A consumer's requests. Errors are those of BrokerRequests beside what a method names."""

    def __init__(self, requests: BrokerRequests, group: str, client_id: str) -> None:
        self._requests = requests
        self._group = group
        self._client_id = client_id
        self._lacks_lite_pull: set[str] = set()

    async def pull(self, address: str, header: PullMessageRequestHeader, timeout_s: float) -> PullAnswer:
        """Pull once. A broker that does not know lite pulls (before 5.x) is asked in the old way from then on.

        Raises:
            UnreadableAnswerError: The answer should say where to go on, and does not.
        """
        code = BrokerRequestCode.PULL_MESSAGE
        if (header.sys_flag or 0) & PULL_LITE and address not in self._lacks_lite_pull:
            code = BrokerRequestCode.LITE_PULL_MESSAGE
        answer = await self._requests.ask_any(address, code, header, timeout_s=timeout_s)
        if code is BrokerRequestCode.LITE_PULL_MESSAGE and answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self._lacks_lite_pull.add(address)
            answer = await self._requests.ask_any(address, BrokerRequestCode.PULL_MESSAGE, header, timeout_s=timeout_s)
        fields = decode_ext_fields(PullMessageResponseHeader, answer.ext_fields)
        if answer.code in _WITH_OFFSETS and fields.next_begin_offset is None:
            raise UnreadableAnswerError(address, "an answer to a pull has no nextBeginOffset")
        return PullAnswer(
            answer.code,
            (answer.remark or "").strip(),
            fields.next_begin_offset or 0,
            fields.suggest_which_broker_id or 0,
            fields.max_offset or 0,
            answer.body,
        )

    async def members(self, address: str) -> tuple[str, ...]:
        """Give the client ids of the group's members, as often and in the order in which the broker names them."""
        header = ConsumerGroupRequestHeader(consumer_group=self._group)
        answer = await self._requests.ask(address, BrokerRequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        return _read(address, GetConsumerListByGroupResponseBody, answer).consumer_id_list

    async def subscriptions(self, address: str) -> Mapping[str, SubscriptionData]:
        """Give what the group's members at a broker subscribe to, by topic; nothing when there is no member."""
        header = ConsumerGroupRequestHeader(consumer_group=self._group)
        try:
            answer = await self._requests.ask(address, BrokerRequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        except RefusedError as error:
            if error.code == ResponseCode.CONSUMER_NOT_ONLINE:
                return {}
            raise
        return _read(address, ConsumerConnection, answer).subscription_table

    async def committed_offset(self, address: str, queue: MessageQueue, *, set_zero: bool | None = None) -> int:
        """Give the group's committed offset of a queue, or NOT_STORED.

        `set_zero` False asks a 5.x broker not to answer 0 for a young queue without one.
        """
        header = QueryConsumerOffsetRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            set_zero_if_not_found=set_zero,
            bname=queue.broker_name,
        )
        try:
            return await self._offset(address, BrokerRequestCode.QUERY_CONSUMER_OFFSET, header)
        except RefusedError as error:
            if error.code == ResponseCode.QUERY_NOT_FOUND:
                return NOT_STORED
            raise

    async def commit(self, address: str, queue: MessageQueue, offset: int, *, is_confirmed: bool = False) -> None:
        """Commit an offset: oneway, or with the broker's confirmation."""
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=offset,
            bname=queue.broker_name,
        )
        if is_confirmed:
            await self._requests.ask(address, BrokerRequestCode.UPDATE_CONSUMER_OFFSET, header)
        else:
            await self._requests.tell(address, BrokerRequestCode.UPDATE_CONSUMER_OFFSET, header)

    async def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Give the offset that the next message of a queue gets."""
        header = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name)
        return await self._offset(address, BrokerRequestCode.GET_MAX_OFFSET, header)

    async def min_offset(self, address: str, queue: MessageQueue) -> int:
        """Give the offset of the oldest message of a queue."""
        header = QueueRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name)
        return await self._offset(address, BrokerRequestCode.GET_MIN_OFFSET, header)

    async def offset_by_time(self, address: str, queue: MessageQueue, time_ms: int) -> int:
        """Give the offset of a time: exact at 5.x brokers, that of a neighbour at older ones."""
        header = SearchOffsetRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, timestamp=time_ms, boundary_type="LOWER",
            bname=queue.broker_name,
        )  # fmt: skip
        return await self._offset(address, BrokerRequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    async def lock(self, address: str, queues: Collection[MessageQueue]) -> frozenset[MessageQueue]:
        """Lock queues of one broker, or renew their locks; give those that this client holds now."""
        body = encode_body(self._locks(queues))
        answer = await self._requests.ask(
            address, BrokerRequestCode.LOCK_BATCH_MQ, None, body, timeout_s=LOCK_TIMEOUT_S
        )
        return frozenset(_read(address, LockBatchResponseBody, answer).lock_ok_mq_set)

    async def unlock(self, address: str, queues: Collection[MessageQueue], *, is_confirmed: bool) -> None:
        """Give locks back: oneway, or with the broker's confirmation."""
        body = encode_body(self._locks(queues))
        if is_confirmed:
            await self._requests.ask(address, BrokerRequestCode.UNLOCK_BATCH_MQ, None, body, timeout_s=LOCK_TIMEOUT_S)
        else:
            await self._requests.tell(address, BrokerRequestCode.UNLOCK_BATCH_MQ, None, body)

    async def send_back(self, address: str, header: ConsumerSendMsgBackRequestHeader) -> None:
        """Have the broker deliver a message again later."""
        await self._requests.ask(
            address, BrokerRequestCode.CONSUMER_SEND_MSG_BACK, header, timeout_s=SEND_BACK_TIMEOUT_S
        )

    async def send(self, address: str, header: SendMessageRequestHeader, body: bytes) -> None:
        """Send a message as producers do, once. Stored but not yet on disk or copied counts as sent."""
        answer = await self._requests.ask_any(
            address, BrokerRequestCode.SEND_MESSAGE_V2, encode_short_send_header(header), body
        )
        if answer.code not in _STORED:
            raise RefusedError(address, answer.code, (answer.remark or "").strip())

    async def check_subscription(self, address: str, check: CheckClientRequestBody) -> None:
        """Ask whether a broker can filter by an expression.

        Raises:
            RefusedError: It cannot; its remark says why.
        """
        await self._requests.ask(address, BrokerRequestCode.CHECK_CLIENT_CONFIG, None, encode_body(check))

    async def assignments(self, address: str, topic: str) -> tuple[MessageQueueAssignment, ...]:
        """Ask what of a topic the broker gives this client, and how (5.x); nothing when it does not know the client."""
        body = QueryAssignmentRequestBody(
            topic=topic, consumer_group=self._group, client_id=self._client_id, strategy_name="AVG"
        )
        answer = await self._requests.ask(address, BrokerRequestCode.QUERY_ASSIGNMENT, None, encode_body(body))
        return _read(address, QueryAssignmentResponseBody, answer).message_queue_assignments or ()

    async def pop(self, address: str, header: PopMessageRequestHeader, timeout_s: float) -> Popped:
        """Pop once (5.x)."""
        answer = await self._requests.ask_any(address, BrokerRequestCode.POP_MESSAGE, header, timeout_s=timeout_s)
        fields = decode_ext_fields(PopMessageResponseHeader, answer.ext_fields)
        return Popped(answer.code, (answer.remark or "").strip(), fields, answer.body)

    async def acknowledge(self, address: str, receipt: Receipt) -> None:
        """Say that a popped message is done (5.x)."""
        header = AckMessageRequestHeader(
            consumer_group=self._group,
            topic=receipt.topic,
            queue_id=receipt.queue_id,
            extra_info=receipt.handle,
            offset=receipt.offset,
        )
        await self._requests.ask(address, BrokerRequestCode.ACK_MESSAGE, header)

    async def acknowledge_all(self, address: str, body: BatchAckMessageRequestBody) -> None:
        """Say that many popped messages of a broker are done (5.1).

        Raises:
            NotSupportedError: The broker is older.
        """
        await self._requests.ask(address, BrokerRequestCode.BATCH_ACK_MESSAGE, None, encode_body(body))

    async def change_invisible_time(self, address: str, receipt: Receipt, invisible_ms: int) -> None:
        """Hide a popped message for another time from now on (5.x)."""
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=self._group,
            topic=receipt.topic,
            queue_id=receipt.queue_id,
            extra_info=receipt.handle,
            offset=receipt.offset,
            invisible_time=invisible_ms,
        )
        await self._requests.ask(address, BrokerRequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)

    def _locks(self, queues: Collection[MessageQueue]) -> LockBatchRequestBody:
        return LockBatchRequestBody(consumer_group=self._group, client_id=self._client_id, mq_set=tuple(sorted(queues)))

    async def _offset(self, address: str, code: BrokerRequestCode, header: msgspec.Struct) -> int:
        answer = await self._requests.ask(address, code, header)
        offset = decode_ext_fields(OffsetResponseHeader, answer.ext_fields).offset
        if offset is None:
            raise UnreadableAnswerError(address, f"the answer to request {code} has no offset")
        return offset


_STORED: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
    }
)


def _read(address: str, body_type: type[BodyT], answer: RemotingCommand) -> BodyT:
    try:
        return decode_body(body_type, answer.body)
    except MalformedBodyError as error:
        raise UnreadableAnswerError(address, f"cannot read its answer: {error}") from error
