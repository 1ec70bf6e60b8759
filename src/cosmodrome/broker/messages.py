"""Messages as the broker stores them: what it adds to a text of properties, and what it makes of a message that is parked.

Owns: the properties that a broker adds; the forms of delayed, half, committed and failed messages.
Must not know: when a message is parked; where it is stored.
"""

import functools
from collections.abc import Mapping
from typing import Final

from cosmodrome.broker.topics import HALF_TOPIC, SCHEDULE_TOPIC
from cosmodrome.protocol.messages.hosts import encode_host
from cosmodrome.protocol.messages.properties import (
    CLUSTER,
    DELAY,
    ENTRY_SEPARATOR,
    MSG_REGION,
    ORIGIN_MESSAGE_ID,
    REAL_QID,
    REAL_TOPIC,
    RETRY_TOPIC,
    TRACE_ON,
    TRANSACTION_ID,
    UNIQ_KEY,
    WAIT,
    decode_properties,
    encode_properties,
    properties_bytes,
    properties_text,
)
from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.protocol.messages.sys_flag import TransactionType, with_transaction_type
from cosmodrome.store.appending import NewMessage

_END: Final = ENTRY_SEPARATOR


class OwnProperties:
    """What this broker adds to every message that is sent to it."""

    def __init__(self, cluster: str, region: str, *, is_traced: bool) -> None:
        self.region = region
        self.trace_on = "true" if is_traced else "false"
        self.text: Final = encode_properties({CLUSTER: cluster, MSG_REGION: region, TRACE_ON: self.trace_on})

    def added_to(self, text: str) -> str:
        """Give a text with them; the last entry of a name counts."""
        return f"{text}{self.text}" if not text or text.endswith(_END) else f"{text}{_END}{self.text}"

    @property
    def answer_fields(self) -> dict[str, str]:
        """What every answer to a send carries."""
        return {MSG_REGION: self.region, TRACE_ON: self.trace_on}


@functools.lru_cache(maxsize=4096)
def born_host(address: str) -> bytes:
    """Give the bytes of a peer's `host:port`; those of nowhere when it has no IP address."""
    host, _, port = address.rpartition(":")
    try:
        return encode_host(host, int(port))
    except ValueError:
        return encode_host("0.0.0.0", 0)  # noqa: S104 -- written, not bound


def properties_of(message: NewMessage) -> dict[str, str]:
    """Read the properties of a message."""
    return decode_properties(properties_text(message.properties))


def with_properties(message: NewMessage, changes: Mapping[str, str | None]) -> NewMessage:
    """Give a message with some properties changed; None takes one away."""
    named: dict[str, str | None] = {**properties_of(message), **changes}
    kept = {name: value for name, value in named.items() if value}
    return message._replace(properties=properties_bytes(encode_properties(kept)))


def of_record(record: StoredMessage) -> NewMessage:
    """Give a message as it was stored, to be stored anew."""
    return NewMessage(
        record.topic, record.queue_id, record.body, record.properties_bytes, record.born_timestamp_ms,
        record.born_host_bytes, record.sys_flag, record.flag, record.reconsume_times,
        record.prepared_transaction_offset,
    )  # fmt: skip


def delayed(message: NewMessage, level: int, highest: int) -> NewMessage:
    """Park a message in the queue of a delay level; a level above the highest is the highest."""
    level = min(level, highest)
    own = {DELAY: str(level), REAL_TOPIC: message.topic, REAL_QID: str(message.queue_id)}
    return with_properties(message, own)._replace(topic=SCHEDULE_TOPIC, queue_id=level - 1)


def due(record: StoredMessage) -> NewMessage | None:
    """Give what is delivered of a message that was parked with a level; None when it does not say to where."""
    place = _real_place(record)
    if place is None or place[0] in (HALF_TOPIC, SCHEDULE_TOPIC):
        return None
    return of_record(record)._replace(topic=place[0], queue_id=place[1])


def half(message: NewMessage) -> NewMessage:
    """Park a message until its transaction ends. A delay would have it thrown away, and is left out."""
    own = {
        DELAY: None,
        REAL_TOPIC: message.topic,
        REAL_QID: str(message.queue_id),
        TRANSACTION_ID: properties_of(message).get(UNIQ_KEY),
    }
    sys_flag = with_transaction_type(message.sys_flag, TransactionType.NONE)
    return with_properties(message, own)._replace(topic=HALF_TOPIC, queue_id=0, sys_flag=sys_flag)


def committed(record: StoredMessage) -> NewMessage | None:
    """Give what is delivered of a half message; None when it does not say to where."""
    place = _real_place(record)
    if place is None:
        return None
    message = with_properties(of_record(record), {REAL_TOPIC: None, REAL_QID: None})
    return message._replace(
        topic=place[0],
        queue_id=place[1],
        sys_flag=with_transaction_type(record.sys_flag, TransactionType.COMMIT),
        prepared_transaction_offset=record.commit_log_offset,
    )


def failed(record: StoredMessage, topic: str, queue_id: int, level: int) -> NewMessage:
    """Give the copy of a message that a consumer could not handle, for its retry topic or its dead letters."""
    own = {
        RETRY_TOPIC: record.properties.get(RETRY_TOPIC, record.topic),
        ORIGIN_MESSAGE_ID: record.properties.get(ORIGIN_MESSAGE_ID, record.offset_msg_id),
        WAIT: "false",
        DELAY: str(level),
    }
    message = of_record(record)._replace(topic=topic, queue_id=queue_id, reconsume_times=record.reconsume_times + 1)
    return with_properties(message, own)


def _real_place(record: StoredMessage) -> tuple[str, int] | None:
    topic, queue = record.properties.get(REAL_TOPIC), record.properties.get(REAL_QID, "")
    if not topic or not (queue.isascii() and queue.isdigit()) or len(queue) > 9:
        return None
    return topic, int(queue)
