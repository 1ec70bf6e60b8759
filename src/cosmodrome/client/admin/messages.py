"""Messages that are stored, found by id, key, place or time.

Owns: the requests that look for messages; which of the records that come back are meant.
Must not know: how brokers are found and asked (reach.py).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from cosmodrome.client.addresses import Address
from cosmodrome.client.admin.answers import Partial, checked
from cosmodrome.client.admin.offsets import milliseconds
from cosmodrome.client.admin.pulls import Pulled, PullStatus, Wanted, pulled
from cosmodrome.client.admin.reach import RELAYED_S, Reach, Target, read_with
from cosmodrome.client.message import MessageQueue, MessageView
from cosmodrome.errors import BrokersFailedError, NotFoundError, RemotingError, UnreadableAnswerError
from cosmodrome.protocol.bodies.consumer_running_info import ConsumeMessageDirectlyResult
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.offsets import OffsetResponseHeader, SearchOffsetRequestHeader
from cosmodrome.protocol.headers.queries import QueryMessageRequestHeader, ViewMessageRequestHeader
from cosmodrome.protocol.headers.relays import ConsumeMessageDirectlyResultRequestHeader
from cosmodrome.protocol.json_structs import decode_body
from cosmodrome.protocol.messages.ids import decode_offset_msg_id
from cosmodrome.protocol.messages.properties import KEYS, UNIQ_KEY
from cosmodrome.protocol.messages.record import StoredMessage, decode_records

LIMIT: Final = 32
_LAST_MS: Final = 2**63 - 1
_TAGS: Final = "T"
_ALL: Final = Wanted()
_PULL_BATCH: Final = 32
_NO_MESSAGE: Final = (
    "can not find message",
    "java.lang.IllegalArgumentException",
    "java.lang.IndexOutOfBoundsException",
)
"""What brokers say, with SYSTEM_ERROR, of a place where no message begins: they take what is there for a length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Partial):
    """Messages in the order in which they were stored.

    Attributes:
        may_be_more: A broker gave as many as it was asked for.
    """

    messages: tuple[MessageView, ...]
    may_be_more: bool = False


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """What brokers are asked to look up in their index.

    Attributes:
        limit: How many messages each broker gives at most.
        begin_ms: Stored at this time or later.
        end_ms: Stored at this time or earlier.
        is_unique: The key is a sender's id.
        index_type: None: the key is one of KEYS, or an id; "T": it is a tag, which brokers of 5.5 find.
        last_key: Where an earlier answer of a 5.5 broker with an index in RocksDB ended.
    """

    topic: str
    key: str
    limit: int = 2 * LIMIT
    begin_ms: int = 0
    end_ms: int = _LAST_MS
    is_unique: bool = False
    index_type: Literal["T"] | None = None
    last_key: str | None = None

    def means(self, record: StoredMessage) -> bool:
        """Tell whether it is no other message, found because its key has the same hash."""
        if record.topic != self.topic:
            return False
        if self.index_type == _TAGS:
            return record.tag == self.key
        if record.properties.get(UNIQ_KEY) == self.key:
            return True
        return not self.is_unique and self.key in record.properties.get(KEYS, "").split(" ")


