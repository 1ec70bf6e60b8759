"""Headers of the reply that a broker pushes, 326, and of RECALL_MESSAGE, 370."""

import msgspec

from cosmodrome.protocol.ext_fields import HeaderFields, Int32


class ReplyMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """326; its body is that of the reply. Both hosts are `ip:port`."""

    producer_group: str | None = None
    topic: str | None = None
    default_topic: str | None = None
    default_topic_queue_nums: Int32 | None = None
    queue_id: Int32 | None = None
    sys_flag: Int32 | None = None
    born_timestamp: int | None = None
    flag: Int32 | None = None
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool | None = None
    born_host: str | None = None
    store_host: str | None = None
    store_timestamp: int | None = None


class RecallMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """370. The handle is that of the send's answer."""

    producer_group: str | None = None
    topic: str | None = None
    recall_handle: str | None = None
    bname: str | None = None


class RecallMessageResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """370, answer."""

    msg_id: str | None = None
    msg_region: str | None = msgspec.field(default=None, name="MSG_REGION")
