"""Batch bodies: several messages in one SEND_BATCH_MESSAGE.

Owns: the layout of an entry; how many entries fit into one request.
Must not know: which messages may travel together; what the header of the request says.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from cosmodrome.errors import MalformedBodyError, MessageError
from cosmodrome.protocol.messages.properties import (
    DELAY,
    MAX_PROPERTIES_BYTES,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TRAN_MSG,
)

NOT_IN_A_BATCH: Final = frozenset({DELAY, TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS, TRAN_MSG})
"""Properties of messages that a broker would have to park, which it does not do with those of a batch."""

_HEAD: Final = struct.Struct(">iiiii")
_PROPERTIES_LENGTH: Final = struct.Struct(">h")
ENTRY_OVERHEAD_BYTES: Final = _HEAD.size + _PROPERTIES_LENGTH.size


class BatchEntry(NamedTuple):
    """One message of a batch; `properties` is its text in UTF-8."""

    body: bytes
    properties: bytes
    flag: int = 0

    @property
    def encoded_bytes(self) -> int:
        """How much of a request's body it takes."""
        return ENTRY_OVERHEAD_BYTES + len(self.body) + len(self.properties)


def encode_batch(entries: Iterable[BatchEntry]) -> bytes:
    """Write the body of a request.

    Raises:
        MessageError: The properties of an entry are too long; it names the index.
    """
    pieces: list[bytes] = []
    for index, (body, properties, flag) in enumerate(entries):
        if len(properties) > MAX_PROPERTIES_BYTES:
            raise MessageError(f"properties of {len(properties)} bytes, of at most {MAX_PROPERTIES_BYTES}", index)
        size = ENTRY_OVERHEAD_BYTES + len(body) + len(properties)
        pieces += (_HEAD.pack(size, 0, 0, flag, len(body)), body, _PROPERTIES_LENGTH.pack(len(properties)), properties)
    return b"".join(pieces)


def decode_batch(body: bytes | memoryview) -> list[BatchEntry]:
    """Read the body of a request. The magic number and the checksum of an entry say nothing and are not looked at.

    Raises:
        MalformedBodyError: It is empty, an entry is cut, or its lengths contradict each other.
    """
    data = body if isinstance(body, bytes) else bytes(body)
    if not data:
        raise MalformedBodyError("a batch without a message")
    entries: list[BatchEntry] = []
    position = 0
    while position < len(data):
        try:
            size, _, _, flag, body_length = _HEAD.unpack_from(data, position)
            body_end = position + _HEAD.size + body_length
            properties_at = body_end + _PROPERTIES_LENGTH.size
            if body_length < 0:
                raise MalformedBodyError(f"bad length of the body in entry {len(entries)} of a batch")
            (properties_length,) = _PROPERTIES_LENGTH.unpack_from(data, body_end)
        except struct.error:
            raise MalformedBodyError(f"entry {len(entries)} of a batch is cut") from None
        end = properties_at + properties_length
        if properties_length < 0 or end - position != size or end > len(data):
            raise MalformedBodyError(f"the lengths in entry {len(entries)} of a batch contradict each other")
        entries.append(BatchEntry(data[position + _HEAD.size : body_end], data[properties_at:end], flag))
        position = end
    return entries


def split_batch(entries: Sequence[BatchEntry], max_bytes: int) -> list[Sequence[BatchEntry]]:
    """Cut entries, in their order, into batches whose bodies have at most `max_bytes`.

    An entry that is larger by itself becomes a batch of its own, for the caller to refuse.
    """
    batches: list[Sequence[BatchEntry]] = []
    first = taken = 0
    for index, entry in enumerate(entries):
        if taken + entry.encoded_bytes > max_bytes and index > first:
            batches.append(entries[first:index])
            first, taken = index, 0
        taken += entry.encoded_bytes
    if first < len(entries):
        batches.append(entries[first:])
    return batches
