"""Headers of pulls: 11, 361."""

from typing import Final

from cosmodrome.protocol.ext_fields import HeaderFields, Int32

PULL_COMMIT_OFFSET: Final = 1
"""A bit of a pull's system flags: `commit_offset` is to be committed."""
PULL_SUSPEND: Final = 2
"""The broker may hold the pull until a message comes."""
PULL_SUBSCRIPTION: Final = 4
"""The request's own expression counts, not that of the heartbeat."""
PULL_CLASS_FILTER: Final = 8
PULL_LITE: Final = 16
"""The consumer polls (5.x)."""


class PullMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """11 and 361. Java spells the last member `proxyFrowardClientId`."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    queue_offset: int | None = None
    max_msg_nums: Int32 | None = None
    sys_flag: Int32 | None = None
    commit_offset: int | None = None
    suspend_timeout_millis: int | None = None
    sub_version: int | None = None
    subscription: str | None = None
    expression_type: str | None = None
    max_msg_bytes: Int32 | None = None
    request_source: Int32 | None = None
    proxy_froward_client_id: str | None = None
    bname: str | None = None


class PullMessageResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """The answer; the first four are in each of the codes 0, 19, 20 and 21."""

    suggest_which_broker_id: int | None = None
    next_begin_offset: int | None = None
    min_offset: int | None = None
    max_offset: int | None = None
    offset_delta: int | None = None
    topic_sys_flag: Int32 | None = None
    group_sys_flag: Int32 | None = None
    forbidden_type: Int32 | None = None
