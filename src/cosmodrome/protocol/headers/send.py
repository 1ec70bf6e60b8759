"""Headers of sends: 10, 310, 320, 324, 325, their answer, and what a consumer sends back, 36."""

from collections.abc import Mapping
from typing import Final

import msgspec

from cosmodrome.protocol.ext_fields import HeaderFields, Int32, decode_ext_fields, encode_ext_fields


class SendMessageRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """10, 310, 320, 324 and 325, whichever names its fields had.

    The body is a batch iff `batch` is true, whatever the code. `encode_ext_fields` writes the long names, of 10 and 324.
    """

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
    max_reconsume_times: Int32 | None = None
    batch: bool | None = None
    broker_name: str | None = msgspec.field(default=None, name="bname")


class SendMessageResponseHeader(HeaderFields, frozen=True, kw_only=True):
    """The answer, also of sends that are stored and not safe, and in part of refusals.

    `msg_id` is the broker's id of the message, for a batch a list with commas; `queue_offset` that of the first.
    """

    msg_id: str | None = None
    queue_id: Int32 | None = None
    queue_offset: int | None = None
    transaction_id: str | None = None
    batch_uniq_id: str | None = None
    recall_handle: str | None = None
    msg_region: str | None = msgspec.field(default=None, name="MSG_REGION")
    trace_on: bool | None = msgspec.field(default=None, name="TRACE_ON")


class ConsumerSendMsgBackRequestHeader(HeaderFields, frozen=True, kw_only=True):
    """36. `delay_level` below 0 means the dead letters, 0 that the broker chooses."""

    offset: int | None = None
    group: str | None = None
    delay_level: Int32 | None = None
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool | None = None
    max_reconsume_times: Int32 | None = None
    bname: str | None = None


SHORT_NAMES: Final[Mapping[str, str]] = {
    "producerGroup": "a",
    "topic": "b",
    "defaultTopic": "c",
    "defaultTopicQueueNums": "d",
    "queueId": "e",
    "sysFlag": "f",
    "bornTimestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsumeTimes": "j",
    "unitMode": "k",
    "maxReconsumeTimes": "l",
    "batch": "m",
    "bname": "n",
}
"""What 310, 320 and 325 call the fields."""


_LONG_NAMES: Final = {short: long for long, short in SHORT_NAMES.items()}


def decode_send_header(ext_fields: Mapping[str, str | None] | None) -> SendMessageRequestHeader:
    """Read the header of a send: short names if the producer group or the topic has its short one, else long names."""
    if ext_fields is not None and ("a" in ext_fields or "b" in ext_fields):
        ext_fields = {_LONG_NAMES[name]: text for name, text in ext_fields.items() if name in _LONG_NAMES}
    return decode_ext_fields(SendMessageRequestHeader, ext_fields)


def encode_short_send_header(header: SendMessageRequestHeader) -> dict[str, str | None]:
    """Write the header of 310, 320 and 325. SendTemplate does so faster for many messages of one topic."""
    return {SHORT_NAMES[name]: text for name, text in encode_ext_fields(header).items()}
