"""How far groups have come, for tools: 223, 303, 308, 317.

Owns: what is counted as behind; which members are asked for their offsets.
Must not know: how offsets are committed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.groups import Groups
from cosmodrome.broker.members import Client, Members
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.outbox import Outbox
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.statistics import GROUP_GET_NUMS, Statistics
from cosmodrome.broker.topics import Topics
from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.offsets import (
    ConsumeStats,
    ConsumeStatsList,
    GetConsumerStatusBody,
    OffsetWrapper,
    QueryConsumeTimeSpanBody,
    QueryCorrectionOffsetBody,
    QueueTimeSpan,
)
from cosmodrome.protocol.codes import ClientRequestCode, ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.command import request as new_request
from cosmodrome.protocol.ext_fields import decode_ext_fields, encode_ext_fields, require
from cosmodrome.protocol.headers.group_admin import QueryCorrectionOffsetRequestHeader
from cosmodrome.protocol.headers.members import GroupTopicRequestHeader
from cosmodrome.protocol.headers.relays import GetConsumerStatusRequestHeader
from cosmodrome.protocol.headers.statistics import GetConsumeStatsInBrokerHeader
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import LATER, Peer

STATUS_TIMEOUT_S: Final = 5.0
BEYOND_ALL: Final = 2**63 - 1
"""As a correction: the group is behind every other one."""
_UNSAID: Final = "not set any response code"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressParts:
    """What progress is seen in."""

    topics: Topics
    groups: Groups
    offsets: Offsets
    members: Members
    reader: Reader
    statistics: Statistics
    outbox: Outbox


@dataclass(slots=True)
class _Asking:
    """What members have answered, and how many have not."""

    missing: int
    found: dict[str, dict[MessageQueue, int]] = field(default_factory=dict)


class ProgressProcessor:
    """Tells tools how far groups are."""

    def __init__(self, broker: tuple[str, str], clock: Clock, parts: ProgressParts) -> None:
        """Use these parts; `broker` is its name and its address."""
        self._name, self._address = broker
        self._clock = clock
        self._parts = parts

    def query_consume_time_span(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """303."""
        header = decode_ext_fields(GroupTopicRequestHeader, request.ext_fields)
        require(header, "group", "topic")
        config = self._parts.topics.get(header.topic or "")
        if config is None:
            raise refused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist")
        spans = tuple(
            self._span(config.topic_name, header.group or "", queue_id) for queue_id in range(config.write_queue_nums)
        )
        body = encode_body(QueryConsumeTimeSpanBody(consume_time_span_set=spans))
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def _span(self, topic: str, group: str, queue_id: int) -> QueueTimeSpan:
        reader = self._parts.reader
        low, high = reader.min_offset(topic, queue_id), reader.max_offset(topic, queue_id)
        done = self._parts.offsets.committed(topic, group, queue_id) or 0
        first, last = self._time(topic, queue_id, low), self._time(topic, queue_id, high - 1)
        consumed = self._time(topic, queue_id, done - 1) if done > 0 else first
        waits_since = self._time(topic, queue_id, max(done, low)) if done < high else -1
        return QueueTimeSpan(
            message_queue=MessageQueue(topic=topic, broker_name=self._name, queue_id=queue_id),
            min_time_stamp=first,
            max_time_stamp=last,
            consume_time_stamp=consumed,
            delay_time=max(0, self._clock.wall_ms() - waits_since) if waits_since >= 0 else 0,
            min_time_stamp_str=_moment(first),
            max_time_stamp_str=_moment(last),
            consume_time_stamp_str=_moment(consumed),
        )

    def _time(self, topic: str, queue_id: int, offset: int) -> int:
        found = self._parts.reader.store_time_ms(topic, queue_id, offset) if offset >= 0 else None
        return -1 if found is None else found

    def query_correction_offset(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """308: the lowest offset that any other group has committed in each queue, where the one compared is not behind."""
        header = decode_ext_fields(QueryCorrectionOffsetRequestHeader, request.ext_fields)
        require(header, "compare_group", "topic")
        topic, parts = header.topic or "", self._parts
        left_out = {each.strip() for each in (header.filter_groups or "").split(",")}
        lowest: dict[int, int] = {}
        for group in parts.offsets.groups_of(topic):
            if group in left_out:
                continue
            for queue_id, offset in parts.offsets.of(topic, group).items():
                if offset >= parts.reader.min_offset(topic, queue_id):
                    lowest[queue_id] = min(lowest.get(queue_id, BEYOND_ALL), offset)
        for queue_id, offset in parts.offsets.of(topic, header.compare_group or "").items():
            if lowest.get(queue_id, -1) > offset:
                lowest[queue_id] = BEYOND_ALL
        body = encode_body(QueryCorrectionOffsetBody(correction_offsets=lowest))
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def get_broker_consume_stats(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """317."""
        header = decode_ext_fields(GetConsumeStatsInBrokerHeader, request.ext_fields)
        require(header, "is_order")
        found: list[dict[str, tuple[ConsumeStats, ...]]] = []
        behind = held = 0
        for group in self._parts.groups.table().subscription_group_table:
            stats = tuple(self._stats(group, topic) for topic in self._topics(group, is_order=bool(header.is_order)))
            found.append({group: stats})
            for wrapper in (each for one in stats for each in one.offset_table.values()):
                behind += wrapper.broker_offset - wrapper.consumer_offset
                held += max(0, (wrapper.pull_offset or 0) - wrapper.consumer_offset)
        body = ConsumeStatsList(
            broker_addr=self._address, consume_stats_list=tuple(found), total_diff=behind, total_inflight_diff=held
        )
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(body))

    def _topics(self, group: str, *, is_order: bool) -> Iterable[str]:
        """Give the topics of a group that are counted: not those to which its members do not subscribe any more."""
        subscribed = self._parts.members.subscriptions(group)
        for topic in self._parts.offsets.topics_of(group):
            config = self._parts.topics.get(topic)
            is_wanted = config is not None and (config.order or not is_order)
            if is_wanted and (not subscribed or topic in subscribed):
                yield topic

    def _stats(self, group: str, topic: str) -> ConsumeStats:
        config, parts = self._parts.topics.get(topic), self._parts
        table = {}
        for queue_id in range(0 if config is None else config.write_queue_nums):
            done = parts.offsets.committed(topic, group, queue_id) or 0
            queue = MessageQueue(topic=topic, broker_name=self._name, queue_id=queue_id)
            table[queue] = OffsetWrapper(
                broker_offset=parts.reader.max_offset(topic, queue_id),
                consumer_offset=done,
                last_timestamp=max(0, self._time(topic, queue_id, done - 1)),
                pull_offset=parts.offsets.pulled(topic, group, queue_id),
            )
        rate = parts.statistics.rate(GROUP_GET_NUMS, f"{topic}@{group}", self._clock.steady_ms())
        return ConsumeStats(offset_table=table, consume_tps=rate)

    def invoke_broker_to_get_consumer_status(self, request: RemotingCommand, peer: Peer) -> RemotingCommand:
        """223: members are asked for the offsets that they hold (221); who does not answer is left out."""
        header = decode_ext_fields(GetConsumerStatusRequestHeader, request.ext_fields)
        require(header, "topic", "group")
        group = header.group or ""
        members = self._parts.members.consumers(group)
        if not members:
            remark = f"No Any Consumer online in the consumer group: [{group}]"
            raise refused(ResponseCode.SYSTEM_ERROR, remark)
        asked = [each for each in members if not header.client_addr or each.client_id == header.client_addr]
        if not asked:
            return response_to(request, ResponseCode.SUCCESS, _UNSAID, body=encode_body(GetConsumerStatusBody()))
        fields = encode_ext_fields(GroupTopicRequestHeader(group=group, topic=header.topic))
        asking, deadline_s = _Asking(len(asked)), self._clock.steady_ms() / 1000 + STATUS_TIMEOUT_S
        for member in asked:
            self._ask(request, peer, member, fields, asking, deadline_s)
        return LATER

    def _ask(  # noqa: PLR0913, PLR0917 -- one question of several
        self,
        request: RemotingCommand,
        peer: Peer,
        member: Client,
        fields: dict[str, str | None],
        asking: _Asking,
        deadline_s: float,
    ) -> None:
        def heard(answer: RemotingCommand | None) -> None:
            asking.missing -= 1
            if answer is not None and answer.code == ResponseCode.SUCCESS:
                try:
                    told = decode_body(GetConsumerStatusBody, answer.body)
                    asking.found[member.client_id] = dict(told.message_queue_table)
                except MalformedBodyError:
                    asking.found[member.client_id] = {}
            if not asking.missing:
                body = encode_body(GetConsumerStatusBody(consumer_table=asking.found))
                done = response_to(request, ResponseCode.SUCCESS, _UNSAID, body=body)
                self._parts.outbox.answer(peer.connection_id, request, done)

        command = new_request(ClientRequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, fields)
        self._parts.outbox.ask(member.connection, command, deadline_s, heard)


def _moment(time_ms: int) -> str:
    seconds, milliseconds = divmod(time_ms, 1000)
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d#%H:%M:%S}:{milliseconds:03d}"
