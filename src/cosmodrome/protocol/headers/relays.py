"""Headers of what a broker asks consumers, for itself or for a tool: 220, 222, 223, 307, 309.

221 has a GroupTopicRequestHeader (members.py).
"""

from cosmodrome.protocol.ext_fields import HeaderFields, Int32


class ResetOffsetRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """220 and 222. A `timestamp` below 0 means the end; `queue_id` -1 all queues, `offset` -1 that the time decides."""

    topic: str | None = None
    group: str | None = None
    timestamp: int | None = None
    is_force: bool | None = None
    queue_id: Int32 | None = None
    offset: int | None = None


class GetConsumerStatusRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """223. Without `client_addr`, which is a client id, all members are meant."""

    topic: str | None = None
    group: str | None = None
    client_addr: str | None = None


class GetConsumerRunningInfoRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """307."""

    consumer_group: str | None = None
    client_id: str | None = None
    jstack_enable: bool | None = None


class ConsumeMessageDirectlyResultRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """309. To a client the body is a store record; from a tool `msg_id` says which message (both flags 5.x)."""

    consumer_group: str | None = None
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Int32 | None = None
    group_sys_flag: Int32 | None = None
