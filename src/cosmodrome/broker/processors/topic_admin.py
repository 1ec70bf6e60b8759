"""Administration of topics: 17, 18, 21, 202, 215, 300, 305, 351.

Owns: what of a topic may be changed; what goes with one that is deleted.
Must not know: files; NameServers. A change is answered when it is kept.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cosmodrome.broker.clock import Clock
from cosmodrome.broker.locks import QueueLocks
from cosmodrome.broker.members import Members
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.statistics import TOPIC_PUT_NUMS, Statistics
from cosmodrome.broker.topics import Topics
from cosmodrome.errors import MessageError
from cosmodrome.protocol.bodies.cluster import encode_group_list, encode_topic_list
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.bodies.offsets import TopicOffset, TopicStatsTable
from cosmodrome.protocol.bodies.topics import BrokerTopicConfig, CreateTopicListRequestBody, TopicFilterType
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, encode_ext_fields, require
from cosmodrome.protocol.headers.topic_admin import (
    CreateTopicRequestHeader,
    GetAllTopicConfigRequestHeader,
    GetAllTopicConfigResponseHeader,
    TopicRequestHeader,
)
from cosmodrome.protocol.json_structs import decode_body, encode_body
from cosmodrome.protocol.messages.checks import check_topic
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import Peer

_ATTRIBUTES: Final[Mapping[str, frozenset[str] | None]] = {
    "message.type": frozenset({"NORMAL", "FIFO", "DELAY", "TRANSACTION", "UNSPECIFIED", "MIXED"}),
    "queue.type": frozenset({"SimpleCQ"}),
    "cleanup.policy": frozenset({"DELETE"}),
    "reserve.time": None,
}
"""Attributes that may be set, and to what; batch queues and compaction are not offered."""
MOST_QUEUES: Final = 65_536
_UNSAID: Final = "not set any response code"
"""What Java answers with success to some requests."""
Keep = Callable[[], Awaitable[None]]
"""Returns when the table of topics is on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAdminParts:
    """What topics are administered with."""

    topics: Topics
    offsets: Offsets
    members: Members
    locks: QueueLocks
    reader: Reader
    remove_queues: Callable[[str], int]
    statistics: Statistics


