"""Properties: the string map of a message, and its text.

Owns: the text form; the names that RocketMQ keeps for itself.
Must not know: which properties a message needs; what a broker makes of them.
"""

from collections.abc import Mapping
from typing import Final

NAME_VALUE_SEPARATOR: Final = "\x01"
ENTRY_SEPARATOR: Final = "\x02"
MAX_PROPERTIES_BYTES: Final = 2**15 - 1
"""The length of the text is a signed 16-bit number in every form."""

KEYS: Final = "KEYS"
"""Index keys, with one blank between them."""
TAGS: Final = "TAGS"
"""The tag; there is one."""
WAIT: Final = "WAIT"
"""`false`: the answer need not wait for the disk or a slave."""
UNIQ_KEY: Final = "UNIQ_KEY"
"""The id that the sender gave."""
DELAY: Final = "DELAY"
"""Delay level."""
TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
TIMER_OUT_MS: Final = "TIMER_OUT_MS"
TIMER_ENQUEUE_MS: Final = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
TIMER_ROLL_TIMES: Final = "TIMER_ROLL_TIMES"
TIMER_DEL_UNIQKEY: Final = "TIMER_DEL_UNIQKEY"
TIMER_DELAY_LEVEL: Final = "TIMER_DELAY_LEVEL"
RETRY_TOPIC: Final = "RETRY_TOPIC"
"""Original topic of a message in a retry topic."""
REAL_TOPIC: Final = "REAL_TOPIC"
"""Where a parked message is to go, with REAL_QID."""
REAL_QID: Final = "REAL_QID"
ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
"""Id of the first delivery, as the broker gave it."""
RECONSUME_TIME: Final = "RECONSUME_TIME"
MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
TRAN_MSG: Final = "TRAN_MSG"
"""`true`: the message is prepared, and waits for the end of its transaction."""
PGROUP: Final = "PGROUP"
"""Producer group of a transaction."""
TRANSACTION_ID: Final = "__transactionId__"
TRANSACTION_CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY_TIME_IN_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
TRAN_PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
MSG_REGION: Final = "MSG_REGION"
TRACE_ON: Final = "TRACE_ON"
CLUSTER: Final = "CLUSTER"
CORRELATION_ID: Final = "CORRELATION_ID"
REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
TTL: Final = "TTL"
MSG_TYPE: Final = "MSG_TYPE"
ARRIVE_TIME: Final = "ARRIVE_TIME"
PUSH_REPLY_TIME: Final = "PUSH_REPLY_TIME"
MIN_OFFSET: Final = "MIN_OFFSET"
MAX_OFFSET: Final = "MAX_OFFSET"
CONSUME_START_TIME: Final = "CONSUME_START_TIME"
INSTANCE_ID: Final = "INSTANCE_ID"
"""Namespace of the sender."""
SHARDING_KEY: Final = "__SHARDINGKEY"
"""Ordering key."""
DLQ_ORIGIN_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
DLQ_ORIGIN_MESSAGE_ID: Final = "DLQ_ORIGIN_MESSAGE_ID"
POP_CK: Final = "POP_CK"
POP_CK_OFFSET: Final = "POP_CK_OFFSET"
FIRST_POP_TIME: Final = "1ST_POP_TIME"
INNER_NUM: Final = "INNER_NUM"
INNER_BASE: Final = "INNER_BASE"
INNER_MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
INNER_MULTI_QUEUE_OFFSET: Final = "INNER_MULTI_QUEUE_OFFSET"
BORN_HOST: Final = "__BORNHOST"
BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
DUP_INFO: Final = "DUP_INFO"
EXTEND_UNIQ_INFO: Final = "EXTEND_UNIQ_INFO"
TRACE_CONTEXT: Final = "TRACE_CONTEXT"
REDIRECT: Final = "REDIRECT"
PROPERTY_FORWARD_QUEUE_ID: Final = "PROPERTY_FORWARD_QUEUE_ID"
CRC32: Final = "__CRC32#"
BUYER_ID: Final = "BUYER_ID"
TRANSFER_FLAG: Final = "TRANSFER_FLAG"
CORRECTION_FLAG: Final = "CORRECTION_FLAG"
MQ2_FLAG: Final = "MQ2_FLAG"

TRANSIENT_PREFIX: Final = "__RMQ.TRANSIENT."
"""Names that begin so are reserved too."""

