"""The texts in which POP mode carries offsets (5.x): receipt handles, start offsets, offsets of messages.

Owns: their forms.
Must not know: who pops or acknowledges.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.json_dialects import to_int32, to_int64

RETRY_FLAG_NORMAL: Final = "0"
RETRY_FLAG_RETRY: Final = "1"
"""The message came from the retry topic of the group and topic."""
RETRY_FLAG_RETRY_V2: Final = "2"
"""The same, with the newer name of that topic."""

_HANDLE_FIELDS: Final = 8
_ENTRY_FIELDS: Final = 3


class ReceiptHandle(NamedTuple):
    """What acknowledges one popped message: property `POP_CK`, field `extraInfo`. Times are milliseconds."""

    check_point_offset: int
    pop_time: int
    invisible_time: int
    revive_queue_id: int
    retry_flag: str
    broker_name: str
    queue_id: int
    queue_offset: int


class PoppedQueue(NamedTuple):
    """A queue that a pop took messages of."""

    retry_flag: str
    queue_id: int


def encode_receipt_handle(handle: ReceiptHandle) -> str:
    """Write a handle."""
    return " ".join(map(str, handle))


def decode_receipt_handle(text: str) -> ReceiptHandle:
    """Read a handle.

    Raises:
        MalformedBodyError: Not eight fields, or a number that is none.
    """
    fields = text.split(" ")
    if len(fields) != _HANDLE_FIELDS:
        raise MalformedBodyError(f"a receipt handle has {len(fields)} fields instead of {_HANDLE_FIELDS}")
    check_point, pop_time, invisible_time, revive_queue_id, retry_flag, broker_name, queue_id, offset = fields
    return ReceiptHandle(
        to_int64(check_point),
        to_int64(pop_time),
        to_int64(invisible_time),
        to_int32(revive_queue_id),
        retry_flag,
        broker_name,
        to_int32(queue_id),
        to_int64(offset),
    )


def decode_start_offsets(text: str) -> dict[PoppedQueue, int]:
    """Read `flag queue offset;…`, the offset of the first message of each queue; nothing in an empty text.

    Raises:
        MalformedBodyError: An entry of another form.
    """
    return {queue: to_int64(offset) for queue, offset in _entries(text)}


def decode_message_offsets(text: str) -> dict[PoppedQueue, tuple[int, ...]]:
    """Read `flag queue offset,offset,…;…`, the offsets of the messages of each queue in their order.

    Raises:
        MalformedBodyError: An entry of another form.
    """
    return {queue: tuple(map(to_int64, offsets.split(","))) for queue, offsets in _entries(text)}


def encode_start_offsets(offsets: Mapping[PoppedQueue, int]) -> str:
    """Write `flag queue offset;…`."""
    return ";".join(f"{queue.retry_flag} {queue.queue_id} {offset}" for queue, offset in offsets.items())


def encode_message_offsets(offsets: Mapping[PoppedQueue, tuple[int, ...]]) -> str:
    """Write `flag queue offset,offset,…;…`."""
    return ";".join(
        f"{queue.retry_flag} {queue.queue_id} {','.join(map(str, all_))}" for queue, all_ in offsets.items()
    )


def _entries(text: str) -> list[tuple[PoppedQueue, str]]:
    entries = []
    for entry in filter(None, text.split(";")):
        fields = entry.split(" ")
        if len(fields) != _ENTRY_FIELDS:
            raise MalformedBodyError(f"{entry[:60]!r} is no queue with its offsets")
        entries.append((PoppedQueue(fields[0], to_int32(fields[1])), fields[2]))
    return entries
