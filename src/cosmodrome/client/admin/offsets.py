"""How far groups are, and how they are moved.

Owns: the requests about offsets of groups and of queues; what to do where a release cannot reset.
Must not know: how brokers are found and asked (reach.py).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from cosmodrome.client.admin.answers import Partial, checked, done
from cosmodrome.client.admin.reach import Reach, read_with
from cosmodrome.client.message import MessageQueue
from cosmodrome.errors import NotFoundError, RefusedError, UnreadableAnswerError
from cosmodrome.protocol.bodies.offsets import (
    ConsumeStats,
    OffsetWrapper,
    ResetOffsetBody,
    TopicStatsTable,
    decode_reset_offset_body,
)
from cosmodrome.protocol.codes import BrokerRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand
from cosmodrome.protocol.ext_fields import decode_ext_fields
from cosmodrome.protocol.headers.group_admin import GetConsumeStatsRequestHeader
from cosmodrome.protocol.headers.members import ConsumerGroupRequestHeader
from cosmodrome.protocol.headers.offsets import (
    GetMaxOffsetRequestHeader,
    OffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueueRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from cosmodrome.protocol.headers.relays import ResetOffsetRequestHeader
from cosmodrome.protocol.headers.topic_admin import TopicRequestHeader
from cosmodrome.protocol.versions import V5_0_0

Moment = datetime | Literal["first", "last"]
"""An aware datetime, or an end of the queues."""

_ALL_QUEUES: Final = -1
_BY_TIME: Final = -1
_LAST_MS: Final = -1
_NO_OFFSET: Final = "consumer group"
"""What a 4.9 broker refuses with when the group has no offset of some queue: `THe consumer group <G> not exist`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Partial):
    """How far a group is.

    Attributes:
        queues: Every queue in which it has an offset, or every queue of the topic that was named.
        tps: Messages per second that it takes, over all brokers.
    """

    group: str
    queues: Mapping[MessageQueue, OffsetWrapper]
    tps: float

    @property
    def lag(self) -> int:
        """How many messages it has not consumed yet."""
        return sum(self.lag_of(queue) for queue in self.queues)

    def lag_of(self, queue: MessageQueue) -> int:
        """Give how many messages of a queue it has not consumed yet. Raises KeyError for a queue that is not there."""
        found = self.queues[queue]
        return found.broker_offset - found.consumer_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueBounds:
    """Where a queue begins, and the offset that its next message gets."""

    min_offset: int
    max_offset: int


