"""Headers of POP mode (5.x): 200050 to 200055."""

from cosmodrome.protocol.ext_fields import HeaderFields, Int32


class PopMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """200050. `queue_id` -1 means any; `init_mode` 0 begins at the oldest message, 1 at the newest."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    max_msg_nums: Int32 | None = None
    invisible_time: int | None = None
    poll_time: int | None = None
    born_time: int | None = None
    init_mode: Int32 | None = None
    exp_type: str | None = None
    exp: str | None = None
    order: bool | None = None
    attempt_id: str | None = None
    bname: str | None = None


class PopMessageResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """200050, answer; also in refusals. The three infos are texts (bodies/pop_info.py)."""

    pop_time: int | None = None
    invisible_time: int | None = None
    revive_qid: Int32 | None = None
    rest_num: int | None = None
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class PeekMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """200052."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    max_msg_nums: Int32 | None = None
    bname: str | None = None


class AckMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """200051. `extra_info` is the receipt handle."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    extra_info: str | None = None
    offset: int | None = None
    bname: str | None = None


class ChangeInvisibleTimeRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """200053. With `suspend` the message has not failed: coming again does not count."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    extra_info: str | None = None
    offset: int | None = None
    invisible_time: int | None = None
    suspend: bool | None = None
    bname: str | None = None


class ChangeInvisibleTimeResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """200053, answer."""

    pop_time: int | None = None
    invisible_time: int | None = None
    revive_qid: Int32 | None = None


class NotificationRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """200054."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    poll_time: int | None = None
    born_time: int | None = None
    order: bool | None = None
    attempt_id: str | None = None
    exp_type: str | None = None
    exp: str | None = None
    bname: str | None = None


class NotificationResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """200054, answer."""

    has_msg: bool | None = None
    polling_full: bool | None = None


class PollingInfoRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """200055."""

    consumer_group: str | None = None
    topic: str | None = None
    queue_id: Int32 | None = None
    bname: str | None = None


class PollingInfoResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """200055, answer."""

    polling_num: Int32 | None = None
