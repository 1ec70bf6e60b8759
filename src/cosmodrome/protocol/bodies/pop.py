"""Bodies of POP mode (5.x): 400, 401, 402, 200151.

Owns: the values.
Must not know: how a broker assigns queues.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from cosmodrome.errors import MalformedBodyError
from cosmodrome.protocol.bodies.heartbeat import MessageModel
from cosmodrome.protocol.bodies.message_queue import MessageQueue
from cosmodrome.protocol.ext_fields import Int32
from cosmodrome.protocol.json_structs import BodyFields

_BITS: Final = 8
_MAX_BIT_SET_CHARACTERS: Final = 1024
"""A pop gives 32 messages; their offsets are close together."""
MAX_BIT_SET_SPAN: Final = _MAX_BIT_SET_CHARACTERS // 4 * 3 * _BITS
"""Offsets that one bit set may reach over."""


class MessageRequestMode(StrEnum):
    """How a group asks for messages. In order of ordinals."""

    PULL = "PULL"
    POP = "POP"


class QueryAssignmentRequestBody(BodyFields, frozen=True, kw_only=True):
    """400."""

    topic: str
    consumer_group: str
    client_id: str
    strategy_name: str | None = None
    message_model: MessageModel = MessageModel.CLUSTERING


class MessageQueueAssignment(BodyFields, frozen=True, kw_only=True):
    """A queue that a client has; its number is -1 when all queues of the broker are meant."""

    message_queue: MessageQueue
    mode: MessageRequestMode = MessageRequestMode.PULL
    attachments: Mapping[str, str] | None = None


class QueryAssignmentResponseBody(BodyFields, frozen=True, kw_only=True):
    """400, answer; None when the broker does not know the client."""

    message_queue_assignments: tuple[MessageQueueAssignment, ...] | None = None


class SetMessageRequestModeRequestBody(BodyFields, frozen=True, kw_only=True):
    """401."""

    topic: str
    consumer_group: str
    mode: MessageRequestMode = MessageRequestMode.PULL
    pop_share_queue_num: Int32 = 0


class MessageRequestModeTable(BodyFields, frozen=True, kw_only=True):
    """402, answer: settings by topic and group."""

    message_request_mode_map: Mapping[str, Mapping[str, SetMessageRequestModeRequestBody]] = {}


class BatchAck(BodyFields, frozen=True, kw_only=True):
    """Acknowledged messages of one queue and one pop; `bit_set` is made by `encode_bit_set`, from `start_offset` on.

    Members have names of one or two letters on the wire. `retry` is `0`, `1` or `2` as in a receipt handle.
    """

    consumer_group: str = msgspec.field(default="", name="c")
    topic: str = msgspec.field(default="", name="t")
    retry: str = msgspec.field(default="0", name="r")
    start_offset: int = msgspec.field(default=0, name="so")
    queue_id: Int32 = msgspec.field(default=0, name="q")
    revive_queue_id: Int32 = msgspec.field(default=0, name="rq")
    pop_time: int = msgspec.field(default=0, name="pt")
    invisible_time: int = msgspec.field(default=0, name="it")
    bit_set: str = msgspec.field(default="", name="b")


class BatchAckMessageRequestBody(BodyFields, frozen=True, kw_only=True):
    """200151."""

    broker_name: str | None = None
    acks: tuple[BatchAck, ...] = ()


def encode_bit_set(offsets: Iterable[int], start_offset: int) -> str:
    """Write offsets as bits after `start_offset`, the lowest bit first, in Base64 (Java: `BitSet.toByteArray`).

    Raises:
        ValueError: An offset is before the start, or too far after it.
    """
    bits = 0
    for offset in offsets:
        place = offset - start_offset
        if place not in range(MAX_BIT_SET_SPAN):
            raise ValueError(f"offset {offset} is too far from {start_offset}")
        bits |= 1 << place
    return base64.b64encode(bits.to_bytes((bits.bit_length() + _BITS - 1) // _BITS, "little")).decode("ascii")


def decode_bit_set(text: str, start_offset: int) -> tuple[int, ...]:
    """Read offsets, in order.

    Raises:
        MalformedBodyError: Not Base64, or far longer than that of one pop.
    """
    if len(text) > _MAX_BIT_SET_CHARACTERS:
        raise MalformedBodyError("a bit set is too long")
    try:
        bits = int.from_bytes(base64.b64decode(text, validate=True), "little")
    except (binascii.Error, ValueError) as error:
        raise MalformedBodyError("a bit set is not Base64") from error
    return tuple(start_offset + place for place in range(bits.bit_length()) if bits >> place & 1)
