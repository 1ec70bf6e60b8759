"""Looking for messages: 12, 33, 321.

Owns: which key is meant; what is answered when there is none.
Must not know: how keys are kept.
"""

from typing import Final

from cosmodrome.broker.members import Members
from cosmodrome.broker.refusals import refused
from cosmodrome.protocol.bodies.broker_stats import ConsumeQueueData, QueryConsumeQueueResponseBody
from cosmodrome.protocol.codes import ResponseCode
from cosmodrome.protocol.command import RemotingCommand, response_to
from cosmodrome.protocol.ext_fields import decode_ext_fields, require
from cosmodrome.protocol.headers.queries import (
    QueryConsumeQueueRequestHeader,
    QueryMessageRequestHeader,
    ViewMessageRequestHeader,
)
from cosmodrome.protocol.json_structs import encode_body
from cosmodrome.store.reading import Reader
from cosmodrome.transport.dispatch import Peer

_TAG_INDEX: Final = "T"
MOST_UNITS: Final = 1000


class QueryProcessor:
    """Answers from the store, and changes nothing."""

    def __init__(self, reader: Reader, members: Members, most: int) -> None:
        """Give at most so many messages in one answer."""
        self._reader = reader
        self._members = members
        self.most = most

    def query_message(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """12: by one word of the keys, by the sender's id, or by the tag."""
        header = decode_ext_fields(QueryMessageRequestHeader, request.ext_fields)
        require(header, "topic", "key", "max_num", "begin_timestamp", "end_timestamp")
        key = header.key or ""
        if header.index_type == _TAG_INDEX and not header.unique_key_query:
            key = f"{_TAG_INDEX}#{key}"
        limit = min(max(header.max_num or 0, 0), self.most)
        found = self._reader.find(
            header.topic or "", key, limit, header.begin_timestamp or 0, header.end_timestamp or 0
        )
        if not found:
            nothing = {"indexLastUpdateTimestamp": "0", "indexLastUpdatePhyoffset": "0"}
            remark = "can not find message, maybe time range not correct"
            raise refused(ResponseCode.QUERY_NOT_FOUND, remark, nothing)
        time_ms, offset = self._reader.last_indexed()
        fields: dict[str, str | None] = {
            "indexLastUpdateTimestamp": str(time_ms),
            "indexLastUpdatePhyoffset": str(offset),
        }
        return response_to(request, ResponseCode.SUCCESS, None, fields, b"".join(reversed(found)))

    def view_message_by_id(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """33."""
        header = decode_ext_fields(ViewMessageRequestHeader, request.ext_fields)
        require(header, "offset")
        offset = header.offset or 0
        view = self._reader.record_at(offset) if offset >= 0 else None
        if view is None:
            raise refused(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {offset}")
        return response_to(request, ResponseCode.SUCCESS, body=bytes(view))

    def query_consume_queue(self, request: RemotingCommand, _: Peer) -> RemotingCommand:
        """321."""
        header = decode_ext_fields(QueryConsumeQueueRequestHeader, request.ext_fields)
        require(header, "topic", "queue_id", "index", "count")
        topic, queue_id, first = header.topic or "", header.queue_id or 0, header.index or 0
        low, high = self._reader.min_offset(topic, queue_id), self._reader.max_offset(topic, queue_id)
        if not high:  # none, or one that never had a message
            raise refused(ResponseCode.SYSTEM_ERROR, f"{queue_id}@{topic} is not exist!")
        if not low <= first < high:
            remark = f"Index {first} of {queue_id}@{topic} is not exist!"
            return response_to(request, ResponseCode.SUCCESS, remark)
        last = min(first + min(max(header.count or 0, 0), MOST_UNITS), high)
        units = (self._reader.unit(topic, queue_id, offset) for offset in range(max(first, low), last))
        data = tuple(
            ConsumeQueueData(physic_offset=unit.log_offset, physic_size=unit.size, tags_code=unit.tag_code)
            for unit in units
            if unit is not None
        )
        group = header.consumer_group
        subscription = self._members.subscription(group, topic) if group else None
        filtering = None
        if group:
            filtering = f"{group}@{topic} is not online!" if subscription is None else "null"
        body = QueryConsumeQueueResponseBody(
            subscription_data=subscription,
            filter_data=filtering,
            queue_data=data,
            max_queue_index=high,
            min_queue_index=low,
        )
        return response_to(request, ResponseCode.SUCCESS, body=encode_body(body))
