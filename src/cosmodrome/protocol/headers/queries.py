"""Headers of the requests that look for messages: 12, 33, 321."""

import msgspec

from cosmodrome.protocol.acl import UNIQUE_KEY_QUERY
from cosmodrome.protocol.ext_fields import HeaderFields, Int32


class QueryMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """12. `index_type` is `K` for keys or `T` for tags (5.5); `unique_key_query` marks a key that a client made."""

    topic: str | None = None
    key: str | None = None
    max_num: Int32 | None = None
    begin_timestamp: int | None = None
    end_timestamp: int | None = None
    index_type: str | None = None
    last_key: str | None = None
    unique_key_query: bool | None = msgspec.field(default=None, name=UNIQUE_KEY_QUERY)


class QueryMessageResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """12, answer; both are 0 when nothing was found."""

    index_last_update_timestamp: int | None = None
    index_last_update_phyoffset: int | None = None


class ViewMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """33. `offset` is a place in the commit log."""

    topic: str | None = None
    offset: int | None = None


class QueryConsumeQueueRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """321."""

    topic: str | None = None
    queue_id: Int32 | None = None
    index: int | None = None
    count: Int32 | None = None
    consumer_group: str | None = None
