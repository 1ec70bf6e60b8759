"""Headers of the requests about offsets: 14, 15, 29, 30, 31, 32, 314."""

from cosmodrome.protocol.ext_fields import HeaderFields, Int32


class QueryConsumerOffsetRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """14. Without `set_zero_if_not_found` the broker may answer 0 for a queue without a committed offset."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    set_zero_if_not_found: bool | None = None
    bname: str | None = None


class UpdateConsumerOffsetRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """15."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    commit_offset: int | None = None
    bname: str | None = None


class SearchOffsetRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """29. `boundary_type` is `LOWER` or `UPPER` (5.x)."""

    topic: str | None = None
    queue_id: Int32 | None = None
    timestamp: int | None = None
    boundary_type: str | None = None
    bname: str | None = None


class GetMaxOffsetRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """30."""

    topic: str | None = None
    queue_id: Int32 | None = None
    committed: bool | None = None
    bname: str | None = None


class QueueRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """31 and 32 (Java: GetMinOffsetRequestHeader, GetEarliestMsgStoretimeRequestHeader)."""

    topic: str | None = None
    queue_id: Int32 | None = None
    bname: str | None = None


class OffsetResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """14, 29, 30 and 31, answer."""

    offset: int | None = None


class GetEarliestMsgStoretimeResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """32, answer; -1 for a queue without messages."""

    timestamp: int | None = None


class CloneGroupOffsetRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """314. Without a topic all topics of the source group are meant."""

    src_group: str | None = None
    dest_group: str | None = None
    topic: str | None = None
    offline: bool | None = None