class Offsets:
    """`admin.offsets`.

    Every method raises, beside what it names: RemotingError and RefusedError of the only server that was asked,
    BrokersFailedError when several failed (a change: when any did), ClientClosedError.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def progress(self, group: str, topic: str | None = None, *, cluster: str | None = None) -> Progress:
        """Give how far a group is, in one topic or wherever it has offsets, in a cluster or in all.

        Raises:
            NoRouteError: The topic does not exist.
            ValueError: There is no such cluster.
        """
        header = GetConsumeStatsRequestHeader(consumer_group=group, topic=topic)

        async def ask(address: str) -> ConsumeStats:
            return await self._reach.read(address, BrokerRequestCode.GET_CONSUME_STATS, header, ConsumeStats)

        of_topic = self._reach.targets_of_topic
        targets = await (self._reach.targets(cluster, None) if topic is None else of_topic(topic, cluster))
        answers = checked(f"progress of {group} was not read", await self._reach.each(targets, ask))
        queues = {queue: found for each in answers.values.values() for queue, found in each.offset_table.items()}
        return Progress(
            group=group,
            queues=dict(sorted(queues.items())),
            tps=sum(each.consume_tps for each in answers.values.values()),
            failures=answers.failures,
        )

    async def committed(self, group: str, queue: MessageQueue) -> int | None:
        """Give the offset that a group has stored of a queue, None if it has none.

        Before 5.0 brokers answer 0 for a queue without one.

        Raises:
            NoRouteError: The queue does not exist.
        """
        header = QueryConsumerOffsetRequestHeader(
            consumer_group=group, topic=queue.topic, queue_id=queue.queue_id, set_zero_if_not_found=False
        )
        try:
            return await self._offset(queue, BrokerRequestCode.QUERY_CONSUMER_OFFSET, header)
        except NotFoundError:
            return None

    async def commit(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Store an offset of a group. Members that are online store theirs over it: use `reset` for them.

        Raises:
            NoRouteError: The queue does not exist.
        """
        await self._store(await self._reach.address_of(queue.broker_name, queue.topic), group, queue, offset)

    async def bounds(self, queue: MessageQueue) -> QueueBounds:
        """Give where a queue begins and ends. Raises as `commit`."""
        smallest = QueueRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
        largest = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id)
        return QueueBounds(
            min_offset=await self._offset(queue, BrokerRequestCode.GET_MIN_OFFSET, smallest),
            max_offset=await self._offset(queue, BrokerRequestCode.GET_MAX_OFFSET, largest),
        )

    async def at_time(self, queue: MessageQueue, moment: datetime) -> int:
        """Give the offset of the first message stored at or after a moment (before 5.0: of a neighbour).

        Raises:
            ValueError: The moment has no time zone.
            NoRouteError: The queue does not exist.
        """
        header = SearchOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, timestamp=milliseconds(moment))
        return await self._offset(queue, BrokerRequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    async def reset(
        self, group: str, topic: str, moment: Moment, *, cluster: str | None = None
    ) -> Mapping[MessageQueue, int]:
        """Have a group go on at a moment in all queues of a topic, in a cluster or in all, and give where that is.

        Works with members online and, at brokers before 5.0 by storing offsets only, without.

        Raises:
            ValueError: The moment has no time zone.
            NoRouteError: The topic does not exist, or not in this cluster.
        """
        timestamp_ms = 0 if moment == "first" else _LAST_MS if moment == "last" else milliseconds(moment)
        header = ResetOffsetRequestHeader(
            topic=topic, group=group, timestamp=timestamp_ms, is_force=True, queue_id=_ALL_QUEUES, offset=_BY_TIME
        )

        async def ask(address: str) -> Mapping[MessageQueue, int]:
            try:
                return await self._reset(address, header)
            except RefusedError as error:
                if not await self._is_offline(address, group, error):
                    raise
            return await self._store_all(address, group, topic, timestamp_ms)

        targets = await self._reach.targets_of_topic(topic, cluster)
        answers = done(f"{group} was not reset in {topic}", await self._reach.each(targets, ask))
        return dict(sorted(item for each in answers.values.values() for item in each.items()))

    async def reset_queue(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Have a group go on at an offset of one queue. Before 5.0 members that are online must be stopped for it.

        Raises:
            ValueError: The offset is outside the queue.
            NoRouteError: The queue does not exist.
        """
        bounds = await self.bounds(queue)
        if not bounds.min_offset <= offset <= bounds.max_offset:
            raise ValueError(f"offset {offset} is not in {queue}: {bounds.min_offset} to {bounds.max_offset}")
        address = await self._reach.address_of(queue.broker_name, queue.topic)
        answer = await self._store(address, group, queue, offset)
        if answer.version >= V5_0_0:
            # COMPAT: 4.9 passes over queue and offset of this request, and would reset all queues.
            header = ResetOffsetRequestHeader(
                topic=queue.topic, group=group, timestamp=0, is_force=True, queue_id=queue.queue_id, offset=offset
            )
            await self._reset(address, header)

    async def clone(self, source: str, target: str, topic: str) -> Mapping[MessageQueue, int]:
        """Give a group the offsets that another one has in a topic, and give them. The target should be offline.

        Raises:
            BrokersFailedError: The progress of the source is not known everywhere; nothing was changed.
            NoRouteError: The topic does not exist.
        """
        progress = (await self.progress(source, topic)).whole()
        offsets = {queue: found.consumer_offset for queue, found in progress.queues.items()}

        def store(queue: MessageQueue) -> Callable[[str], Awaitable[RemotingCommand]]:
            return lambda address: self._store(address, target, queue, offsets[queue])

        addresses = {each.name: each for each in await self._reach.targets_of_topic(topic)}
        for queue in offsets:
            place = addresses.get(queue.broker_name)
            if place is not None:
                done(f"{target} was not given its offset of {queue}", await self._reach.each((place,), store(queue)))
        return offsets

    async def _store_all(self, address: str, group: str, topic: str, timestamp_ms: int) -> Mapping[MessageQueue, int]:
        """Move a group that is offline, at a broker that only moves members that are online."""
        table = await self._reach.read(
            address, BrokerRequestCode.GET_TOPIC_STATS_INFO, TopicRequestHeader(topic=topic), TopicStatsTable
        )
        moved: dict[MessageQueue, int] = {}
        for queue, found in table.offset_table.items():
            offset = found.max_offset if timestamp_ms == _LAST_MS else found.min_offset
            if timestamp_ms > 0:
                header = SearchOffsetRequestHeader(topic=topic, queue_id=queue.queue_id, timestamp=timestamp_ms)
                offset = await self._offset_at(address, BrokerRequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
            await self._store(address, group, queue, offset)
            moved[queue] = offset
        return moved

    async def _is_offline(self, address: str, group: str, refusal: RefusedError) -> bool:
        """Tell whether a refusal means that a 4.9 broker finds nobody to tell of new offsets."""
        if refusal.code == ResponseCode.CONSUMER_NOT_ONLINE:
            return True
        if refusal.code != ResponseCode.SYSTEM_ERROR or _NO_OFFSET not in refusal.remark:
            return False
        header = ConsumerGroupRequestHeader(consumer_group=group)
        answer = await self._reach.requests.ask_any(address, BrokerRequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        return answer.code == ResponseCode.CONSUMER_NOT_ONLINE

    async def _reset(self, address: str, header: ResetOffsetRequestHeader) -> Mapping[MessageQueue, int]:
        answer = await self._reach.requests.ask(address, BrokerRequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
        body: ResetOffsetBody = read_with(address, decode_reset_offset_body, answer)
        return body.offset_table

    async def _store(self, address: str, group: str, queue: MessageQueue, offset: int) -> RemotingCommand:
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=group, topic=queue.topic, queue_id=queue.queue_id, commit_offset=offset
        )
        return await self._reach.single(address, BrokerRequestCode.UPDATE_CONSUMER_OFFSET, header)

    async def _offset(self, queue: MessageQueue, code: BrokerRequestCode, header: object) -> int:
        return await self._offset_at(await self._reach.address_of(queue.broker_name, queue.topic), code, header)

    async def _offset_at(self, address: str, code: BrokerRequestCode, header: object) -> int:
        answer = await self._reach.single(address, code, header)
        offset = decode_ext_fields(OffsetResponseHeader, answer.ext_fields).offset
        if offset is None:
            raise UnreadableAnswerError(address, f"the answer to request {code} has no offset")
        return offset


def milliseconds(moment: datetime) -> int:
    """Give a moment as brokers write it.

    Raises:
        ValueError: It has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone: datetime.now(UTC), or .astimezone() for local time")
    return int(moment.timestamp() * 1000)