class TopicAdminProcessor:
    """Shows and changes topics."""

    def __init__(self, broker_name: str, clock: Clock, parts: TopicAdminParts, keep: Keep) -> None:
        """Use these parts."""
        self._broker_name = broker_name
        self._clock = clock
        self._parts = parts
        self._topics = parts.topics
        self._keep = keep

    def update_and_create_topic(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """17."""
        header = decode_ext_fields(CreateTopicRequestHeader, request.ext_fields)
        require(header, "topic", "read_queue_nums", "write_queue_nums", "perm")
        name = header.topic or ""
        self._check_name(name)
        kind = TopicFilterType.__members__.get(header.topic_filter_type or TopicFilterType.SINGLE_TAG)
        if kind is None:
            raise refused(ResponseCode.SYSTEM_ERROR, f"no filter type is called {header.topic_filter_type}")
        old = self._topics.get(name)
        config = BrokerTopicConfig(
            topic_name=name,
            read_queue_nums=_queue_count(header.read_queue_nums),
            write_queue_nums=_queue_count(header.write_queue_nums),
            perm=header.perm or 0,
            topic_filter_type=kind,
            topic_sys_flag=header.topic_sys_flag or 0,
            order=bool(header.order),
            attributes=changed_attributes(old.attributes or {} if old else None, header.attributes or ""),
        )
        self._topics.put(config, self._clock.wall_ms())
        return self._kept(request, _UNSAID)

    def update_and_create_topic_list(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """18: all of them or none."""
        configs = decode_body(CreateTopicListRequestBody, request.body).topic_config_list
        for config in configs:
            self._check_name(config.topic_name)
            _queue_count(config.read_queue_nums)
            _queue_count(config.write_queue_nums)
        for config in configs:
            self._topics.put(config, self._clock.wall_ms())
        return self._kept(request, None)

    def delete_topic_in_broker(self, request: RemotingCommand, _: Peer) -> Awaitable[RemotingCommand]:
        """215. Everything of the topic goes, so that nothing old acts on a new one of its name."""
        header = decode_ext_fields(TopicRequestHeader, request.ext_fields)
        require(header, "topic")
        name, parts = header.topic or "", self._parts
        self._check_name(name)
        self._topics.remove(name, self._clock.wall_ms())
        parts.offsets.forget_topic(name)
        parts.locks.forget_topic(name)
        parts.statistics.forget_topic(name)
        parts.remove_queues(name)
        return self._kept(request, None)

    async def _kept(self, request: RemotingCommand, remark: str | None) -> RemotingCommand:
        await self._keep()
        return response_to(request, ResponseCode.SUCCESS, remark)

    def _check_name(self, name: str) -> None:
        try:
            check_topic(name)
        except MessageError as error:
            raise refused(error.code, error.text) from error
        if self._topics.is_system(name):
            raise refused(ResponseCode.INVALID_PARAMETER, f"The topic[{name}] is conflict with system topic.")

    def get_all_topic_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """21, whole or in parts."""
        header = decode_ext_fields(GetAllTopicConfigRequestHeader, request.ext_fields)
        names: list[str] | None = None
        if header.topic_seq is not None and header.max_topic_num is not None:
            everything = sorted(self._topics.table().topic_config_table)
            first = max(header.topic_seq, 0)
            names = everything[first : first + max(header.max_topic_num, 0)]
        fields = encode_ext_fields(GetAllTopicConfigResponseHeader(total_topic_num=len(self._topics)))
        return response_to(request, ResponseCode.SUCCESS, None, fields, encode_body(self._topics.table(names)))

    def get_topic_config(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """351."""
        header = decode_ext_fields(TopicRequestHeader, request.ext_fields)
        require(header, "topic")
        config = self._topics.get(header.topic or "")
        if config is None:
            raise refused(ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {header.topic}")
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(config))

    def get_topic_stats_info(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """202."""
        header = decode_ext_fields(TopicRequestHeader, request.ext_fields)
        require(header, "topic")
        name = header.topic or ""
        config = self._topics.get(name)
        if config is None:
            raise refused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{name}] not exist")
        table = {
            MessageQueue(topic=name, broker_name=self._broker_name, queue_id=queue_id): self._bounds(name, queue_id)
            for queue_id in range(max(config.read_queue_nums, config.write_queue_nums))
        }
        rate = self._parts.statistics.rate(TOPIC_PUT_NUMS, name, self._clock.steady_ms())
        body = encode_body(TopicStatsTable(offset_table=table, topic_put_tps=rate))
        return response_to(request, ResponseCode.SUCCESS, body=body)

    def _bounds(self, topic: str, queue_id: int) -> TopicOffset:
        reader = self._parts.reader
        high = reader.max_offset(topic, queue_id)
        newest_ms = reader.store_time_ms(topic, queue_id, high - 1) if high > 0 else None
        return TopicOffset(
            min_offset=reader.min_offset(topic, queue_id), max_offset=high, last_update_timestamp=newest_ms or 0
        )

    def query_topic_consume_by_who(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """300."""
        header = decode_ext_fields(TopicRequestHeader, request.ext_fields)
        require(header, "topic")
        topic = header.topic or ""
        groups = {*self._parts.members.groups_of(topic), *self._parts.offsets.groups_of(topic)}
        return response_to(request, ResponseCode.SUCCESS, body=encode_group_list(sorted(groups)))

    def get_system_topic_list_from_broker(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """305."""
        return response_to(request, ResponseCode.SUCCESS, body=encode_topic_list(self._topics.system_topics()))


def changed_attributes(old: Mapping[str, str] | None, text: str) -> dict[str, str]:
    """Give attributes with the changes of `+key=value,-key`; `old` is None of a topic that is new.

    Raises:
        RequestRefusedError: A change is written otherwise, or is none that may be made.
    """
    attributes = dict(old or {})
    for change in filter(None, text.split(",")):
        sign, key, value = change[0], *change[1:].partition("=")[::2]
        if sign not in "+-" or (sign == "+" and not value):
            shown = key if sign in "+-" else f"{sign}{key}"
            raise refused(ResponseCode.SYSTEM_ERROR, f"add/alter attribute format is wrong: {shown}")
        if key not in _ATTRIBUTES:
            raise refused(ResponseCode.SYSTEM_ERROR, f"unsupported key: {key}")
        if sign == "-":
            if old is None:
                remark = f"only add attribute is supported while creating topic. key: {key}"
                raise refused(ResponseCode.SYSTEM_ERROR, remark)
            if attributes.pop(key, None) is None:
                raise refused(ResponseCode.SYSTEM_ERROR, f"attempt to delete a nonexistent key: {key}")
            continue
        allowed = _ATTRIBUTES[key]
        if allowed is not None and value not in allowed:
            raise refused(ResponseCode.SYSTEM_ERROR, f"{key} cannot be {value} here; it may be {', '.join(allowed)}")
        attributes[key] = value
    return attributes


def _queue_count(count: int | None) -> int:
    if count is None or not 0 <= count <= MOST_QUEUES:
        raise refused(ResponseCode.INVALID_PARAMETER, f"{count} queues are not between 0 and {MOST_QUEUES}")
    return count
