"""Offsets of groups and of queues: 14, 15, 29, 30, 31, 32.

Owns: which offset a group without one gets; what is refused.
Must not know: files. Nothing is made by asking.
"""

from cosmodrome.broker.groups import Groups
from cosmodrome.broker.offsets import Offsets
from cosmodrome.broker.refusals import refused
from cosmodrome.broker.topics import Topics
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.offsets import (
    QueryConsumerOffsetRequestHeader,
    QueueRequestHeader,
    SearchOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import Peer


class OffsetProcessor:
    """Answers questions about offsets, and takes those that groups commit."""

    def __init__(self, offsets: Offsets, topics: Topics, groups: Groups, reader: Reader) -> None:
        """Use these parts."""
        self._offsets = offsets
        self._topics = topics
        self._groups = groups
        self._reader = reader

    def query_consumer_offset(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """14. A group without an offset begins at 0 while the queue still has its first message, as in Java."""
        header = decode_ext_fields(QueryConsumerOffsetRequestHeader, request.ext_fields)
        require(header, "consumer_group", "topic", "queue_id")
        topic, queue_id = header.topic or "", header.queue_id or 0
        offset = self._offsets.committed(topic, header.consumer_group or "", queue_id)
        if offset is not None:
            return _offset_answer(request, offset)
        if header.set_zero_if_not_found is False:
            remark = "Not found, do not set to zero, maybe this group boot first"
            raise refused(ResponseCode.QUERY_NOT_FOUND, remark)
        if self._reader.min_offset(topic, queue_id) <= 0 < self._reader.max_offset(topic, queue_id):
            return _offset_answer(request, 0)
        remark = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
        raise refused(ResponseCode.QUERY_NOT_FOUND, remark)

    def update_consumer_offset(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """15. Whatever the number; a lower one than before is as good."""
        header = decode_ext_fields(UpdateConsumerOffsetRequestHeader, request.ext_fields)
        require(header, "consumer_group", "topic", "queue_id", "commit_offset")
        topic, group = header.topic or "", header.consumer_group or ""
        if self._groups.get(group) is None:
            raise refused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!")
        if topic not in self._topics:
            raise refused(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
        counts = self._offsets.commit(topic, group, header.queue_id or 0, header.commit_offset or 0)
        return response_to(request, ResponseCode.SUCCESS, None if counts else "Offset has been previously reset")

    def search_offset_by_timestamp(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """29: the first message stored then or later; with UPPER the last one stored then or before."""
        header = decode_ext_fields(SearchOffsetRequestHeader, request.ext_fields)
        require(header, "topic", "queue_id", "timestamp")
        topic, queue_id, time_ms = header.topic or "", header.queue_id or 0, header.timestamp or 0
        if (header.boundary_type or "").upper() != "UPPER":
            return _offset_answer(request, self._reader.offset_by_time(topic, queue_id, time_ms))
        after = self._reader.offset_by_time(topic, queue_id, time_ms + 1)
        return _offset_answer(request, max(self._reader.min_offset(topic, queue_id), after - 1))

    def get_max_offset(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """30."""
        topic, queue_id = _queue(request)
        return _offset_answer(request, self._reader.max_offset(topic, queue_id))

    def get_min_offset(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """31."""
        topic, queue_id = _queue(request)
        return _offset_answer(request, self._reader.min_offset(topic, queue_id))

    def get_earliest_msg_storetime(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """32: -1 for a queue without messages."""
        topic, queue_id = _queue(request)
        time_ms = self._reader.store_time_ms(topic, queue_id, self._reader.min_offset(topic, queue_id))
        fields: dict[str, str | None] = {"timestamp": str(-1 if time_ms is None else time_ms)}
        return response_to(request, ResponseCode.SUCCESS, None, fields)


def _queue(request: RemotingCommand) -> tuple[str, int]:
    header = decode_ext_fields(QueueRequestHeader, request.ext_fields)
    require(header, "topic", "queue_id")
    return header.topic or "", header.queue_id or 0


def _offset_answer(request: RemotingCommand, offset: int) -> RemotingCommand:
    return response_to(request, ResponseCode.SUCCESS, None, {"offset": str(offset)})
