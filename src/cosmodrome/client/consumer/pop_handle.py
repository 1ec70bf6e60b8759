"""Receipts of popped messages (5.x).

Owns: the texts of a pop's answer and of a receipt handle; which handle belongs to which message; delays of failures.
Must not know: how messages are popped or acknowledged.

    startOffsetInfo  flag queue offset;...           where the part of the answer that is of a queue begins
    handle           ckOffset popTime invisibleTime reviveQueue flag brokerName queue offset
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from cosmodrome.client.consumer.start_offset import RETRY_TOPIC_PREFIX
from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.headers.pop import PopMessageResponseHeader
from cosmodrome.protocol.messages.properties import POP_CK
from cosmodrome.protocol.messages.record import StoredMessage

_NORMAL: Final = "0"
_RETRY: Final = "1"
_RETRY_V2: Final = "2"
_HANDLE: Final = re.compile(
    r"(?P<start>-?[0-9]{1,19}) (?P<popped>[0-9]{1,19}) (?P<invisible>[0-9]{1,19}) (?P<revive>[0-9]{1,9}) (?P<flag>[0-9]) "
    r"(?P<broker>[^ ]+) (?P<queue>[0-9]{1,9}) (?P<offset>[0-9]{1,19})( .*)?"
)
_ORDER_COUNT: Final = re.compile(
    r"[0-9] (?:(?P<queue>[0-9]{1,9})|qo(?P<of>[0-9]{1,9})%(?P<offset>[0-9]{1,19})) (?P<count>[0-9]{1,9})"
)
_DELAYS_S: Final = (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Until a failed message is visible again, by its failures before (Java: popDelayLevel)."""
_LEVELS_S: Final = (1, 5, *_DELAYS_S)
"""The delay levels of an ordinary broker."""


class Handle(NamedTuple):
    """A receipt handle as its parts."""

    start_offset: int
    pop_time: int
    invisible_time: int
    revive_queue_id: int
    flag: str
    broker_name: str
    queue_id: int
    offset: int


class Receipt(NamedTuple):
    """What an acknowledgement has to name.

    Attributes:
        topic: Where the message was popped from: its own topic, or the group's retry topic of it.
        base_topic: Its own topic.
        broker_name: Who gave it.
    """

    topic: str
    base_topic: str
    broker_name: str
    queue_id: int
    offset: int
    handle: str


def receipt_of(stored: StoredMessage, answer: PopMessageResponseHeader, broker_name: str, group: str) -> Receipt:
    """Give the receipt of one message of an answer.

    A message that comes again carries its handle; of any other it is made from the answer.

    Raises:
        MalformedBodyError: The answer names no part for its queue, or the handle is none.
    """
    carried = stored.properties.get(POP_CK)
    handle = carried or _made_handle(stored, answer, broker_name)
    fields = handle_of(handle)
    popped_from = _popped_from(stored.topic, fields.flag, group)
    return Receipt(popped_from, stored.topic, fields.broker_name, fields.queue_id, fields.offset, handle)


def handle_of(text: str) -> Handle:
    """Read a receipt handle.

    Raises:
        MalformedBodyError: It is none.
    """
    fields = _HANDLE.fullmatch(text)
    if fields is None:
        raise MalformedBodyError(f"{text!r} is no receipt handle")
    return Handle(
        start_offset=int(fields["start"]),
        pop_time=int(fields["popped"]),
        invisible_time=int(fields["invisible"]),
        revive_queue_id=int(fields["revive"]),
        flag=fields["flag"],
        broker_name=fields["broker"],
        queue_id=int(fields["queue"]),
        offset=int(fields["offset"]),
    )


def order_counts(text: str | None) -> Mapping[tuple[int, int | None], int]:
    """Read how often messages of orderly pops failed, by queue, and by queue and offset (Java: orderCountInfo).

    What is no such text is passed over: the count begins anew then.
    """
    found: dict[tuple[int, int | None], int] = {}
    for part in (text or "").split(";"):
        fields = _ORDER_COUNT.fullmatch(part)
        if fields is not None:
            offset = None if fields["offset"] is None else int(fields["offset"])
            found[int(fields["of"] or fields["queue"]), offset] = int(fields["count"])
    return found


def start_offsets(text: str | None) -> Mapping[tuple[str, int], int]:
    """Read where the parts of an answer begin, by flag and queue.

    Raises:
        MalformedBodyError: Not such a text.
    """
    found = {}
    try:
        for part in filter(None, (text or "").split(";")):
            flag, queue_id, offset = part.split(" ")
            found[flag, int(queue_id)] = int(offset)
    except ValueError:
        raise MalformedBodyError(f"{text!r} is no list of start offsets") from None
    return found


def delay_s(reconsume_times: int, delay_level: int | None) -> int:
    """Give how long a failed message stays hidden: by its level, or else by its failures before."""
    if delay_level:
        return _LEVELS_S[min(delay_level, len(_LEVELS_S)) - 1]
    return _DELAYS_S[min(reconsume_times, len(_DELAYS_S) - 1)]


def _made_handle(stored: StoredMessage, answer: PopMessageResponseHeader, broker_name: str) -> str:
    start = start_offsets(answer.start_offset_info).get((_NORMAL, stored.queue_id))
    if start is None or None in (answer.pop_time, answer.invisible_time, answer.revive_qid):
        raise MalformedBodyError(f"the answer to a pop has no receipt for queue {stored.queue_id}")
    return (
        f"{start} {answer.pop_time} {answer.invisible_time} {answer.revive_qid} {_NORMAL} {broker_name} "
        f"{stored.queue_id} {stored.queue_offset}"
    )


def _popped_from(topic: str, flag: str, group: str) -> str:
    if flag == _RETRY:
        return f"{RETRY_TOPIC_PREFIX}{group}_{topic}"
    return f"{RETRY_TOPIC_PREFIX}{group}+{topic}" if flag == _RETRY_V2 else topic