class Messages:
    """`admin.messages`. Nothing that is asked here counts as consumed.

    Every method raises, beside what it names: RemotingError and RefusedError of the only broker that was asked,
    BrokersFailedError when all of several failed, NoRouteError for a topic that does not exist, ClientClosedError.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def by_offset_id(self, offset_msg_id: str, *, topic: str | None = None) -> MessageView:
        """Give the message of a broker's id (`SendResult.offset_msg_id`).

        The broker that is registered at the address in the id is asked; if there is none, since its own address is not
        the one by which it is reached, all brokers (of the topic) are. Nobody else ever is.

        Raises:
            ValueError: It is no id of a broker.
            NotFoundError: There is no such message any more.
        """
        found = decode_offset_msg_id(offset_msg_id)
        if found is None:
            raise ValueError(f"{offset_msg_id!r} is no id of a broker: look for an id of a sender with by_unique_key()")
        address = str(Address(found.host, found.port))
        header = ViewMessageRequestHeader(topic=topic, offset=found.commit_log_offset)

        async def ask(asked: str) -> StoredMessage | None:
            record = await self._view(asked, header)
            return record if record is not None and record.offset_msg_id == offset_msg_id.upper() else None

        known = await self._reach.brokers()
        targets = tuple(Target(each.name, each.address) for each in known if each.address == address)
        if not targets:
            of_topic = self._reach.targets_of_topic
            targets = await (self._reach.targets(None, None) if topic is None else of_topic(topic))
        answers = checked(f"message {offset_msg_id} was not read", await self._reach.each(targets, ask))
        for name, record in answers.values.items():
            if record is not None:
                return _view(record, name)
        answers.whole()
        remark = f"can not find message by the offset, {found.commit_log_offset}"
        raise NotFoundError(address, ResponseCode.SYSTEM_ERROR, remark)

    async def by_id(self, msg_id: str, *, topic: str) -> Found:
        """Give the messages of an id, whether a broker or a sender made it."""
        if decode_offset_msg_id(msg_id) is not None:
            try:
                return Found(messages=(await self.by_offset_id(msg_id, topic=topic),))
            except (NotFoundError, RemotingError, BrokersFailedError):
                # An id of a sender may look like one of a broker.
                found = await self.by_unique_key(topic, msg_id)
                if not found.messages:
                    raise
                return found
        return await self.by_unique_key(topic, msg_id)

    async def by_unique_key(self, topic: str, msg_id: str, *, limit: int = LIMIT) -> Found:
        """Give the messages of a sender's id (`SendResult.msg_id`); one that was sent again is there more than once."""
        return await self.by_index(IndexQuery(topic, msg_id, limit, is_unique=True))

    async def by_key(
        self,
        topic: str,
        key: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 2 * LIMIT,
    ) -> Found:
        """Give messages with a key, stored in a span of time, up to so many of each broker.

        Raises:
            ValueError: A moment has no time zone.
        """
        begin_ms = 0 if since is None else milliseconds(since)
        end_ms = _LAST_MS if until is None else milliseconds(until)
        return await self.by_index(IndexQuery(topic, key, limit, begin_ms, end_ms))

    async def by_index(self, query: IndexQuery) -> Found:
        """Give what the index of each broker of a topic has, without others of the same hash."""
        header = QueryMessageRequestHeader(
            topic=query.topic,
            key=query.key,
            max_num=query.limit,
            begin_timestamp=query.begin_ms,
            end_timestamp=query.end_ms,
            index_type=query.index_type,
            last_key=query.last_key,
            unique_key_query=True if query.is_unique else None,
        )
        targets = await self._reach.targets_of_topic(query.topic)

        async def ask(address: str) -> list[StoredMessage]:
            answer = await self._reach.requests.ask_any(address, BrokerRequestCode.QUERY_MESSAGE, header)
            if answer.code == ResponseCode.QUERY_NOT_FOUND:
                return []
            self._reach.accept(address, answer)
            return read_with(address, decode_records, answer)

        what = f"messages of {query.topic} with key {query.key} were not found out"
        answers = checked(what, await self._reach.each(targets, ask))
        found = [
            _view(record, name) for name, records in answers.values.items() for record in records
            if query.means(record)
        ]  # fmt: skip
        return Found(
            messages=tuple(sorted(found, key=lambda each: (each.stored.store_timestamp_ms, each.queue))),
            may_be_more=any(len(records) >= query.limit for records in answers.values.values()),
            failures=answers.failures,
        )

    async def at(self, queue: MessageQueue, offset: int) -> MessageView:
        """Give the message at an offset of a queue.

        Raises:
            NotFoundError: There is none; the text says where the queue begins and ends.
        """
        address = await self._reach.address_of(queue.broker_name, queue.topic)
        records = await self._pull(address, queue, offset, 1)
        if not records or records[0].queue_offset != offset:
            first = f", the next one is at {records[0].queue_offset}" if records else ""
            raise NotFoundError(address, ResponseCode.PULL_NOT_FOUND, f"{queue} has no message at {offset}{first}")
        return MessageView(records[0], queue)

    async def from_offset(self, queue: MessageQueue, offset: int, *, limit: int = LIMIT) -> tuple[MessageView, ...]:
        """Give up to so many messages of a queue from an offset on, the oldest ones if they begin behind it."""
        address = await self._reach.address_of(queue.broker_name, queue.topic)
        found: list[StoredMessage] = []
        while len(found) < limit:
            records = await self._pull(address, queue, offset, min(limit - len(found), _PULL_BATCH))
            if not records:
                break
            found += records
            offset = records[-1].queue_offset + 1
        return tuple(MessageView(record, queue) for record in found[:limit])

    async def pull(self, queue: MessageQueue, offset: int, wanted: Wanted = _ALL) -> Pulled:
        """Give what one pull of a queue brings: messages that an expression wants, and where to go on.

        Raises:
            ValueError: The expression is none.
        """
        address = await self._reach.address_of(queue.broker_name, queue.topic)
        return await pulled(self._reach, address, queue, offset, wanted)

    async def from_time(self, queue: MessageQueue, moment: datetime, *, limit: int = LIMIT) -> tuple[MessageView, ...]:
        """Give up to so many messages of a queue that were stored at or after a moment.

        Raises:
            ValueError: The moment has no time zone.
        """
        address = await self._reach.address_of(queue.broker_name, queue.topic)
        begin_ms = milliseconds(moment)
        header = SearchOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, timestamp=begin_ms)
        answer = await self._reach.single(address, BrokerRequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
        offset = decode_ext_fields(OffsetResponseHeader, answer.ext_fields).offset
        if offset is None:
            raise UnreadableAnswerError(address, "the answer has no offset")
        # 4.9 gives the nearest message, which may be the one before.
        found = await self.from_offset(queue, offset, limit=limit + 1)
        return tuple(each for each in found if each.stored.store_timestamp_ms >= begin_ms)[:limit]

    async def consume_directly(self, group: str, client_id: str, message: MessageView) -> ConsumeMessageDirectlyResult:
        """Have a consumer that is online consume a message now, and give how it went. Offsets stay as they are.

        Raises:
            RefusedError: The client is not online (1), or does not answer (207).
        """
        queue = message.queue
        header = ConsumeMessageDirectlyResultRequestHeader(
            consumer_group=group,
            client_id=client_id,
            msg_id=message.offset_msg_id,
            broker_name=queue.broker_name,
            topic=queue.topic,
        )
        address = await self._reach.address_of(queue.broker_name, queue.topic)
        code = BrokerRequestCode.CONSUME_MESSAGE_DIRECTLY
        answer = await self._reach.requests.ask(address, code, header, timeout_s=RELAYED_S)
        return read_with(address, lambda body: decode_body(ConsumeMessageDirectlyResult, body), answer)

    async def _pull(self, address: str, queue: MessageQueue, offset: int, count: int) -> list[StoredMessage]:
        """Give messages from an offset on; where the queue has moved, from its new beginning."""
        found = await pulled(self._reach, address, queue, offset, Wanted(limit=count))
        if found.status is PullStatus.OFFSET_ILLEGAL and found.min_offset > offset:
            return await self._pull(address, queue, found.min_offset, count)
        return [each.stored for each in found.messages]

    async def _view(self, address: str, header: ViewMessageRequestHeader) -> StoredMessage | None:
        answer = await self._reach.requests.ask_any(address, BrokerRequestCode.VIEW_MESSAGE_BY_ID, header)
        if answer.code == ResponseCode.SYSTEM_ERROR and (answer.remark or "").startswith(_NO_MESSAGE):
            return None
        self._reach.accept(address, answer)
        records = read_with(address, decode_records, answer)
        if len(records) != 1:
            raise UnreadableAnswerError(address, f"{len(records)} messages came instead of one")
        return records[0]


def _view(record: StoredMessage, broker_name: str) -> MessageView:
    return MessageView(record, MessageQueue(record.topic, broker_name, record.queue_id))