RESERVED: Final = frozenset(
    {
        KEYS, TAGS, WAIT, UNIQ_KEY, DELAY, TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS, TIMER_OUT_MS,
        TIMER_ENQUEUE_MS, TIMER_DEQUEUE_MS, TIMER_ROLL_TIMES, TIMER_DEL_UNIQKEY, TIMER_DELAY_LEVEL, RETRY_TOPIC,
        REAL_TOPIC, REAL_QID, ORIGIN_MESSAGE_ID, RECONSUME_TIME, MAX_RECONSUME_TIMES, TRAN_MSG, PGROUP,
        TRANSACTION_ID, TRANSACTION_CHECK_TIMES, CHECK_IMMUNITY_TIME_IN_SECONDS, TRAN_PREPARED_QUEUE_OFFSET,
        MSG_REGION, TRACE_ON, CLUSTER, CORRELATION_ID, REPLY_TO_CLIENT, TTL, MSG_TYPE, ARRIVE_TIME, PUSH_REPLY_TIME,
        MIN_OFFSET, MAX_OFFSET, CONSUME_START_TIME, INSTANCE_ID, SHARDING_KEY, DLQ_ORIGIN_TOPIC,
        DLQ_ORIGIN_MESSAGE_ID, POP_CK, POP_CK_OFFSET, FIRST_POP_TIME, INNER_NUM, INNER_BASE, INNER_MULTI_DISPATCH,
        INNER_MULTI_QUEUE_OFFSET, BORN_HOST, BORN_TIMESTAMP, DUP_INFO, EXTEND_UNIQ_INFO, TRACE_CONTEXT, REDIRECT,
        PROPERTY_FORWARD_QUEUE_ID, CRC32, BUYER_ID, TRANSFER_FLAG, CORRECTION_FLAG, MQ2_FLAG,
    }
)  # fmt: skip
"""Names that users may not give to properties of their own."""


def is_reserved(name: str) -> bool:
    """Tell whether a name belongs to RocketMQ."""
    return name in RESERVED or name.startswith(TRANSIENT_PREFIX)


def encode_properties(properties: Mapping[str, str]) -> str:
    """Write the text, in the mapping's order, each entry ended by its separator as 5.x does.

    Raises:
        ValueError: A name or a value is empty or holds a separator: nobody could read it back. The text names it.
    """
    text = "".join([f"{name}\x01{value}\x02" for name, value in properties.items()])
    if text.count(NAME_VALUE_SEPARATOR) + text.count(ENTRY_SEPARATOR) != 2 * len(properties):
        _refuse(properties)
    if "" in properties or "" in properties.values():
        _refuse(properties)
    return text


def decode_properties(text: str) -> dict[str, str]:
    """Read a text, with or without its last separator.

    An entry that is not a name, one separator and a value, neither of them empty, is skipped. Of entries with one
    name the last counts.
    """
    entries = text.split(ENTRY_SEPARATOR)
    if not entries[-1]:
        entries.pop()
    try:
        found: dict[str, str] = dict([entry.split(NAME_VALUE_SEPARATOR) for entry in entries])
    except ValueError:
        return _whole_entries(entries)
    return _whole_entries(entries) if "" in found or "" in found.values() else found


def properties_bytes(text: str) -> bytes:
    """Give a text as it is stored. Half a surrogate pair, which UTF-8 does not have, becomes `?`, as in Java."""
    return text.encode("utf-8", "replace")


def properties_text(data: bytes) -> str:
    """Give stored bytes as text. What is not UTF-8 becomes U+FFFD, as in Java: it is seen, and hinders nothing."""
    return data.decode("utf-8", "replace")


def _whole_entries(entries: list[str]) -> dict[str, str]:
    found = {}
    for entry in entries:
        name, _, value = entry.partition(NAME_VALUE_SEPARATOR)
        if name and value and NAME_VALUE_SEPARATOR not in value:
            found[name] = value
    return found


def _refuse(properties: Mapping[str, str]) -> None:
    for name, value in properties.items():
        for what, text in (("name", name), ("value", value)):
            if not text or NAME_VALUE_SEPARATOR in text or ENTRY_SEPARATOR in text:
                fault = "holds a separator, U+0001 or U+0002" if text else "is empty"
                raise ValueError(f"the {what} of property {name!r} {fault}")
