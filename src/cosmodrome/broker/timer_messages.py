"""Timer messages: what is stored of them while they wait, and what is delivered.

Owns: which properties make one, and when it is due; its parked and its delivered form; the handle by which it is taken back.
Must not know: when anything is delivered; files.
"""

import base64
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from cosmodrome.broker.messages import of_record, properties_of, with_properties
from cosmodrome.broker.timers import Parked
from cosmodrome.broker.topics import TIMER_TOPIC
from cosmodrome.protocol.messages.properties import (
    BORN_TIMESTAMP,
    ENTRY_SEPARATOR,
    MAX_PROPERTIES_BYTES,
    PGROUP,
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_OUT_MS,
    TIMER_ROLL_TIMES,
    UNIQ_KEY,
    encode_properties,
    properties_bytes,
)
from cosmodrome.protocol.messages.record import StoredMessage
from cosmodrome.store.appending import NewMessage

DELAYS: Final = (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS)
"""Properties that delay a message; the first that is there counts."""
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_LONG_MAX: Final = 2**63 - 1
_RECALL_TAG: Final = "_RECALL_TAG_"
_VERSION: Final = "v1"
_END: Final = ENTRY_SEPARATOR.encode()


class TimerRules(NamedTuple):
    """What timer messages may be. Times are in milliseconds."""

    is_enabled: bool
    max_delay_ms: int
    precision_ms: int

    @property
    def refusal(self) -> str:
        """What is said of a time that cannot be."""
        return (
            f"timer message illegal, the delay time should not be bigger than the max delay {self.max_delay_ms}ms; "
            "or if set del msg, the delay time should be bigger than the current time"
        )


class Handle(NamedTuple):
    """What a recall handle says."""

    topic: str
    broker_name: str
    deliver_ms: str
    msg_id: str


def is_timer(named: Mapping[str, str]) -> bool:
    """Whether properties delay a message; one that has been through the timers is delayed no more."""
    return TIMER_OUT_MS not in named and any(name in named for name in DELAYS)


def deliver_ms(named: Mapping[str, str], now_ms: int) -> int:
    """Say when a message is to be delivered.

    Raises:
        ValueError: The time is no number.
    """
    name = next(name for name in DELAYS if name in named)
    text = named[name]
    number = int(text) if _NUMBER.fullmatch(text) else _LONG_MAX + 1
    if abs(number) > _LONG_MAX:
        raise ValueError(f"{name} {text[:60]!r} is no number")
    if name == TIMER_DELIVER_MS:
        return number
    return now_ms + number * (1000 if name == TIMER_DELAY_SEC else 1)


def out_ms(deliver: int, precision_ms: int) -> int:
    """Give the moment in which a message waits that is to be delivered then: delivery begins when the moment is over."""
    return (deliver - 1) // precision_ms * precision_ms


def parked(message: NewMessage, due_ms: int) -> NewMessage:
    """Give a message as it waits in the timer topic."""
    own = {TIMER_OUT_MS: str(due_ms), REAL_TOPIC: message.topic, REAL_QID: str(message.queue_id)}
    return with_properties(message, own)._replace(topic=TIMER_TOPIC, queue_id=0)


def parked_of(record: StoredMessage, size: int) -> Parked | None:
    """Give what is known of a message of the timer topic; None when it says no moment, or is none."""
    named = record.properties
    due = named.get(TIMER_OUT_MS, "")
    if record.topic != TIMER_TOPIC or not due.isascii() or not due.isdigit() or len(due) > 18:
        return None
    return Parked(int(due), record.commit_log_offset, size, named.get(REAL_TOPIC, ""), TIMER_DEL_UNIQKEY in named)


def delivered(record: StoredMessage, enqueued_ms: int, now_ms: int) -> NewMessage | None:
    """Give what is delivered of a message that waited; None when it does not say to where.

    What is noted of its way is left out when there is no room for it: nothing is lost for that.
    """
    topic, queue = record.properties.get(REAL_TOPIC), record.properties.get(REAL_QID, "")
    if not topic or not (queue.isascii() and queue.isdigit()) or len(queue) > 9 or topic == TIMER_TOPIC:
        return None
    notes = {TIMER_ENQUEUE_MS: str(enqueued_ms), TIMER_DEQUEUE_MS: str(now_ms)}
    return _noted(record, notes)._replace(topic=topic, queue_id=int(queue))


def rolled(record: StoredMessage, enqueued_ms: int, now_ms: int) -> NewMessage:
    """Give what is parked once more of a message that waits for longer than the wheel is."""
    times = record.properties.get(TIMER_ROLL_TIMES, "0")
    rolls = int(times) + 1 if times.isascii() and times.isdigit() and len(times) < 9 else 1
    notes = {TIMER_ENQUEUE_MS: str(enqueued_ms), TIMER_ROLL_TIMES: str(rolls), TIMER_DEQUEUE_MS: str(now_ms)}
    return _noted(record, notes)


def _noted(record: StoredMessage, notes: Mapping[str, str]) -> NewMessage:
    """Give a message with properties added; the last entry of a name counts."""
    message = of_record(record)
    text = message.properties
    joint = b"" if not text or text.endswith(_END) else _END
    added = text + joint + properties_bytes(encode_properties(notes))
    return message._replace(properties=added) if len(added) <= MAX_PROPERTIES_BYTES else message


def recall(handle: Handle, producer_group: str, now_ms: int, born_host: bytes) -> NewMessage:
    """Give the message that takes another one back when both are due."""
    named = {
        TAGS: _RECALL_TAG,
        TIMER_DEL_UNIQKEY: handle.msg_id,
        UNIQ_KEY: handle.msg_id,
        TIMER_DELIVER_MS: handle.deliver_ms,
        BORN_TIMESTAMP: str(now_ms),
        PGROUP: producer_group,
    }
    text = encode_properties({name: value for name, value in named.items() if value})
    return NewMessage(handle.topic, 0, b"0", properties_bytes(text), now_ms, born_host)


def encode_handle(message: NewMessage, broker_name: str) -> str | None:
    """Give the handle by which a parked message can be taken back."""
    named = properties_of(message)
    words = (_VERSION, named[REAL_TOPIC], broker_name, str(int(named[TIMER_OUT_MS]) + 1), named.get(UNIQ_KEY, ""))
    return base64.urlsafe_b64encode(" ".join(words).encode()).decode()


def decode_handle(text: str) -> Handle:
    """Read a handle.

    Raises:
        ValueError: It is none.
    """
    try:
        words = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True).decode().split(" ")
    except ValueError as error:
        raise ValueError("recall handle is invalid") from error
    if len(words) != 5 or words[0] != _VERSION or not all(words):
        raise ValueError("recall handle is invalid")
    return Handle(*words[1:])
