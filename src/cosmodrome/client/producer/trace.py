"""What the traces of a producer say: of sends, and of the ends of transactions.

Owns: the fields of both.
Must not know: how a message is sent; when traces are sent.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cosmodrome.client.message import Message, SendResult
from cosmodrome.client.producer.transactions import Ended, TransactionState
from cosmodrome.client.traces import Trace, record
from cosmodrome.protocol.messages.ids import decode_offset_msg_id

NORMAL: Final = 0
HALF: Final = 1
COMMIT: Final = 2
DELAYED: Final = 3
_STATES: Final = {
    TransactionState.COMMIT: "COMMIT_MESSAGE",
    TransactionState.ROLLBACK: "ROLLBACK_MESSAGE",
    TransactionState.UNKNOWN: "UNKNOW",
}
"""The spelling is Java's."""


class Sent(NamedTuple):
    """A send that ended, well or not: `result` is None when it failed. `msg_id` has all ids of a batch."""

    messages: tuple[Message, ...]
    msg_id: str
    result: SendResult | None
    kind: int
    sent_ms: int
    cost_ms: int


def sent_traces(group: str, sent: Sent) -> Iterator[Trace]:
    """Give the traces of a send: one of each message."""
    result, count = sent.result, len(sent.messages)
    msg_ids = sent.msg_id.split(",") if count > 1 else [sent.msg_id]
    offset_msg_ids = [] if result is None else result.offset_msg_id.split(",")
    if len(offset_msg_ids) != count:
        offset_msg_ids = [""] * count
    for message, msg_id, offset_msg_id in zip(sent.messages, msg_ids, offset_msg_ids, strict=True):
        yield record(
            (msg_id, *message.keys),
            "Pub",
            str(sent.sent_ms),
            "" if result is None else result.region or "",
            group,
            message.topic,
            msg_id,
            message.tag or "",
            " ".join(message.keys),
            _store_host(offset_msg_id),
            str(len(message.body)),
            str(sent.cost_ms),
            str(sent.kind),
            offset_msg_id,
            "false" if result is None else "true",
        )


def ended_trace(group: str, ended: Ended, now_ms: int) -> Trace:
    """Give the trace of the end of a transaction."""
    return record(
        (ended.msg_id, *ended.keys),
        "EndTransaction",
        str(now_ms),
        ended.region or "",
        group,
        ended.topic,
        ended.msg_id,
        ended.tag or "",
        " ".join(ended.keys),
        ended.address,
        str(COMMIT),
        ended.transaction_id,
        _STATES[ended.state],
        "true" if ended.is_checked else "false",
    )


def _store_host(offset_msg_id: str) -> str:
    place = decode_offset_msg_id(offset_msg_id)
    return "" if place is None else f"{place.host}:{place.port}"
